/* SPDX-License-Identifier: MIT */
#include "model/record.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "model/identity.h"

/* Fills a zeroed record; on failure it holds what was made so far. */
static tdt_status fill_empty(tdt_record *record, size_t n_entries, tdt_error *error) {
  tdt_status status = tdt__identity_empty(&record->identity, error);
  if (status != TDT_OK) {
    return status;
  }
  record->dependencies = strdup("{}");
  record->clock = strdup("");
  record->prune_rule = strdup("");
  record->plan_name = strdup("");
  record->entries = calloc(n_entries > 0 ? n_entries : 1, sizeof *record->entries);
  if (record->dependencies == NULL || record->clock == NULL || record->prune_rule == NULL ||
      record->plan_name == NULL || record->entries == NULL) {
    return tdt__fail_memory(error);
  }
  record->n_entries = n_entries;
  for (size_t i = 0; i < n_entries; i++) {
    record->entries[i].timing = (tdt__timing)TDT__TIMING_INIT;
  }
  return TDT_OK;
}

tdt_status tdt__record_create(size_t n_entries, tdt_record **record, tdt_error *error) {
  tdt_record *made = calloc(1, sizeof *made);
  if (made == NULL) {
    return tdt__fail_memory(error);
  }
  made->n_ranks = 1;
  made->best = TDT_NONE;
  tdt_status status = fill_empty(made, n_entries, error);
  if (status != TDT_OK) {
    tdt_record_destroy(made);
    return status;
  }
  *record = made;
  return TDT_OK;
}

void tdt_record_destroy(tdt_record *record) {
  if (record == NULL) {
    return;
  }
  for (size_t i = 0; i < record->n_entries; i++) {
    free(record->entries[i].config);
    tdt__timing_clear(&record->entries[i].timing);
  }
  free(record->entries);
  tdt__identity_clear(&record->identity);
  free(record->dependencies);
  free(record->clock);
  free(record->prune_rule);
  free(record->plan_name);
  free(record);
}

size_t tdt_record_n_candidates(const tdt_record *record) {
  return record->n_entries;
}

tdt_status tdt_record_candidate(const tdt_record *record, size_t index, tdt_candidate *candidate,
                                tdt_error *error) {
  if (index >= record->n_entries) {
    return tdt__fail(error, TDT_EINVAL, "the record has no candidate %zu, it has %zu", index,
                     record->n_entries);
  }
  const tdt__entry *entry = &record->entries[index];
  *candidate = (tdt_candidate){
      .config = entry->config,
      .outcome = entry->timing.outcome,
      .time_ms = entry->timing.time_ms,
      .samples_ms = entry->timing.samples_ms,
      .n_samples = entry->timing.n_samples,
      .error = entry->timing.error,
  };
  return TDT_OK;
}

size_t tdt_record_best(const tdt_record *record) {
  return record->best;
}

bool tdt_record_complete(const tdt_record *record) {
  return record->complete;
}

tdt_identity tdt_record_identity(const tdt_record *record) {
  return record->identity;
}
