/* SPDX-License-Identifier: MIT */
#ifndef TDT_GROUP_MPI_REDUCE_H
#define TDT_GROUP_MPI_REDUCE_H

#include "group/mpi_port.h"

/* The reduction under way. Starts zeroed. */
typedef struct tdt__mpi_reduction {
  double *values; /* owned, MPI reads and writes them; NULL: none was begun, or it is finished */
  size_t n_values;
  bool failed; /* one was never finished and will not be */
  tdt__mpi_handle request;
} tdt__mpi_reduction;

/* As in tdt_group_table; wait_max() without the waiting. */
tdt_status tdt__mpi_start_max(const tdt__mpi_port *port, tdt__mpi_reduction *reduction,
                              const double *values, size_t n_values, tdt_error *error);
tdt_status tdt__mpi_test_max(const tdt__mpi_port *port, tdt__mpi_reduction *reduction,
                             double *values, bool *done, tdt_error *error);

#endif
