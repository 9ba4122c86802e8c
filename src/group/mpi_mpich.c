/* SPDX-License-Identifier: MIT */
/* MPICH and what shares its binary interface (Intel MPI, MVAPICH, Cray MPICH, ParaStation MPI):
 * handles are numbers, predefined ones never change. */
#include <string.h>

typedef int handle;

static void *const status_ignore = (void *)1; /* NOLINT(performance-no-int-to-ptr) */
static void *const in_place = (void *)-1;     /* NOLINT(performance-no-int-to-ptr) */

#define FIELD number
#include "group/mpi_binding.h"

/* The greatest that any of them asks for, and a NUL. */
enum { VERSION_SIZE = 8192 + 1 };

/* Since MPI 5 there is a third interface, in libraries of their own by the same makers. */
static bool is_standard(void *library) {
  const tdt__mpi_symbol symbol = tdt__mpi_find(library, "MPI_Abi_get_version");
  int major = -1;
  int minor = -1;
  return symbol != NULL && ((int (*)(int *, int *))symbol)(&major, &minor) == 0 && major >= 1;
}

/* They can be told by the text only. It can be had before MPI is initialised. */
static bool is_of(void *library) {
  static const char *const names[] = {"MPICH", "MVAPICH", "Intel(R) MPI", "ParaStation MPI"};
  const tdt__mpi_symbol symbol = tdt__mpi_find(library, "MPI_Get_library_version");
  char version[VERSION_SIZE] = "";
  int size = 0;
  if (symbol == NULL || ((int (*)(char *, int *))symbol)(version, &size) != 0) {
    return false;
  }
  version[VERSION_SIZE - 1] = '\0';
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (strstr(version, names[i]) != NULL) {
      return !is_standard(library);
    }
  }
  return false;
}

static tdt_status find_constants(tdt__mpi *mpi, tdt_error *error) {
  (void)error;
  mpi->constants = (tdt__mpi_constants){
      .comm_world = {.number = 0x44000000},
      .comm_null = {.number = 0x04000000},
      .type_byte = {.number = 0x4c00010d},
      .type_double = {.number = 0x4c00080b},
      .op_max = {.number = 0x58000001},
      .errors_return = {.number = 0x54000001},
  };
  return TDT_OK;
}

const tdt__mpi_abi tdt__mpi_mpich = {
    .is_of = is_of,
    .find_constants = find_constants,
    BINDING,
};
