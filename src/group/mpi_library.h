/* SPDX-License-Identifier: MIT */
#ifndef TDT_GROUP_MPI_LIBRARY_H
#define TDT_GROUP_MPI_LIBRARY_H

#include <stdbool.h>

#include <tdtune/status.h>

/*
 * The MPI library that the program has loaded. It is never linked: its functions are looked up in
 * a table of symbols, and what differs between the two binary interfaces (what a handle is, what
 * the predefined ones are) is in an ABI, one file each.
 */

/* Every function that is asked for, without "MPI_", and whether there is no group without it. */
#define TDT__MPI_SYMBOLS(X)                                                                        \
  X(Initialized, true)                                                                             \
  X(Finalized, true)                                                                               \
  X(Error_string, true)                                                                            \
  X(Comm_rank, true)                                                                               \
  X(Comm_size, true)                                                                               \
  X(Comm_dup, true)                                                                                \
  X(Comm_free, true)                                                                               \
  X(Comm_set_errhandler, true)                                                                     \
  X(Isend, true)                                                                                   \
  X(Iprobe, true)                                                                                  \
  X(Get_count, true)                                                                               \
  X(Irecv, true)                                                                                   \
  X(Test, true)                                                                                    \
  X(Iallreduce, true)                                                                              \
  X(Comm_test_inter, false)                                                                        \
  X(Comm_group, false)                                                                             \
  X(Group_translate_ranks, false)                                                                  \
  X(Group_free, false)

typedef void (*tdt__mpi_symbol)(void);

/* NULL: an optional one that is not there. */
typedef struct tdt__mpi_symbols {
#define TDT__MPI_FIELD(name, needed) tdt__mpi_symbol name;
  TDT__MPI_SYMBOLS(TDT__MPI_FIELD)
#undef TDT__MPI_FIELD
} tdt__mpi_symbols;

/* Of a communicator, request, type ...: which of the two is meant is the ABI's to know. */
typedef union tdt__mpi_handle {
  void *pointer;
  int number;
} tdt__mpi_handle;

/* What the user's program sees as predefined. */
typedef struct tdt__mpi_constants {
  tdt__mpi_handle comm_world;
  tdt__mpi_handle comm_null;
  tdt__mpi_handle type_byte;
  tdt__mpi_handle type_double;
  tdt__mpi_handle op_max;
  tdt__mpi_handle errors_return;
} tdt__mpi_constants;

typedef struct tdt__mpi_abi tdt__mpi_abi;

typedef struct tdt__mpi {
  void *library; /* of dlopen(); closed by tdt__mpi_close() */
  char *name;    /* its file, for messages */
  const tdt__mpi_abi *abi;
  tdt__mpi_constants constants;
  tdt__mpi_symbols symbols;
} tdt__mpi;

/* Room for what MPI_Iprobe() tells, of either kind: the greater takes 24 bytes. */
typedef union tdt__mpi_status {
  unsigned char bytes[64];
  long long align;
} tdt__mpi_status;

/*
 * One binary interface. The functions are MPI's own, with handles that fit both and what is always
 * the same left out: messages are bytes, reductions are of doubles, in place, by MAX. They return
 * MPI's error code, 0 for success.
 */
struct tdt__mpi_abi {
  /* Whether the library is of this kind. */
  bool (*is_of)(void *library);
  tdt_status (*find_constants)(tdt__mpi *mpi, tdt_error *error);
  /* What an MPI_Comm of the user's at this address holds. */
  tdt__mpi_handle (*read_comm)(const void *communicator);
  bool (*same)(tdt__mpi_handle left, tdt__mpi_handle right);

  int (*comm_rank)(const tdt__mpi *mpi, tdt__mpi_handle comm, int *rank);
  int (*comm_size)(const tdt__mpi *mpi, tdt__mpi_handle comm, int *size);
  int (*comm_dup)(const tdt__mpi *mpi, tdt__mpi_handle comm, tdt__mpi_handle *made);
  int (*comm_free)(const tdt__mpi *mpi, tdt__mpi_handle *comm);
  int (*comm_return_errors)(const tdt__mpi *mpi, tdt__mpi_handle comm);
  int (*isend)(const tdt__mpi *mpi, const void *bytes, int size, int to, int tag,
               tdt__mpi_handle comm, tdt__mpi_handle *request);
  int (*iprobe)(const tdt__mpi *mpi, int from, int tag, tdt__mpi_handle comm, int *there,
                tdt__mpi_status *status);
  int (*get_count)(const tdt__mpi *mpi, const tdt__mpi_status *status, int *size);
  int (*irecv)(const tdt__mpi *mpi, void *bytes, int size, int from, int tag, tdt__mpi_handle comm,
               tdt__mpi_handle *request);
  int (*test)(const tdt__mpi *mpi, tdt__mpi_handle *request, int *done);
  int (*iallreduce)(const tdt__mpi *mpi, double *values, int n_values, tdt__mpi_handle comm,
                    tdt__mpi_handle *request);
  /* Those of optional symbols; to be called only where these are there. */
  int (*comm_test_inter)(const tdt__mpi *mpi, tdt__mpi_handle comm, int *is_inter);
  int (*comm_group)(const tdt__mpi *mpi, tdt__mpi_handle comm, tdt__mpi_handle *group);
  int (*group_translate)(const tdt__mpi *mpi, tdt__mpi_handle from, int n_ranks, const int *ranks,
                         tdt__mpi_handle to, int *translated);
  int (*group_free)(const tdt__mpi *mpi, tdt__mpi_handle *group);
};

extern const tdt__mpi_abi tdt__mpi_openmpi;
extern const tdt__mpi_abi tdt__mpi_mpich;

/*
 * Fills *mpi from the library of that file name, or (NULL) from the one that the program has
 * loaded. Returns TDT_EGROUP with library or symbol in the text, TDT_ENOMEM.
 */
tdt_status tdt__mpi_open(const char *file_name, tdt__mpi *mpi, tdt_error *error);
void tdt__mpi_close(tdt__mpi *mpi);

/* Whether MPI can be called now: initialised, and not finalized yet. */
tdt_status tdt__mpi_check_running(const tdt__mpi *mpi, tdt_error *error);

/* TDT_OK for code 0; else TDT_EGROUP: which call failed and, in MPI's own words, why. */
tdt_status tdt__mpi_check(const tdt__mpi *mpi, const char *call, int code, tdt_error *error);

/* Copies an address found by dlsym() to a pointer to a function; ISO C knows no cast for that. */
tdt__mpi_symbol tdt__mpi_find(void *library, const char *name);

#endif
