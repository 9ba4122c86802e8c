/* SPDX-License-Identifier: MIT */
#include "engine/select.h"

static bool runs(const tdt__slate *slate, size_t candidate) {
  return slate->kept[candidate] && tdt__slate_known(slate, candidate)->outcome == TDT_OUTCOME_TIMED;
}

static bool takes_part(const tdt__slate *slate, size_t candidate, bool queued_only) {
  if (queued_only &&
      (!slate->queued[candidate] || slate->timings[candidate].outcome == TDT_OUTCOME_UNKNOWN)) {
    return false;
  }
  return runs(slate, candidate);
}

/*
 * The kept candidate with the least time, the lowest index of equals; TDT_NONE if none could run.
 * `queued_only`: among those of this tuning's queue whose time is of this tuning.
 */
static size_t fastest_of(const tdt__slate *slate, bool queued_only) {
  size_t fastest = TDT_NONE;
  for (size_t i = 0; i < slate->n; i++) {
    if (!takes_part(slate, i, queued_only)) {
      continue;
    }
    if (fastest == TDT_NONE ||
        tdt__slate_known(slate, i)->time_ms < tdt__slate_known(slate, fastest)->time_ms) {
      fastest = i;
    }
  }
  return fastest;
}

/* The recorded winner if it may still win, else the fastest by the record. */
static size_t recorded_winner(const tdt__slate *slate) {
  if (slate->best != TDT_NONE && runs(slate, slate->best)) {
    return slate->best;
  }
  return fastest_of(slate, false);
}

bool tdt__select_stored(const tdt__slate *slate, bool prunes, size_t *candidate) {
  if (slate->record == NULL || (prunes && !slate->same_rule)) {
    return false;
  }
  for (size_t i = 0; i < slate->n; i++) {
    if (tdt__slate_known(slate, i)->outcome == TDT_OUTCOME_UNKNOWN) {
      return false;
    }
  }
  size_t winner = recorded_winner(slate);
  if (winner == TDT_NONE) {
    return false;
  }
  *candidate = winner;
  return true;
}

static void queue(tdt__slate *slate, size_t candidate) {
  if (!slate->queued[candidate]) {
    slate->queued[candidate] = true;
    slate->queue[slate->n_queued++] = candidate;
  }
}

/* Kept, and not known or said to be pruned by the record. */
static bool needs_measuring(const tdt__slate *slate, size_t candidate) {
  tdt_outcome outcome = tdt__slate_known(slate, candidate)->outcome;
  return slate->kept[candidate] &&
         (outcome == TDT_OUTCOME_UNKNOWN || outcome == TDT_OUTCOME_PRUNED);
}

/* The record only knows failures: another day may be better. */
static void start_anew(tdt__slate *slate) {
  for (size_t i = 0; i < slate->n; i++) {
    if (slate->kept[i]) {
      slate->entries[i] = TDT_NONE;
      queue(slate, i);
    }
  }
}

/*
 * The recorded winner, or where there is none but times that compare with nothing of today, the
 * fastest of them, is measured again beside the rest. It goes first: should the tuning be
 * interrupted, what was measured so far can be compared with it.
 */
void tdt__select_queue(tdt__slate *slate) {
  size_t n_needed = 0;
  for (size_t i = 0; i < slate->n; i++) {
    n_needed += needs_measuring(slate, i) ? 1 : 0;
  }
  size_t winner = recorded_winner(slate);
  if (n_needed == 0) {
    if (winner == TDT_NONE) {
      start_anew(slate);
    }
    return;
  }
  if (winner != TDT_NONE && (slate->record->best != TDT_NONE || !slate->comparable)) {
    slate->contested = true;
    queue(slate, winner);
  }
  for (size_t i = 0; i < slate->n; i++) {
    if (needs_measuring(slate, i)) {
      queue(slate, i);
    }
  }
}

/* The first of those that were called equal to it. */
static size_t first_level(const tdt__slate *slate, size_t fastest) {
  for (size_t i = 0; slate->level[fastest] && i < fastest; i++) {
    if (slate->level[i] && takes_part(slate, i, true)) {
      return i;
    }
  }
  return fastest;
}

size_t tdt__select_winner(const tdt__slate *slate) {
  if (slate->n_queued == 0) {
    return recorded_winner(slate);
  }
  size_t fastest = fastest_of(slate, slate->contested);
  if (fastest == TDT_NONE) {
    fastest = fastest_of(slate, false);
  }
  return fastest != TDT_NONE ? first_level(slate, fastest) : TDT_NONE;
}
