/* SPDX-License-Identifier: MIT */
#include "store/record_entries.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"

/* jansson lets neither NaN nor infinity in. */
static bool is_time(const json_t *value) {
  return json_is_number(value) && json_number_value(value) >= 0.0;
}

static tdt_status read_samples(const tdt__scope *in, tdt__timing *timing) {
  const json_t *values = tdt__scope_field(in, "samples_ms");
  if (!json_is_array(values)) {
    return tdt__scope_wrong(in, "samples_ms", "a list of times is expected");
  }
  size_t n = json_array_size(values);
  if (n == 0) {
    return TDT_OK;
  }
  timing->samples_ms = calloc(n, sizeof *timing->samples_ms);
  if (timing->samples_ms == NULL) {
    return tdt__fail_memory(in->error);
  }
  for (size_t i = 0; i < n; i++) {
    const json_t *value = json_array_get(values, i);
    if (!is_time(value)) {
      return tdt__scope_wrong(in, "samples_ms", "holds something that is no time");
    }
    timing->samples_ms[i] = json_number_value(value);
  }
  timing->n_samples = n;
  return TDT_OK;
}

/* A time, the reason why there is none, that it was not wanted, or none of them: never two. */
static tdt_status read_outcome(const tdt__scope *in, tdt__timing *timing) {
  const json_t *time = tdt__scope_field(in, "time_ms");
  const json_t *error = tdt__scope_field(in, "error");
  const json_t *pruned = tdt__scope_field(in, "pruned");
  if (!json_is_null(time) && !is_time(time)) {
    return tdt__scope_wrong(in, "time_ms", "a time or null is expected");
  }
  if (pruned != NULL && !json_is_boolean(pruned)) {
    return tdt__scope_wrong(in, "pruned", "true or false is expected");
  }
  if (is_time(time) + (error != NULL) + json_is_true(pruned) > 1) {
    return tdt__scope_wrong(in, "time_ms", "more than one outcome");
  }
  if (is_time(time)) {
    timing->outcome = TDT_OUTCOME_TIMED;
    timing->time_ms = json_number_value(time);
  } else if (error != NULL) {
    timing->outcome = TDT_OUTCOME_FAILED;
    return tdt__scope_owned(in, "error", &timing->error);
  } else if (json_is_true(pruned)) {
    timing->outcome = TDT_OUTCOME_PRUNED;
  }
  return TDT_OK;
}

static tdt_status read_entry(const tdt__scope *in, tdt__entry *entry) {
  tdt_status status = tdt__scope_canonical(in, "config", &entry->config);
  if (status == TDT_OK) {
    status = read_outcome(in, &entry->timing);
  }
  bool samples =
      entry->timing.outcome == TDT_OUTCOME_TIMED || tdt__scope_field(in, "samples_ms") != NULL;
  if (status == TDT_OK && samples) {
    status = read_samples(in, &entry->timing);
  }
  return status;
}

tdt_status tdt__record_read_entries(const tdt__scope *in, tdt_record *record) {
  const json_t *list = tdt__scope_field(in, "candidates");
  for (size_t i = 0; i < record->n_entries; i++) {
    tdt__scope candidate = {in->source, in->error, json_array_get(list, i), {0}};
    (void)snprintf(candidate.place, sizeof candidate.place, "candidates[%zu].", i);
    if (!json_is_object(candidate.object)) {
      return tdt__scope_wrong(&candidate, "config", "a candidate is an object");
    }
    tdt_status status = read_entry(&candidate, &record->entries[i]);
    if (status != TDT_OK) {
      return status;
    }
  }
  return TDT_OK;
}
