/* SPDX-License-Identifier: MIT */
#include "group/callback.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static tdt_status post(void *self, uint64_t round, const void *bytes, size_t size,
                       tdt_error *error) {
  tdt__callback_group *group = self;
  const bool hint = (round & TDT__HINT_ROUND) != 0;
  if (!hint) {
    group->round = round;
    group->max.n_begun = 0;
    tdt__pieces_forget(&group->pieces);
  }
  if (group->face.n_ranks == 1) {
    return TDT_OK;
  }
  const size_t n = tdt__piece_count(size);
  char key[TDT__PIECE_KEY];
  tdt__callback_key(key, round, group->face.rank);
  const tdt_status status = tdt__pieces_put(&group->pieces, key, bytes, size, error);
  if (status != TDT_OK || group->face.rank != 0) {
    return status;
  }
  if (hint) {
    group->litter.n_hint = n;
    return TDT_OK;
  }
  (void)tdt__callback_clean(group, round, n, NULL); /* the answer is there, whatever is left over */
  return TDT_OK;
}

static tdt_status take(void *self, uint64_t round, unsigned from, double slice_s,
                       tdt_message *message, tdt_error *error) {
  tdt__callback_group *group = self;
  if (from >= group->face.n_ranks || (from == 0) == (group->face.rank == 0)) {
    return tdt__fail(error, TDT_EGROUP, "rank %u of %u has nothing to take from rank %u",
                     group->face.rank, group->face.n_ranks, from);
  }
  char key[TDT__PIECE_KEY];
  tdt__callback_key(key, round, from);
  bool came = false;
  const tdt_status status = tdt__pieces_get(&group->pieces, key, slice_s, message, &came, error);
  if (status == TDT_OK && came && group->face.rank == 0) {
    tdt__callback_took(group, round, from, tdt__piece_count(message->size));
  }
  return status;
}

/* The caller's reduction, if there is one and somebody to reduce with. */
static bool has_max(const tdt__callback_group *group) {
  return group->face.n_ranks > 1 && group->pieces.store.start_max != NULL;
}

static tdt_status start_max(void *self, const double *values, size_t n_values, tdt_error *error) {
  tdt__callback_group *group = self;
  const tdt_group_callbacks *store = &group->pieces.store;
  return has_max(group) ? store->start_max(store->user, values, n_values, error)
                        : tdt__callback_start_max(group, values, n_values, error);
}

static tdt_status wait_max(void *self, double slice_s, double *values, bool *done,
                           tdt_error *error) {
  tdt__callback_group *group = self;
  const tdt_group_callbacks *store = &group->pieces.store;
  return has_max(group) ? store->wait_max(store->user, slice_s, values, done, error)
                        : tdt__callback_wait_max(group, slice_s, values, done, error);
}

static const tdt_group_table callback_table = {
    .abi = TDT_GROUP_ABI,
    .size = sizeof(tdt_group_table),
    .name = "callback",
    .post = post,
    .take = take,
    .start_max = start_max,
    .wait_max = wait_max,
};

static tdt_status check(const tdt_group_callbacks *callbacks, unsigned rank, unsigned n_ranks,
                        const tdt_group_rounds *rounds, tdt_error *error) {
  const size_t first_version = offsetof(tdt_group_callbacks, wait_max) + sizeof callbacks->wait_max;
  if (callbacks == NULL || callbacks->size < first_version) {
    return tdt__fail(error, TDT_EINVAL, "group callbacks: size is %zu, set it to their size, %zu",
                     callbacks != NULL ? callbacks->size : 0, sizeof *callbacks);
  }
  if (callbacks->put == NULL || callbacks->get == NULL) {
    return tdt__fail(error, TDT_EINVAL, "group callbacks: %s is missing",
                     callbacks->put == NULL ? "put" : "get");
  }
  if ((callbacks->start_max == NULL) != (callbacks->wait_max == NULL)) {
    return tdt__fail(error, TDT_EINVAL,
                     "group callbacks: start_max and wait_max go together, %s "
                     "is missing",
                     callbacks->start_max == NULL ? "start_max" : "wait_max");
  }
  if (rank >= n_ranks) {
    return tdt__fail(error, TDT_EINVAL, "group: rank %u is not below the number of ranks, %u", rank,
                     n_ranks);
  }
  if (rounds == NULL && n_ranks > 1) {
    return tdt__fail(error, TDT_EINVAL, "group: %u ranks need a tdt_group_rounds", n_ranks);
  }
  return TDT_OK;
}

tdt_status tdt_group_callback_create(const tdt_group_callbacks *callbacks, unsigned rank,
                                     unsigned n_ranks, const unsigned *numbers,
                                     tdt_group_rounds *rounds, tdt_group *group, tdt_error *error) {
  const tdt_status status = check(callbacks, rank, n_ranks, rounds, error);
  if (status != TDT_OK) {
    return status;
  }
  const size_t n_taken = rank == 0 ? n_ranks : 0;
  tdt__callback_group *made = calloc(1, sizeof *made + n_taken * sizeof made->taken[0]);
  if (made == NULL) {
    return tdt__fail_memory(error);
  }
  made->pieces.store = *callbacks;
  made->face = (tdt_group){&callback_table, made, rank, n_ranks, rounds, numbers};
  *group = made->face;
  return TDT_OK;
}

void tdt_group_callback_destroy(tdt_group *group) {
  if (group == NULL || group->self == NULL) {
    return;
  }
  tdt__callback_group *gone = group->self;
  tdt__pieces_forget(&gone->pieces);
  free(gone->max.values);
  free(gone);
  *group = (tdt_group){0};
}
