/* SPDX-License-Identifier: MIT */
#include "engine/slate.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static const tdt__timing unknown = TDT__TIMING_INIT;

static tdt_status allocate(tdt__slate *slate, tdt_error *error) {
  slate->entries = calloc(slate->n, sizeof *slate->entries);
  slate->kept = calloc(slate->n, sizeof *slate->kept);
  slate->queue = calloc(slate->n, sizeof *slate->queue);
  slate->queued = calloc(slate->n, sizeof *slate->queued);
  slate->level = calloc(slate->n, sizeof *slate->level);
  slate->timings = calloc(slate->n, sizeof *slate->timings);
  if (slate->entries == NULL || slate->kept == NULL || slate->queue == NULL ||
      slate->queued == NULL || slate->level == NULL || slate->timings == NULL) {
    return tdt__fail_memory(error);
  }
  return TDT_OK;
}

/* Two entries may have one description: the one that did best speaks for it. */
static bool says_more(const tdt_record *record, size_t entry, size_t than) {
  if (than == TDT_NONE) {
    return true;
  }
  const tdt__timing *here = &record->entries[entry].timing;
  const tdt__timing *there = &record->entries[than].timing;
  return here->outcome == TDT_OUTCOME_TIMED &&
         (there->outcome != TDT_OUTCOME_TIMED || here->time_ms < there->time_ms);
}

static void match_entries(tdt__slate *slate) {
  const tdt_record *record = slate->record;
  for (size_t entry = 0; entry < record->n_entries; entry++) {
    size_t live = tdt__space_find(slate->space, record->entries[entry].config);
    if (live == TDT_NONE) {
      continue;
    }
    if (says_more(record, entry, slate->entries[live])) {
      slate->entries[live] = entry;
    }
    if (entry == record->best) {
      slate->best = live;
    }
  }
}

/* Live candidates with one description share what is known of it. */
static void share_entries(tdt__slate *slate) {
  for (size_t i = 0; i < slate->n; i++) {
    size_t first = tdt__space_find(slate->space, tdt_space_config(slate->space, i));
    slate->entries[i] = slate->entries[first];
  }
}

tdt_status tdt__slate_create(const tdt_space *space, tdt_record *record, const char *prune_rule,
                             tdt__slate *slate, tdt_error *error) {
  *slate = (tdt__slate){
      .space = space,
      .record = record,
      .comparable = true,
      .same_rule = record != NULL && strcmp(record->prune_rule, prune_rule) == 0,
      .n = tdt_space_size(space),
      .best = TDT_NONE,
  };
  tdt_status status = allocate(slate, error);
  if (status != TDT_OK) {
    tdt__slate_clear(slate);
    return status;
  }
  for (size_t i = 0; i < slate->n; i++) {
    slate->entries[i] = TDT_NONE;
    slate->kept[i] = true;
    slate->timings[i] = unknown;
  }
  if (record != NULL) {
    match_entries(slate);
    share_entries(slate);
  }
  return TDT_OK;
}

void tdt__slate_clear(tdt__slate *slate) {
  for (size_t i = 0; slate->timings != NULL && i < slate->n; i++) {
    tdt__timing_clear(&slate->timings[i]);
  }
  free(slate->timings);
  free(slate->level);
  free(slate->queued);
  free(slate->queue);
  free(slate->kept);
  free(slate->entries);
  tdt_record_destroy(slate->record);
  *slate = (tdt__slate){0};
}

const tdt__timing *tdt__slate_known(const tdt__slate *slate, size_t candidate) {
  if (slate->timings[candidate].outcome != TDT_OUTCOME_UNKNOWN) {
    return &slate->timings[candidate];
  }
  if (slate->entries[candidate] == TDT_NONE) {
    return &unknown;
  }
  const tdt__timing *recorded = &slate->record->entries[slate->entries[candidate]].timing;
  if (recorded->outcome == TDT_OUTCOME_PRUNED && !slate->same_rule) {
    return &unknown;
  }
  return recorded;
}

size_t tdt__slate_count_kept(const tdt__slate *slate) {
  size_t n_kept = 0;
  for (size_t i = 0; i < slate->n; i++) {
    n_kept += slate->kept[i] ? 1 : 0;
  }
  return n_kept;
}
