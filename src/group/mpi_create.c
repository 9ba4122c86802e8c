/* SPDX-License-Identifier: MIT */
#include <tdtune/mpi.h>

#include <stdlib.h>

#include "base/error.h"
#include "group/mpi_group.h"

static tdt_status find_rank(tdt__mpi_port *port, tdt_error *error) {
  const tdt__mpi *mpi = &port->mpi;
  int rank = 0;
  int n_ranks = 0;
  tdt_status status =
      tdt__mpi_check(mpi, "Comm_rank", mpi->abi->comm_rank(mpi, port->comm, &rank), error);
  if (status == TDT_OK) {
    status =
        tdt__mpi_check(mpi, "Comm_size", mpi->abi->comm_size(mpi, port->comm, &n_ranks), error);
  }
  if (status == TDT_OK) {
    port->rank = (unsigned)rank;
    port->n_ranks = (unsigned)n_ranks;
  }
  return status;
}

static tdt_status check_kind(const tdt__mpi_port *port, tdt_error *error) {
  const tdt__mpi *mpi = &port->mpi;
  if (mpi->abi->same(port->comm, mpi->constants.comm_null)) {
    return tdt__fail(error, TDT_EINVAL,
                     "the communicator is MPI_COMM_NULL: this process is not in it");
  }
  int is_inter = 0;
  if (mpi->symbols.Comm_test_inter != NULL &&
      mpi->abi->comm_test_inter(mpi, port->comm, &is_inter) == 0 && is_inter != 0) {
    return tdt__fail(error, TDT_EINVAL, "the communicator is an intercommunicator");
  }
  return TDT_OK;
}

/* Finds the library and, in it, the user's communicator. */
static tdt_status open_port(const tdt_group_mpi_options *options, tdt__mpi_port *port,
                            tdt_error *error) {
  tdt_status status = tdt__mpi_open(options->library, &port->mpi, error);
  if (status != TDT_OK) {
    return status;
  }
  status = tdt__mpi_check_running(&port->mpi, error);
  if (status == TDT_OK) {
    port->comm = options->communicator != NULL ? port->mpi.abi->read_comm(options->communicator)
                                               : port->mpi.constants.comm_world;
    status = check_kind(port, error);
  }
  if (status == TDT_OK) {
    status = find_rank(port, error);
  }
  if (status != TDT_OK) {
    tdt__mpi_close(&port->mpi);
  }
  return status;
}

/* NULL: out of memory. */
static tdt__mpi_group *allocate(const tdt__mpi_port *port) {
  tdt__mpi_group *group = calloc(1, sizeof *group);
  if (group == NULL) {
    return NULL;
  }
  group->port = *port;
  group->n_slots = port->rank == 0 ? port->n_ranks : 2;
  group->slots = calloc(group->n_slots, sizeof *group->slots);
  group->numbers = calloc(port->n_ranks, sizeof *group->numbers);
  if (group->slots == NULL || group->numbers == NULL ||
      tdt_group_rounds_create(&group->rounds, NULL) != TDT_OK) {
    tdt__mpi_group_free(group);
    return NULL;
  }
  return group;
}

/* An error becomes a status on our communicator; on the user's it may end the program. */
static tdt_status duplicate(tdt__mpi_port *port, tdt_error *error) {
  const tdt__mpi *mpi = &port->mpi;
  tdt__mpi_handle made;
  tdt_status status =
      tdt__mpi_check(mpi, "Comm_dup", mpi->abi->comm_dup(mpi, port->comm, &made), error);
  if (status != TDT_OK) {
    return status;
  }
  status =
      tdt__mpi_check(mpi, "Comm_set_errhandler", mpi->abi->comm_return_errors(mpi, made), error);
  if (status != TDT_OK) {
    (void)mpi->abi->comm_free(mpi, &made);
    return status;
  }
  port->comm = made;
  return TDT_OK;
}

/* Fills `numbers` by asking for each of 0, 1, ... Those outside that world have negative ones. */
static bool translate(const tdt__mpi_port *port, tdt__mpi_handle ours, tdt__mpi_handle world,
                      unsigned *numbers) {
  const tdt__mpi *mpi = &port->mpi;
  for (unsigned i = 0; i < port->n_ranks; i++) {
    const int rank = (int)i;
    int number = -1;
    if (mpi->abi->group_translate(mpi, ours, 1, &rank, world, &number) != 0 || number < 0) {
      return false;
    }
    numbers[i] = (unsigned)number;
  }
  return true;
}

static bool number_ranks(const tdt__mpi_port *port, unsigned *numbers) {
  const tdt__mpi *mpi = &port->mpi;
  if (mpi->symbols.Comm_group == NULL || mpi->symbols.Group_translate_ranks == NULL ||
      mpi->symbols.Group_free == NULL) {
    return false;
  }
  tdt__mpi_handle ours;
  tdt__mpi_handle world;
  if (mpi->abi->comm_group(mpi, port->comm, &ours) != 0) {
    return false;
  }
  bool known = false;
  if (mpi->abi->comm_group(mpi, mpi->constants.comm_world, &world) == 0) {
    known = translate(port, ours, world, numbers);
    (void)mpi->abi->group_free(mpi, &world);
  }
  (void)mpi->abi->group_free(mpi, &ours);
  return known;
}

static tdt_status check_options(const tdt_group_mpi_options *options, tdt_group_mpi_options *full,
                                tdt_error *error) {
  *full = (tdt_group_mpi_options){.size = sizeof *full};
  if (options == NULL) {
    return TDT_OK;
  }
  if (options->size < sizeof *full) {
    return tdt__fail(error, TDT_EINVAL, "tdt_group_mpi_options.size is %zu", options->size);
  }
  *full = *options;
  return TDT_OK;
}

/* All memory is had before the first call that all ranks must make: once it is made, only MPI can
 * fail. */
static tdt_status create(const tdt__mpi_port *port, tdt_group *group, tdt_error *error) {
  tdt__mpi_group *made = allocate(port);
  if (made == NULL) {
    return tdt__fail_memory(error);
  }
  const tdt_status status = duplicate(&made->port, error);
  if (status != TDT_OK) {
    tdt__mpi_group_free(made);
    return status;
  }
  if (!number_ranks(&made->port, made->numbers)) {
    free(made->numbers);
    made->numbers = NULL;
  }
  *group = (tdt_group){
      .table = &tdt__mpi_table,
      .self = made,
      .rank = port->rank,
      .n_ranks = port->n_ranks,
      .rounds = made->rounds,
      .numbers = made->numbers,
  };
  return TDT_OK;
}

tdt_status tdt_group_mpi_create(const tdt_group_mpi_options *options, tdt_group *group,
                                tdt_error *error) {
  tdt_group_mpi_options full;
  tdt__mpi_port port = {0};
  tdt_status status = check_options(options, &full, error);
  if (status == TDT_OK) {
    status = open_port(&full, &port, error);
  }
  if (status != TDT_OK) {
    return status;
  }
  status = create(&port, group, error);
  if (status != TDT_OK) {
    tdt__mpi_close(&port.mpi);
  }
  return status;
}
