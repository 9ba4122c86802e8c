/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "group/callback.h"
#include "group/names.h"

/* Rank 0 reads the values of the others one after another, then puts the result. A value travels as
 * its 8 bytes, the lowest first. */

enum { VALUE_SIZE = 8 };

static void encode(unsigned char *bytes, const double *values, size_t n) {
  for (size_t i = 0; i < n * VALUE_SIZE; i++) {
    uint64_t bits;
    memcpy(&bits, &values[i / VALUE_SIZE], sizeof bits);
    bytes[i] = (unsigned char)(bits >> (8 * (i % VALUE_SIZE)));
  }
}

static double decode(const char *bytes) {
  uint64_t bits = 0;
  for (unsigned i = 0; i < VALUE_SIZE; i++) {
    bits |= (uint64_t)(unsigned char)bytes[i] << (8 * i);
  }
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static tdt_status put_values(tdt__callback_group *group, tdt_error *error) {
  const tdt__callback_max *max = &group->max;
  unsigned char *bytes = malloc(max->n_values * VALUE_SIZE + 1);
  if (bytes == NULL) {
    return tdt__fail_memory(error);
  }
  encode(bytes, max->values, max->n_values);
  char key[TDT__PIECE_KEY];
  tdt__callback_max_key(key, max->round, max->index, group->face.rank);
  const tdt_status status =
      tdt__pieces_put(&group->pieces, key, bytes, max->n_values * VALUE_SIZE, error);
  free(bytes);
  return status;
}

tdt_status tdt__callback_start_max(tdt__callback_group *group, const double *values,
                                   size_t n_values, tdt_error *error) {
  tdt__callback_max *max = &group->max;
  if (max->under_way) {
    return tdt__fail(error, TDT_EGROUP, "an earlier reduction was never finished");
  }
  if (n_values > SIZE_MAX / sizeof *values - 1) {
    return tdt__fail_memory(error);
  }
  double *copy = malloc((n_values + 1) * sizeof *copy);
  if (copy == NULL) {
    return tdt__fail_memory(error);
  }
  if (n_values > 0) {
    memcpy(copy, values, n_values * sizeof *copy);
  }
  *max = (tdt__callback_max){.n_begun = max->n_begun + 1,
                             .under_way = true,
                             .round = group->round,
                             .index = max->n_begun,
                             .values = copy,
                             .n_values = n_values,
                             .n_come = 1};
  const tdt_status status = group->face.rank > 0 ? put_values(group, error) : TDT_OK;
  max->failed = status != TDT_OK;
  return status;
}

/* The values that a rank put; *came tells whether they are there. */
static tdt_status get_values(tdt__callback_group *group, unsigned from, double slice_s,
                             tdt_message *message, bool *came, tdt_error *error) {
  char key[TDT__PIECE_KEY];
  tdt__callback_max_key(key, group->max.round, group->max.index, from);
  const tdt_status status = tdt__pieces_get(&group->pieces, key, slice_s, message, came, error);
  if (status == TDT_OK && *came && message->size != group->max.n_values * VALUE_SIZE) {
    return tdt__fail(error, TDT_EGROUP, "rank %u reduces %zu values where rank %u has %zu",
                     tdt__rank_number(&group->face, from), message->size / VALUE_SIZE,
                     tdt__rank_number(&group->face, group->face.rank), group->max.n_values);
  }
  return status;
}

static void combine(tdt__callback_max *max, const tdt_message *message) {
  for (size_t i = 0; i < max->n_values; i++) {
    const double value = decode(message->bytes + i * VALUE_SIZE);
    max->values[i] = value > max->values[i] ? value : max->values[i];
  }
}

/* The result is there for all: what cannot be removed is left behind, and no failure of anything.
 */
static tdt_status publish(tdt__callback_group *group, tdt_error *error) {
  const tdt__callback_max *max = &group->max;
  const size_t n = tdt__piece_count(max->n_values * VALUE_SIZE);
  char key[TDT__PIECE_KEY];
  if (group->face.n_ranks == 1) {
    return TDT_OK;
  }
  const tdt_status status = put_values(group, error);
  if (status != TDT_OK) {
    return status;
  }
  for (unsigned from = 1; from < group->face.n_ranks; from++) {
    tdt__callback_max_key(key, max->round, max->index, from);
    (void)tdt__pieces_drop(&group->pieces, key, n, NULL);
  }
  tdt__callback_max_key(key, max->round, max->index, 0);
  tdt__callback_reduced(group, key, n);
  return TDT_OK;
}

static tdt_status gather(tdt__callback_group *group, double slice_s, bool *done, tdt_error *error) {
  tdt__callback_max *max = &group->max;
  const uint64_t begin_ns = tdt__clock_ns();
  while (max->n_come < group->face.n_ranks) {
    const double rest_s = slice_s - (double)(tdt__clock_ns() - begin_ns) * 1e-9;
    tdt_message message = {0};
    bool came = false;
    const tdt_status status =
        get_values(group, max->n_come, rest_s > 0.0 ? rest_s : 0.0, &message, &came, error);
    if (status == TDT_OK && came) {
      combine(max, &message);
      max->n_come++;
    }
    tdt__message_clear(&message);
    if (status != TDT_OK || !came) {
      return status;
    }
  }
  *done = true;
  return publish(group, error);
}

static tdt_status receive(tdt__callback_group *group, double slice_s, bool *done,
                          tdt_error *error) {
  tdt_message message = {0};
  const tdt_status status = get_values(group, 0, slice_s, &message, done, error);
  if (status == TDT_OK && *done) {
    combine(&group->max, &message);
  }
  tdt__message_clear(&message);
  return status;
}

tdt_status tdt__callback_wait_max(tdt__callback_group *group, double slice_s, double *values,
                                  bool *done, tdt_error *error) {
  tdt__callback_max *max = &group->max;
  if (!max->under_way || max->failed) {
    return tdt__fail(error, TDT_EGROUP, "no reduction is under way");
  }
  bool came = false;
  const tdt_status status = group->face.rank == 0 ? gather(group, slice_s, &came, error)
                                                  : receive(group, slice_s, &came, error);
  max->failed = status != TDT_OK;
  if (status != TDT_OK || !came) {
    return status;
  }
  if (max->n_values > 0) {
    memcpy(values, max->values, max->n_values * sizeof *values);
  }
  free(max->values);
  max->values = NULL;
  max->under_way = false;
  *done = true;
  return TDT_OK;
}
