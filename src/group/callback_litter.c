/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "group/callback.h"

/*
 * Who may need a key still? A message: rank 0, until it took it. An answer: any rank, until it
 * posted in a later round. So once rank 0 took the messages of ALL ranks in a round, nobody needs
 * anything of the rounds before it. A round that rank 0 answers without having taken all messages
 * (it gives up) leaves its keys to the next that is whole.
 *
 * The result of a reduction: any rank, until it began the next one. Who was stopped as it waited
 * comes back for it, rounds later perhaps.
 */

void tdt__callback_took(tdt__callback_group *group, uint64_t round, unsigned from, size_t n) {
  tdt__callback_litter *litter = &group->litter;
  if (litter->taking != round) {
    memset(group->taken, 0, group->face.n_ranks * sizeof *group->taken);
    litter->taking = round;
    litter->n_taken = 0;
  }
  litter->n_taken += group->taken[from] == 0;
  group->taken[from] = n;
}

static tdt_status drop_message(const tdt__callback_group *group, uint64_t round, unsigned sender,
                               size_t n, tdt_error *error) {
  char key[TDT__PIECE_KEY];
  tdt__callback_key(key, round, sender);
  return tdt__pieces_drop(&group->pieces, key, n, error);
}

/* Rank 0 reads no message once it has answered; a hint means nothing beside the answer. */
static tdt_status drop_hint(tdt__callback_group *group, uint64_t round, tdt_error *error) {
  const size_t n = group->litter.n_hint;
  group->litter.n_hint = 0;
  return n == 0 ? TDT_OK : drop_message(group, round | TDT__HINT_ROUND, 0, n, error);
}

/* All messages of a round; `taken` NULL: of any number of pieces. */
static tdt_status drop_messages(const tdt__callback_group *group, uint64_t round,
                                const size_t *taken, tdt_error *error) {
  tdt_status status = TDT_OK;
  for (unsigned from = 1; from < group->face.n_ranks && status == TDT_OK; from++) {
    status = drop_message(group, round, from, taken != NULL ? taken[from] : 0, error);
  }
  return status;
}

static void drop_result(tdt__callback_group *group) {
  tdt__callback_litter *litter = &group->litter;
  if (litter->result[0] != '\0') {
    (void)tdt__pieces_drop(&group->pieces, litter->result, litter->n_result, NULL);
  }
}

void tdt__callback_reduced(tdt__callback_group *group, const char *key, size_t n) {
  drop_result(group);
  memcpy(group->litter.result, key, TDT__PIECE_KEY);
  group->litter.n_result = n;
}

/* Answers from `oldest` to before `round`, and messages that were left between the two. */
static tdt_status drop_earlier(const tdt__callback_group *group, uint64_t round, tdt_error *error) {
  const tdt__callback_litter *litter = &group->litter;
  tdt_status status = TDT_OK;
  for (uint64_t r = litter->oldest; r < round && status == TDT_OK; r++) {
    if (r > litter->oldest) {
      status = drop_messages(group, r, NULL, error);
    }
    if (r > 0 && status == TDT_OK) {
      status = drop_message(group, r, 0, r == litter->oldest ? litter->n_oldest : 0, error);
    }
  }
  return status;
}

/* A group that used the store before this one, and is gone, may have left its last answer, and the
 * result of a reduction after it. */
static void begin(tdt__callback_group *group, uint64_t round) {
  tdt__callback_litter *litter = &group->litter;
  litter->begun = true;
  litter->oldest = round - 1;
  litter->n_oldest = 0;
  if (litter->result[0] == '\0') {
    tdt__callback_max_key(litter->result, round - 1, 0, 0);
    litter->n_result = 0;
  }
}

static tdt_status clean_whole(tdt__callback_group *group, uint64_t round, tdt_error *error) {
  tdt_status status = drop_messages(group, round, group->taken, error);
  return status == TDT_OK ? drop_earlier(group, round, error) : status;
}

tdt_status tdt__callback_clean(tdt__callback_group *group, uint64_t round, size_t n,
                               tdt_error *error) {
  tdt__callback_litter *litter = &group->litter;
  if (!litter->begun) {
    begin(group, round);
  }
  tdt_status status = drop_hint(group, round, error);
  const bool whole = litter->taking == round && litter->n_taken == group->face.n_ranks - 1;
  if (!whole || status != TDT_OK) {
    return status;
  }
  status = clean_whole(group, round, error);
  if (status == TDT_OK) {
    litter->oldest = round;
    litter->n_oldest = n;
  }
  return status;
}
