/* SPDX-License-Identifier: MIT */
#include "engine/result.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/logger.h"
#include "engine/callback.h"
#include "engine/lookup.h"
#include "model/identity.h"

enum { MOST_FORMER = 1024 };

static tdt_status set_text(char **field, const char *text, tdt_error *error) {
  char *copy = strdup(text);
  if (copy == NULL) {
    return tdt__fail_memory(error);
  }
  free(*field);
  *field = copy;
  return TDT_OK;
}

/* How the times came about. */
typedef struct circumstances {
  const char *dependencies;
  const char *clock;
  unsigned n_ranks;
  const char *plan_name;
  unsigned n_warmup;
  unsigned n_repeat;
  tdt_statistic statistic;
} circumstances;

/* Where nothing was measured they are still those of the old record. */
static circumstances find_circumstances(const tdt__call *call, const tdt__slate *slate) {
  const tdt_record *old = slate->record;
  if (slate->n_queued == 0 && old != NULL) {
    return (circumstances){old->dependencies, old->clock,    old->n_ranks,  old->plan_name,
                           old->n_warmup,     old->n_repeat, old->statistic};
  }
  const tdt_plan *plan = &call->tuner->plan;
  return (circumstances){call->dependencies, call->device.clock, call->group.n_ranks, plan->name,
                         plan->n_warmup,     plan->n_repeat,     plan->statistic};
}

static tdt_status fill_head(tdt_record *record, const tdt__call *call, const tdt__slate *slate,
                            tdt_error *error) {
  const circumstances now = find_circumstances(call, slate);
  tdt_identity identity;
  tdt_status status = tdt__identity_copy(&call->identity, &identity, error);
  if (status != TDT_OK) {
    return status;
  }
  tdt__identity_clear(&record->identity);
  record->identity = identity;
  if ((status = set_text(&record->dependencies, now.dependencies, error)) != TDT_OK ||
      (status = set_text(&record->clock, now.clock, error)) != TDT_OK ||
      (status = set_text(&record->plan_name, now.plan_name, error)) != TDT_OK ||
      (status = set_text(&record->prune_rule, call->request.prune_rule, error)) != TDT_OK) {
    return status;
  }
  record->n_ranks = now.n_ranks;
  record->n_warmup = now.n_warmup;
  record->n_repeat = now.n_repeat;
  record->statistic = now.statistic;
  tdt__clock_date(record->created);
  return TDT_OK;
}

static tdt_status fill_entry(tdt__entry *entry, const char *config, const tdt__timing *timing,
                             tdt_error *error) {
  tdt_status status = set_text(&entry->config, config, error);
  if (status != TDT_OK) {
    return status;
  }
  return tdt__timing_copy(timing, &entry->timing, error);
}

static tdt_status fill_live(tdt_record *record, const tdt__slate *slate, tdt_error *error) {
  static const tdt__timing pruned = {.outcome = TDT_OUTCOME_PRUNED};
  static const tdt__timing unknown = TDT__TIMING_INIT;
  for (size_t i = 0; i < slate->n; i++) {
    const tdt__timing *timing = slate->kept[i] ? tdt__slate_known(slate, i) : &pruned;
    if (slate->kept[i] && timing->outcome == TDT_OUTCOME_PRUNED) {
      timing = &unknown; /* the old record pruned it, now it is kept and not measured yet */
    }
    tdt_status status =
        fill_entry(&record->entries[i], tdt_space_config(slate->space, i), timing, error);
    if (status != TDT_OK) {
      return status;
    }
  }
  return TDT_OK;
}

/* Only the old record offers it, and it says something that stays true under another pruning. */
static bool is_former(const tdt__slate *slate, size_t entry) {
  const tdt__entry *old = &slate->record->entries[entry];
  return (old->timing.outcome == TDT_OUTCOME_TIMED || old->timing.outcome == TDT_OUTCOME_FAILED) &&
         tdt__space_find(slate->space, old->config) == TDT_NONE;
}

static size_t count_former(const tdt__slate *slate) {
  size_t n_former = 0;
  for (size_t i = 0; slate->record != NULL && i < slate->record->n_entries; i++) {
    n_former += is_former(slate, i) ? 1 : 0;
  }
  return n_former < MOST_FORMER ? n_former : MOST_FORMER;
}

static tdt_status fill_former(tdt_record *record, const tdt__slate *slate, tdt_error *error) {
  size_t at = slate->n;
  for (size_t i = 0; at < record->n_entries; i++) {
    if (!is_former(slate, i)) {
      continue;
    }
    const tdt__entry *old = &slate->record->entries[i];
    tdt_status status = fill_entry(&record->entries[at++], old->config, &old->timing, error);
    if (status != TDT_OK) {
      return status;
    }
  }
  return TDT_OK;
}

tdt_status tdt__result_record(const tdt__call *call, const tdt__slate *slate, size_t winner,
                              bool complete, tdt_record **record, tdt_error *error) {
  tdt_record *made;
  tdt_status status = tdt__record_create(slate->n + count_former(slate), &made, error);
  if (status != TDT_OK) {
    return status;
  }
  made->best = winner;
  made->complete = complete;
  status = fill_head(made, call, slate, error);
  if (status == TDT_OK) {
    status = fill_live(made, slate, error);
  }
  if (status == TDT_OK) {
    status = fill_former(made, slate, error);
  }
  if (status != TDT_OK) {
    tdt_record_destroy(made);
    return status;
  }
  *record = made;
  return TDT_OK;
}

static void tell_stored(const tdt__call *call) {
  char *path;
  if (tdt_store_path(call->request.store, &call->identity, &path, NULL) == TDT_OK) {
    tdt__log(&call->request.log, TDT_LOG_INFO, "%s, key %s: stored in %s",
             call->identity.function.name, call->shown_key, path);
    tdt_text_free(path);
  }
}

static tdt_status make_and_save(const tdt__call *call, const tdt__slate *slate, size_t winner,
                                bool complete, tdt_error *reason) {
  tdt_record *record;
  tdt_status status = tdt__result_record(call, slate, winner, complete, &record, reason);
  if (status != TDT_OK) {
    return status;
  }
  status = tdt_store_save(call->request.store, record, reason);
  tdt_record_destroy(record);
  return status;
}

tdt_status tdt__result_save(const tdt__call *call, const tdt__slate *slate, size_t winner,
                            bool complete, tdt_error *error) {
  if (call->request.store == NULL) {
    return TDT_OK;
  }
  tdt_error reason = TDT_ERROR_INIT;
  tdt_status status = make_and_save(call, slate, winner, complete, &reason);
  if (status == TDT_OK) {
    tell_stored(call);
  } else if (status != TDT_ENOMEM) {
    tdt__warn_store(call, &reason);
  } else if (call->talk == NULL) {
    return tdt__pass_on(status, &reason, error);
  } else {
    tdt__log(&call->request.log, TDT_LOG_WARNING, "%s: the result for key %s is not stored: %s",
             call->identity.function.name, call->shown_key, tdt_error_text(&reason));
  }
  tdt_error_clear(&reason);
  return TDT_OK;
}
