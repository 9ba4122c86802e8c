/* SPDX-License-Identifier: MIT */
#include "engine/agree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/text.h"
#include "engine/failures.h"
#include "group/greatest.h"
#include "group/round.h"

/* -- the candidates ------------------------------------------------------------------------------
 */

/* Indexes of flagged candidates, "0-3, 7". */
static void add_flagged(tdt__text *text, const bool *flags, size_t n) {
  const char *separator = "";
  for (size_t i = 0; i < n; i++) {
    size_t last = i;
    if (!flags[i]) {
      continue;
    }
    while (last + 1 < n && flags[last + 1]) {
      last++;
    }
    tdt__text_format(text, last > i ? "%s%zu-%zu" : "%s%zu", separator, i, last);
    separator = ", ";
    i = last;
  }
  if (separator[0] == '\0') {
    tdt__text_add(text, "none");
  }
}

tdt_status tdt__agree_candidates(const tdt__call *call, const tdt__slate *slate, tdt_error *error) {
  tdt__text kept = TDT__TEXT_INIT;
  tdt__text queued = TDT__TEXT_INIT;
  add_flagged(&kept, slate->kept, slate->n);
  add_flagged(&queued, slate->queued, slate->n);
  char *kept_text = tdt__text_take(&kept);
  char *queued_text = tdt__text_take(&queued);
  tdt_status status;
  if (kept_text == NULL || queued_text == NULL) {
    status = tdt__fail_memory(error);
  } else {
    const tdt__fact list[] = {
        {"candidates that pruning keeps", kept_text},
        {"candidates to measure", queued_text},
    };
    const tdt__round round = {.what = "pruning", .facts = {list, sizeof list / sizeof *list}};
    status = tdt__round_hold(call->talk, &round, NULL, error);
  }
  free(queued_text);
  free(kept_text);
  return status;
}

/* -- failures ------------------------------------------------------------------------------------
 */

/* One reason for each candidate that failed here; those of all ranks become the slate's. */
static tdt_status share_failures(const tdt__call *call, const char *what, const tdt__facts *facts,
                                 const char *const *reasons, tdt__failed_where where,
                                 tdt__slate *slate, tdt_error *error) {
  json_t *mine = NULL;
  json_t *all = NULL;
  tdt_status status = tdt__failures_list(reasons, slate->n, &mine, error);
  if (status == TDT_OK) {
    status = tdt__failures_agree(call->talk, what, facts, mine, where, &all, error);
  }
  for (size_t i = 0; status == TDT_OK && i < slate->n; i++) {
    const char *reason = tdt__failures_reason(all, i);
    if (reason != NULL) {
      status = tdt__timing_set_failed(&slate->timings[i], reason, error);
    }
  }
  json_decref(all);
  json_decref(mine);
  return status;
}

tdt_status tdt__agree_prepared(const tdt__call *call, const char *const *reasons, tdt__slate *slate,
                               tdt_error *error) {
  return share_failures(call, "preparing", NULL, reasons, TDT__FAILED_ON_SOME, slate, error);
}

/* What failed in this tuning here, failed for all. */
static tdt_status agree_measured(const tdt__call *call, tdt__slate *slate, tdt_error *error) {
  const char **reasons = calloc(slate->n, sizeof *reasons);
  if (reasons == NULL) {
    return tdt__fail_memory(error);
  }
  for (size_t i = 0; i < slate->n; i++) {
    const tdt__timing *timing = &slate->timings[i];
    if (slate->kept[i] && timing->outcome == TDT_OUTCOME_FAILED) {
      reasons[i] = timing->error != NULL ? timing->error : "";
    }
  }
  char begun[TDT__REDUCTIONS_SIZE];
  const tdt__fact fact = tdt__greatest_fact(call->talk, begun);
  tdt_status status = share_failures(call, "comparing times", &(tdt__facts){&fact, 1}, reasons,
                                     TDT__FAILED_ON_ANY, slate, error);
  free((void *)reasons);
  return status;
}

tdt_status tdt__agree_burst(const tdt__call *call, const tdt__step *step, const char *reason,
                            char **elsewhere, tdt_error *error) {
  char what[64];
  json_t *mine = json_object();
  json_t *all = NULL;
  tdt_status status = mine != NULL ? TDT_OK : tdt__fail_memory(error);
  (void)snprintf(what, sizeof what, "candidate [%zu], %s", step->candidate,
                 step->kind == TDT__STEP_WARMUP ? "warm-up" : "timed runs");
  if (status == TDT_OK && reason != NULL) {
    status = tdt__failures_add(mine, step->candidate, reason, error);
  }
  if (status == TDT_OK) {
    status = tdt__failures_agree(call->talk, what, NULL, mine, TDT__FAILED_ON_ANY, &all, error);
  }
  const char *told = status == TDT_OK ? tdt__failures_reason(all, step->candidate) : NULL;
  char *copy = told != NULL ? strdup(told) : NULL;
  if (told != NULL && copy == NULL) {
    status = tdt__fail_memory(error);
  }
  json_decref(all);
  json_decref(mine);
  *elsewhere = copy;
  return status;
}

/* -- who is measured on --------------------------------------------------------------------------
 */

/* One reason for each place in the schedule whose candidate failed here. */
static tdt_status list_failed(const tdt__schedule *schedule, json_t **mine, tdt_error *error) {
  const size_t n = tdt__schedule_size(schedule);
  json_t *list = json_object();
  tdt_status status = list != NULL ? TDT_OK : tdt__fail_memory(error);
  for (size_t i = 0; status == TDT_OK && i < n; i++) {
    const tdt__timing *timing = tdt__schedule_timing(schedule, i);
    if (timing->outcome == TDT_OUTCOME_FAILED) {
      status = tdt__failures_add(list, tdt__schedule_candidate(schedule, i),
                                 timing->error != NULL ? timing->error : "", error);
    }
  }
  *mine = list;
  return status;
}

/* What failed on some rank failed on all; also the round after which all begin the reduction. */
static tdt_status agree_failed(const tdt__call *call, tdt__schedule *schedule, tdt_error *error) {
  char begun[TDT__REDUCTIONS_SIZE];
  const tdt__fact fact = tdt__greatest_fact(call->talk, begun);
  json_t *mine = NULL;
  json_t *all = NULL;
  tdt_status status = list_failed(schedule, &mine, error);
  if (status == TDT_OK) {
    status = tdt__failures_agree(call->talk, "deciding who is measured on", &(tdt__facts){&fact, 1},
                                 mine, TDT__FAILED_ON_ANY, &all, error);
  }
  for (size_t i = 0; status == TDT_OK && i < tdt__schedule_size(schedule); i++) {
    const char *reason = tdt__failures_reason(all, tdt__schedule_candidate(schedule, i));
    if (reason != NULL) {
      status = tdt__schedule_reword(schedule, i, reason, error);
    }
  }
  json_decref(all);
  json_decref(mine);
  return status;
}

tdt_status tdt__agree_figures(const tdt__call *call, tdt__schedule *schedule, double *figures_ms,
                              tdt_error *error) {
  tdt_status status = agree_failed(call, schedule, error);
  if (status != TDT_OK) {
    return status;
  }
  tdt__schedule_figures(schedule, figures_ms);
  return tdt__greatest_find(call->talk, "the greatest of the figures", figures_ms,
                            TDT__SCHEDULE_FIGURES * tdt__schedule_size(schedule), error);
}

/* -- times and winner ----------------------------------------------------------------------------
 */

static bool has_time(const tdt__slate *slate, size_t candidate) {
  return slate->kept[candidate] && tdt__slate_known(slate, candidate)->outcome == TDT_OUTCOME_TIMED;
}

/* On the wire, and nowhere else, what has no time is infinite. */
static void put_times(const tdt__slate *slate, double *wire_ms) {
  for (size_t i = 0; i < slate->n; i++) {
    wire_ms[i] = has_time(slate, i) ? tdt__slate_known(slate, i)->time_ms : (double)INFINITY;
  }
}

/* A time that only the record had becomes this tuning's own before it is changed. */
static tdt_status take_time(tdt__slate *slate, size_t candidate, double wire_ms, tdt_error *error) {
  tdt__timing *timing = &slate->timings[candidate];
  if (!isfinite(wire_ms)) {
    return tdt__timing_set_failed(timing, "it has no time on another rank", error);
  }
  if (timing->outcome == TDT_OUTCOME_UNKNOWN) {
    tdt_status status = tdt__timing_copy(tdt__slate_known(slate, candidate), timing, error);
    if (status != TDT_OK) {
      return status;
    }
  }
  timing->time_ms = wire_ms;
  return TDT_OK;
}

static tdt_status take_times(tdt__slate *slate, const double *wire_ms, tdt_error *error) {
  for (size_t i = 0; i < slate->n; i++) {
    if (!has_time(slate, i)) {
      continue;
    }
    tdt_status status = take_time(slate, i, wire_ms[i], error);
    if (status != TDT_OK) {
      return status;
    }
  }
  return TDT_OK;
}

tdt_status tdt__agree_times(const tdt__call *call, tdt__slate *slate, tdt_error *error) {
  double *wire_ms = calloc(slate->n, sizeof *wire_ms);
  if (wire_ms == NULL) {
    return tdt__fail_memory(error);
  }
  tdt_status status = agree_measured(call, slate, error);
  if (status == TDT_OK) {
    put_times(slate, wire_ms);
    status = tdt__greatest_find(call->talk, "the greatest of the times", wire_ms, slate->n, error);
  }
  if (status == TDT_OK) {
    status = take_times(slate, wire_ms, error);
  }
  free(wire_ms);
  return status;
}

tdt_status tdt__agree_winner(const tdt__call *call, const tdt__slate *slate, size_t winner,
                             tdt_error *error) {
  double *wire_ms = calloc(slate->n, sizeof *wire_ms);
  if (wire_ms == NULL) {
    return tdt__fail_memory(error);
  }
  char digest[TDT_DIGEST_SIZE];
  tdt__text text = TDT__TEXT_INIT;
  put_times(slate, wire_ms);
  tdt_digest(wire_ms, slate->n * sizeof *wire_ms, digest);
  free(wire_ms);
  if (winner == TDT_NONE) {
    tdt__text_add(&text, "none");
  } else {
    tdt__text_format(&text, "[%zu] ", winner);
    tdt__text_add(&text, tdt_space_config(slate->space, winner));
  }
  char *shown = tdt__text_take(&text);
  if (shown == NULL) {
    return tdt__fail_memory(error);
  }
  const tdt__fact list[] = {{"winner", shown}, {"digest of all times", digest}};
  const tdt__round round = {.what = "the winner", .facts = {list, sizeof list / sizeof *list}};
  tdt_status status = tdt__round_hold(call->talk, &round, NULL, error);
  free(shown);
  return status;
}
