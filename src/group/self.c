/* SPDX-License-Identifier: MIT */
#include <tdtune/group.h>

#include "base/error.h"

/* There is nobody to talk to, and the engine does not. */
static tdt_status post(void *self, uint64_t round, const void *bytes, size_t size,
                       tdt_error *error) {
  (void)self;
  (void)round;
  (void)bytes;
  (void)size;
  (void)error;
  return TDT_OK;
}

static tdt_status take(void *self, uint64_t round, unsigned from, double slice_s,
                       tdt_message *message, tdt_error *error) {
  (void)self;
  (void)round;
  (void)slice_s;
  (void)message;
  return tdt__fail(error, TDT_EGROUP, "there is no rank %u: this process is alone", from);
}

static tdt_status start_max(void *self, const double *values, size_t n_values, tdt_error *error) {
  (void)self;
  (void)values;
  (void)n_values;
  (void)error;
  return TDT_OK;
}

/* The greatest over one rank is what that rank has. The table's type is what it must be. */
/* NOLINTNEXTLINE(readability-non-const-parameter) */
static tdt_status wait_max(void *self, double slice_s, double *values, bool *done,
                           tdt_error *error) {
  (void)self;
  (void)slice_s;
  (void)values;
  (void)error;
  *done = true;
  return TDT_OK;
}

static const tdt_group_table self_table = {
    .abi = TDT_GROUP_ABI,
    .size = sizeof(tdt_group_table),
    .name = "self",
    .post = post,
    .take = take,
    .start_max = start_max,
    .wait_max = wait_max,
};

tdt_group tdt_group_self(void) {
  return (tdt_group){.table = &self_table, .rank = 0, .n_ranks = 1};
}
