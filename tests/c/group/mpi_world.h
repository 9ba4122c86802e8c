/* SPDX-License-Identifier: MIT */
#ifndef TDT_TESTS_MPI_WORLD_H
#define TDT_TESTS_MPI_WORLD_H

#include <stdbool.h>

#include "group/mpi_library.h"

/*
 * For programs that an MPI's launcher starts: they are linked with none, so that the same program
 * runs under Open MPI's mpirun and MPICH's. Which one it was shows in the environment.
 *
 *   int main(void) {
 *     if (!mpi_world_open()) {
 *       return 77;            nobody started it as a rank: meson counts that as skipped
 *     }
 *     mpi_world_init();       MPI_Init()
 *     ...
 *     mpi_world_close(n_failed);
 *   }
 */
typedef struct mpi_world {
  tdt__mpi mpi; /* the library, for more calls: mpi.abi->comm_dup(&mpi, ...) */
  int rank;
  int n_ranks;
} mpi_world;

extern mpi_world world;

/* Loads the MPI whose launcher started this program, for itself (so that it must be searched for)
 * where TDTUNE_TEST_MPI_LOCAL is set, else for all; false where none started it. */
bool mpi_world_open(void);
void mpi_world_init(void);
void mpi_world_barrier(void);

/* A part of the world: ranks of the same colour, in the order of `key`. */
tdt__mpi_handle mpi_world_split(int color, int key);
/* An intercommunicator between rank 0 and the others. */
tdt__mpi_handle mpi_world_bridge(void);

/* The address that tdt_group_mpi_options wants: of an MPI_Comm. */
const void *mpi_world_comm(const tdt__mpi_handle *comm);

/* Finalizes; a program that failed ends all others instead, since they may wait for it. */
void mpi_world_close(int n_failed);

#endif
