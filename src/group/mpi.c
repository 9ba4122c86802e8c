/* SPDX-License-Identifier: MIT */
#include <tdtune/mpi.h>

#include <stdlib.h>

#include "base/error.h"
#include "group/message.h"
#include "group/mpi_group.h"

/* How long what is under way at the end may take before it is left to MPI. */
#define PARTING_S 0.2

/* -- the table --------------------------------------------------------------------------------- */

static tdt_status post(void *self, uint64_t round, const void *bytes, size_t size,
                       tdt_error *error) {
  tdt__mpi_group *group = self;
  return tdt__mpi_send(&group->port, &group->sends, round, bytes, size, error);
}

static tdt__mpi_slot *slot_of(tdt__mpi_group *group, unsigned from, uint64_t round) {
  return &group->slots[group->port.rank == 0 ? from : (unsigned)tdt__mpi_tag(round)];
}

static tdt_status take(void *self, uint64_t round, unsigned from, double slice_s,
                       tdt_message *message, tdt_error *error) {
  tdt__mpi_group *group = self;
  const tdt__mpi_port *port = &group->port;
  if (from >= port->n_ranks || (from == 0) == (port->rank == 0)) {
    return tdt__fail(error, TDT_EGROUP, "rank %u has nothing to take from rank %u", port->rank,
                     from);
  }
  tdt__mpi_slot *slot = slot_of(group, from, round);
  tdt__mpi_watch watch = tdt__mpi_watch_start(slice_s);
  tdt_message taken = {0};
  tdt_status status = TDT_OK;
  do {
    status = tdt__mpi_sends_test(port, &group->sends, error);
    if (status == TDT_OK) {
      status = tdt__mpi_receive(port, slot, from, round, &taken, error);
    }
  } while (status == TDT_OK && taken.bytes == NULL && tdt__mpi_watch_again(&watch));
  if (taken.bytes != NULL) {
    tdt__message_clear(message);
    *message = taken;
  }
  return status;
}

static tdt_status start_max(void *self, const double *values, size_t n_values, tdt_error *error) {
  tdt__mpi_group *group = self;
  return tdt__mpi_start_max(&group->port, &group->reduction, values, n_values, error);
}

static tdt_status wait_max(void *self, double slice_s, double *values, bool *done,
                           tdt_error *error) {
  tdt__mpi_group *group = self;
  tdt__mpi_watch watch = tdt__mpi_watch_start(slice_s);
  bool is_done = false;
  tdt_status status = TDT_OK;
  do {
    status = tdt__mpi_sends_test(&group->port, &group->sends, error);
    if (status == TDT_OK) {
      status = tdt__mpi_test_max(&group->port, &group->reduction, values, &is_done, error);
    }
  } while (status == TDT_OK && !is_done && tdt__mpi_watch_again(&watch));
  *done = *done || is_done;
  return status;
}

const tdt_group_table tdt__mpi_table = {
    .abi = TDT_GROUP_ABI,
    .size = sizeof(tdt_group_table),
    .name = "MPI",
    .post = post,
    .take = take,
    .start_max = start_max,
    .wait_max = wait_max,
};

/* -- the end ----------------------------------------------------------------------------------- */

/* Whether MPI has nothing of ours any more. What has come in meanwhile is thrown away, so that its
 * senders find an end as well. */
static bool is_over(tdt__mpi_group *group) {
  const tdt__mpi_port *port = &group->port;
  bool over = tdt__mpi_sends_test(port, &group->sends, NULL) == TDT_OK;
  for (unsigned i = port->rank == 0 ? 1 : 0; i < group->n_slots; i++) {
    const unsigned from = port->rank == 0 ? i : 0;
    const int tag = port->rank == 0 ? TDT__MPI_TAG_MESSAGE : (int)i;
    over = tdt__mpi_drain(port, &group->slots[i], from, tag) == TDT_OK && over;
    over = over && group->slots[i].bytes == NULL;
  }
  return over && group->sends.latest == NULL && group->reduction.values == NULL;
}

static bool part(tdt__mpi_group *group) {
  tdt__mpi_watch watch = tdt__mpi_watch_start(PARTING_S);
  bool over = is_over(group);
  while (!over && tdt__mpi_watch_again(&watch)) {
    over = is_over(group);
  }
  return over;
}

void tdt__mpi_group_free(tdt__mpi_group *group) {
  tdt_group_rounds_destroy(group->rounds);
  free(group->numbers);
  free(group->slots);
  free(group);
}

void tdt_group_mpi_destroy(tdt_group *group) {
  if (group == NULL || group->self == NULL) {
    return;
  }
  tdt__mpi_group *self = group->self;
  tdt__mpi *mpi = &self->port.mpi;
  if (tdt__mpi_check_running(mpi, NULL) == TDT_OK && part(self)) {
    (void)mpi->abi->comm_free(mpi, &self->port.comm);
    tdt__mpi_close(mpi);
  } else {
    free(mpi->name);
  }
  tdt__mpi_group_free(self);
  *group = (tdt_group){0};
}
