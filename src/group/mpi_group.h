/* SPDX-License-Identifier: MIT */
#ifndef TDT_GROUP_MPI_GROUP_H
#define TDT_GROUP_MPI_GROUP_H

#include "group/mpi_receive.h"
#include "group/mpi_reduce.h"
#include "group/mpi_send.h"

/* What a group over MPI is made of: `self` of its functions. */
typedef struct tdt__mpi_group {
  tdt__mpi_port port;
  tdt__mpi_sends sends;
  tdt__mpi_reduction reduction;
  tdt_group_rounds *rounds;
  unsigned *numbers; /* in MPI_COMM_WORLD; NULL where MPI does not tell */
  /* Rank 0: what comes from each rank. The others: rank 0's messages and its hints. */
  tdt__mpi_slot *slots;
  unsigned n_slots;
} tdt__mpi_group;

extern const tdt_group_table tdt__mpi_table;

/* Frees what is ours alone: neither the communicator, nor buffers that MPI may have, nor the
 * library, which it needs while it has them. */
void tdt__mpi_group_free(tdt__mpi_group *group);

#endif
