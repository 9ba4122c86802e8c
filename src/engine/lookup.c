/* SPDX-License-Identifier: MIT */
#include "engine/lookup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/logger.h"
#include "engine/plan.h"
#include "engine/select.h"
#include "model/identity.h"
#include "store/directory.h"

void tdt__warn_store(const tdt__call *call, const tdt_error *reason) {
  if (tdt__store_first_time(call->request.store, "store")) {
    tdt__log(&call->request.log, TDT_LOG_WARNING,
             "%s: results are kept in memory only, the store %s cannot be used: %s",
             call->identity.function.name, tdt_store_root(call->request.store),
             tdt_error_text(reason));
  }
}

/* Whether this is the first warning of a kind about the call's record. A record that came from
 * another rank is looked at once; who has no store has nowhere to remember that. */
static bool first_time(const tdt__call *call, const char *kind) {
  char digest[TDT_DIGEST_SIZE];
  char what[TDT_DIGEST_SIZE + 32];
  if (call->request.store == NULL) {
    return true;
  }
  tdt__identity_digest(&call->identity, digest);
  (void)snprintf(what, sizeof what, "%s %s", kind, digest);
  return tdt__store_first_time(call->request.store, what);
}

/* A record that cannot be had counts as none; TDT_ENOMEM is the one failure. */
static tdt_status no_record(const tdt__call *call, tdt_status status, tdt_error *reason,
                            tdt_error *error) {
  switch (status) {
  case TDT_ENOENT:
    break;
  case TDT_ENOMEM:
    (void)tdt_error_set(error, status, "%s", tdt_error_text(reason));
    tdt_error_clear(reason);
    return status;
  case TDT_EFORMAT:
    if (first_time(call, "format")) {
      tdt__log(&call->request.log, TDT_LOG_WARNING, "%s: a stored result is ignored: %s",
               call->identity.function.name, tdt_error_text(reason));
    }
    break;
  default:
    tdt__warn_store(call, reason);
  }
  tdt_error_clear(reason);
  return TDT_OK;
}

static void tell_difference(const tdt__call *call, const char *difference) {
  const bool ignored = call->settings.check_dependencies;
  if (first_time(call, ignored ? "ignored" : "dependencies")) {
    tdt__log(&call->request.log, ignored ? TDT_LOG_INFO : TDT_LOG_WARNING,
             "%s: the result for key %s %swas measured with %s", call->identity.function.name,
             call->shown_key, ignored ? "is ignored, it " : "", difference);
  }
}

/* Whether the record was made with the software of today. */
static tdt_status compare_dependencies(const tdt__call *call, const tdt_record *record, bool *same,
                                       tdt_error *error) {
  char *difference;
  tdt_status status =
      tdt__dependencies_compare(record->dependencies, call->dependencies, same, &difference, error);
  if (status != TDT_OK) {
    return status;
  }
  if (!*same) {
    tell_difference(call, difference);
  }
  free(difference);
  return TDT_OK;
}

/* Where the plan decides on the way, times are made of more or fewer runs: none compares with one
 * of another tuning. */
static bool measured_alike(const tdt__call *call, const tdt_record *record) {
  const tdt_plan *plan = &call->tuner->plan;
  return !tdt__plan_decides(plan) && strcmp(record->plan_name, plan->name) == 0 &&
         strcmp(record->clock, call->device.clock) == 0 && record->n_ranks == call->group.n_ranks &&
         record->n_warmup == plan->n_warmup && record->n_repeat == plan->n_repeat &&
         record->statistic == plan->statistic;
}

/* *record is NULL where there is none to use; *comparable as in a slate. */
static tdt_status load(const tdt__call *call, tdt_record **record, bool *comparable,
                       tdt_error *error) {
  *record = NULL;
  *comparable = true;
  if (call->request.store == NULL || call->settings.always_tune) {
    return TDT_OK;
  }
  tdt_record *loaded;
  tdt_error reason = TDT_ERROR_INIT;
  tdt_status status = tdt_store_load(call->request.store, &call->identity, &loaded, &reason);
  if (status != TDT_OK) {
    return no_record(call, status, &reason, error);
  }
  bool same;
  status = compare_dependencies(call, loaded, &same, error);
  if (status != TDT_OK || (!same && call->settings.check_dependencies)) {
    tdt_record_destroy(loaded);
    return status;
  }
  *comparable = same && measured_alike(call, loaded);
  *record = loaded;
  return TDT_OK;
}

tdt_status tdt__lookup(const tdt__call *call, tdt__slate *slate, tdt_error *error) {
  tdt_record *record;
  bool comparable;
  tdt_status status = load(call, &record, &comparable, error);
  if (status != TDT_OK) {
    return status;
  }
  status = tdt__slate_create(call->tuner->space, record, call->request.prune_rule, slate, error);
  if (status == TDT_OK) {
    slate->comparable = comparable;
  }
  return status;
}

tdt_status tdt__lookup_adopt(const tdt__call *call, tdt_record *record, tdt__slate *slate,
                             tdt_error *error) {
  bool same;
  tdt_status status = compare_dependencies(call, record, &same, error);
  if (status != TDT_OK) {
    tdt_record_destroy(record);
    return status;
  }
  const bool comparable = same && measured_alike(call, record);
  tdt__slate adopted;
  status = tdt__slate_create(call->tuner->space, record, call->request.prune_rule, &adopted, error);
  if (status != TDT_OK) {
    return status;
  }
  tdt__slate_clear(slate);
  *slate = adopted;
  slate->comparable = comparable;
  return TDT_OK;
}

void tdt__lookup_tell(const tdt__call *call, size_t candidate) {
  const tdt_log *log = &call->request.log;
  char *path;
  if (log->write == NULL || log->least > TDT_LOG_INFO || call->request.store == NULL ||
      tdt_store_path(call->request.store, &call->identity, &path, NULL) != TDT_OK) {
    return;
  }
  tdt__log(log, TDT_LOG_INFO, "%s, key %s: [%zu] %s, from %s", call->identity.function.name,
           call->shown_key, candidate, tdt_space_config(call->tuner->space, candidate), path);
  tdt_text_free(path);
}

tdt_status tdt__lookup_answer(const tdt__call *call, bool *found, size_t *candidate,
                              tdt_error *error) {
  tdt_record *record;
  tdt__slate slate;
  bool comparable; /* nothing is compared: the record's winner is the answer or there is none */
  *found = false;
  tdt_status status = load(call, &record, &comparable, error);
  if (status != TDT_OK || record == NULL) {
    return status;
  }
  status = tdt__slate_create(call->tuner->space, record, call->request.prune_rule, &slate, error);
  if (status != TDT_OK) {
    return status;
  }
  if (tdt__select_stored(&slate, call->request.prune != NULL, candidate)) {
    *found = true;
    tdt__lookup_tell(call, *candidate);
  }
  tdt__slate_clear(&slate);
  return TDT_OK;
}
