/* SPDX-License-Identifier: MIT */
#ifndef TDTUNE_MPI_H
#define TDTUNE_MPI_H

#include <tdtune/group.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Ranks of an MPI program. The library neither is built with MPI nor needs it installed: it uses
 * the one that the program has loaded, Open MPI or MPICH (and what shares their binary interface).
 */
typedef struct tdt_group_mpi_options {
  size_t size;              /* sizeof(tdt_group_mpi_options) of the caller */
  const void *communicator; /* address of an MPI_Comm, an intracommunicator; read in the call only.
                               NULL: MPI_COMM_WORLD */
  const char *library;      /* file name of the MPI library; NULL: what the program has loaded */
} tdt_group_mpi_options;

/*
 * A group of the communicator's ranks, over a duplicate of it, so that no message of the program's
 * can be mistaken. All its ranks make the call, after MPI_Init(). `options` may be NULL: the
 * defaults. Messages name ranks by their number in MPI_COMM_WORLD.
 *
 * Where several threads use groups or MPI at once, MPI must have been initialised with
 * MPI_THREAD_MULTIPLE.
 *
 * Returns TDT_EGROUP (no MPI is loaded, it is of neither kind, a symbol is missing, it is not
 * initialised or an MPI call failed; the text names library, symbol or call), TDT_EINVAL,
 * TDT_ENOMEM.
 * Free with tdt_group_mpi_destroy(), on all ranks, before MPI_Finalize(); it takes an empty group.
 */
TDT_EXPORT tdt_status tdt_group_mpi_create(const tdt_group_mpi_options *options, tdt_group *group,
                                           tdt_error *error);
TDT_EXPORT void tdt_group_mpi_destroy(tdt_group *group);

#ifdef __cplusplus
}
#endif

#endif
