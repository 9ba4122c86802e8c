/* SPDX-License-Identifier: MIT */
#include "group/mpi_reduce.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

tdt_status tdt__mpi_start_max(const tdt__mpi_port *port, tdt__mpi_reduction *reduction,
                              const double *values, size_t n_values, tdt_error *error) {
  if (reduction->values != NULL || reduction->failed) {
    return tdt__fail(error, TDT_EGROUP, "an earlier reduction over these ranks never finished");
  }
  if (n_values > INT_MAX) {
    return tdt__fail(error, TDT_EGROUP, "MPI reduces no %zu values at once", n_values);
  }
  double *copy = calloc(n_values + 1, sizeof *copy);
  if (copy == NULL) {
    return tdt__fail_memory(error);
  }
  if (n_values > 0) {
    memcpy(copy, values, n_values * sizeof *copy);
  }
  *reduction = (tdt__mpi_reduction){.values = copy, .n_values = n_values};
  const int code =
      port->mpi.abi->iallreduce(&port->mpi, copy, (int)n_values, port->comm, &reduction->request);
  if (code != 0) {
    free(copy); /* it was not begun */
    *reduction = (tdt__mpi_reduction){.failed = true};
  }
  return tdt__mpi_check(&port->mpi, "Iallreduce", code, error);
}

tdt_status tdt__mpi_test_max(const tdt__mpi_port *port, tdt__mpi_reduction *reduction,
                             double *values, bool *done, tdt_error *error) {
  if (reduction->values == NULL || reduction->failed) {
    return tdt__fail(error, TDT_EGROUP, "no reduction over these ranks is under way");
  }
  int is_done = 0;
  const int code = port->mpi.abi->test(&port->mpi, &reduction->request, &is_done);
  if (code != 0) {
    reduction->failed = true;
    return tdt__mpi_check(&port->mpi, "Test of a reduction", code, error);
  }
  if (is_done != 0) {
    if (reduction->n_values > 0) {
      memcpy(values, reduction->values, reduction->n_values * sizeof *values);
    }
    free(reduction->values);
    *reduction = (tdt__mpi_reduction){0};
    *done = true;
  }
  return TDT_OK;
}
