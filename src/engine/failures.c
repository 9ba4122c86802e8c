/* SPDX-License-Identifier: MIT */
#include "engine/failures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "group/names.h"

#define INDEX_SIZE 24

static void write_index(size_t candidate, char text[INDEX_SIZE]) {
  (void)snprintf(text, INDEX_SIZE, "%zu", candidate);
}

tdt_status tdt__failures_add(json_t *failed, size_t candidate, const char *reason,
                             tdt_error *error) {
  char index[INDEX_SIZE];
  write_index(candidate, index);
  return json_object_set_new(failed, index, tdt__json_string(reason)) == 0
             ? TDT_OK
             : tdt__fail_memory(error);
}

tdt_status tdt__failures_list(const char *const *reasons, size_t n, json_t **failed,
                              tdt_error *error) {
  json_t *list = json_object();
  tdt_status status = list != NULL ? TDT_OK : tdt__fail_memory(error);
  for (size_t i = 0; status == TDT_OK && i < n; i++) {
    if (reasons[i] != NULL) {
      status = tdt__failures_add(list, i, reasons[i], error);
    }
  }
  if (status != TDT_OK) {
    json_decref(list);
    return status;
  }
  *failed = list;
  return TDT_OK;
}

const char *tdt__failures_reason(const json_t *failed, size_t candidate) {
  char index[INDEX_SIZE];
  write_index(candidate, index);
  return json_string_value(json_object_get(failed, index));
}

/* -- what rank 0 makes of them -------------------------------------------------------------------
 */

/* One candidate that failed on some rank. */
typedef struct shared {
  const char *index;
  const char *reason; /* that the lowest rank gives */
  bool *ranks;        /* on which it failed */
  unsigned n_ranks;
  bool same_reason;
} shared;

static void look_up(shared *one, const tdt_group *group, const json_t *const *data) {
  one->reason = NULL;
  one->n_ranks = 0;
  one->same_reason = true;
  for (unsigned rank = 0; rank < group->n_ranks; rank++) {
    const char *reason = json_string_value(json_object_get(data[rank], one->index));
    one->ranks[rank] = reason != NULL;
    if (reason == NULL) {
      continue;
    }
    one->n_ranks++;
    one->reason = one->reason != NULL ? one->reason : reason;
    one->same_reason = one->same_reason && strcmp(reason, one->reason) == 0;
  }
}

/* NULL: out of memory. */
static json_t *tell(const shared *one, const tdt_group *group) {
  tdt__text text = TDT__TEXT_INIT;
  if (one->n_ranks < group->n_ranks || !one->same_reason) {
    tdt__ranks_add(&text, group, one->ranks);
    tdt__text_add(&text, ": ");
  }
  tdt__text_add(&text, one->reason);
  char *whole = tdt__text_take(&text);
  json_t *told = whole == NULL ? NULL : tdt__json_string(whole);
  free(whole);
  return told;
}

static bool add_shared(json_t *all, const char *index, bool *ranks, tdt__failed_where where,
                       const tdt_group *group, const json_t *const *data) {
  shared one = {.index = index, .ranks = ranks};
  if (json_object_get(all, index) != NULL) {
    return true; /* a lower rank had it, too */
  }
  look_up(&one, group, data);
  if (where == TDT__FAILED_ON_SOME && one.n_ranks == group->n_ranks) {
    return true;
  }
  return json_object_set_new(all, index, tell(&one, group)) == 0;
}

static tdt_status judge(void *user, const tdt_group *group, const json_t *const *data,
                        json_t **answer, tdt_error *error) {
  const tdt__failed_where *where = user;
  bool *ranks = calloc(group->n_ranks, sizeof *ranks);
  json_t *all = json_object();
  bool made = ranks != NULL && all != NULL;
  for (unsigned rank = 0; made && rank < group->n_ranks; rank++) {
    void *at = json_object_iter((json_t *)data[rank]);
    while (made && at != NULL) {
      made = add_shared(all, json_object_iter_key(at), ranks, *where, group, data);
      at = json_object_iter_next((json_t *)data[rank], at);
    }
  }
  free(ranks);
  if (!made) {
    json_decref(all);
    return tdt__fail_memory(error);
  }
  *answer = all;
  return TDT_OK;
}

tdt_status tdt__failures_agree(tdt__talk *talk, const char *what, const tdt__facts *facts,
                               const json_t *mine, tdt__failed_where where, json_t **all,
                               tdt_error *error) {
  const tdt__round round = {
      .what = what,
      .facts = facts != NULL ? *facts : (tdt__facts){NULL, 0},
      .data = mine,
      .judge = judge,
      .user = &where,
  };
  return tdt__round_hold(talk, &round, all, error);
}
