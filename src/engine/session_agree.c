/* SPDX-License-Identifier: MIT */
#include "engine/session_agree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "engine/failures.h"
#include "engine/session_log.h"
#include "engine/session_standing.h"
#include "group/greatest.h"
#include "group/patience.h"
#include "group/rounds.h"

enum { LONGEST_NAME = 128 }; /* of an outer function, in messages */

static bool is_alone(const tdt_session *session) {
  return session->group.n_ranks == 1;
}

/* -- the talk ------------------------------------------------------------------------------------
 */

tdt_status tdt__session_talk_begin(tdt_session *session, tdt_error *error) {
  tdt__talk *talk = &session->talk;
  if (is_alone(session)) {
    return TDT_OK;
  }
  while (!tdt__rounds_enter(session->group.rounds, TDT__SLICE_S)) {
    tdt_status status = session->poll == NULL ? TDT_OK : session->poll(session->user, error);
    if (status != TDT_OK) {
      return status;
    }
  }
  tdt__talk_begin(talk, &session->group);
  talk->log = &session->log;
  talk->who = session->who;
  talk->timeout_s = session->rank_timeout_s;
  talk->user = session->user;
  talk->poll = session->poll;
  return TDT_OK;
}

void tdt__session_talk_end(tdt_session *session, tdt_status status, const tdt_error *told) {
  if (is_alone(session)) {
    return;
  }
  if (status != TDT_OK) {
    tdt__talk_leave(&session->talk, tdt_error_text(told));
  }
  tdt__rounds_leave(session->group.rounds);
}

void tdt__session_talk_goes_on(tdt_session *session) {
  const size_t size = strlen(session->name);
  const size_t shown = tdt__utf8_prefix(session->name, size < LONGEST_NAME ? size : LONGEST_NAME);
  (void)snprintf(session->who, sizeof session->who, "%.*s, pass %lu", (int)shown, session->name,
                 session->n_passes);
}

void tdt__session_talk_is_over(tdt_session *session) {
  session->talk.over = true;
}

/* -- failures ------------------------------------------------------------------------------------
 */

/* Candidates of open sites are numbered through, alike on all ranks once the sites are. */
typedef tdt_status (*visit)(tdt_session *session, tdt__site *site, size_t candidate, size_t number,
                            json_t *failed, tdt_error *error);

static tdt_status visit_open(tdt_session *session, visit each, json_t *failed, tdt_error *error) {
  tdt_status status = TDT_OK;
  size_t number = 0;
  for (size_t i = 0; i < session->sites.n; i++) {
    tdt__site *site = session->sites.items[i];
    for (size_t at = 0; tdt__site_open(site) && at < site->n_trials; at++) {
      status = status == TDT_OK ? each(session, site, at, number, failed, error) : status;
      number++;
    }
  }
  return status;
}

static tdt_status list_failure(tdt_session *session, tdt__site *site, size_t candidate,
                               size_t number, json_t *failed, tdt_error *error) {
  const tdt__trial *trial = &site->trials[candidate];
  (void)session;
  if (!trial->failed_here || trial->dropped) {
    return TDT_OK;
  }
  return tdt__failures_add(failed, number, trial->timing.error, error);
}

static tdt_status drop_failed(tdt_session *session, tdt__site *site, size_t candidate,
                              size_t number, json_t *failed, tdt_error *error) {
  tdt__trial *trial = &site->trials[candidate];
  const char *reason = tdt__failures_reason(failed, number);
  if (reason == NULL) {
    return TDT_OK;
  }
  trial->dropped = true;
  if (!trial->failed_here) {
    tdt__session_log_dropped(session, site, candidate, reason);
  }
  return tdt__timing_set_failed(&trial->timing, reason, error);
}

static tdt_status drop_own(tdt_session *session, tdt__site *site, size_t candidate, size_t number,
                           json_t *failed, tdt_error *error) {
  (void)session;
  (void)number;
  (void)failed;
  (void)error;
  site->trials[candidate].dropped = site->trials[candidate].failed_here;
  return TDT_OK;
}

/* -- the round after a pass ----------------------------------------------------------------------
 */

static tdt_status hold(tdt_session *session, const tdt__standing *made, json_t *mine,
                       json_t **failed, tdt_error *error) {
  char pass[32];
  (void)snprintf(pass, sizeof pass, "%lu", session->n_passes);
  const tdt__fact facts[] = {
      {"pass", pass},
      {"plan", made->plan},
      {"kernels and keys being tuned", made->kernels},
      {"candidates", made->candidates},
      {"launches", made->launches},
  };
  return tdt__failures_agree(&session->talk, "launches",
                             &(tdt__facts){facts, sizeof facts / sizeof *facts}, mine,
                             TDT__FAILED_ON_ANY, failed, error);
}

static tdt_status agree_with_others(tdt_session *session, tdt_error *error) {
  tdt__standing made;
  json_t *mine = json_object();
  json_t *failed = NULL;
  const bool opened = tdt__standing_open(&made, session) && mine != NULL;
  tdt_status status = opened ? TDT_OK : tdt__fail_memory(error);
  if (status == TDT_OK) {
    status = visit_open(session, list_failure, mine, error);
  }
  if (status == TDT_OK) {
    status = hold(session, &made, mine, &failed, error);
  }
  if (status == TDT_OK) {
    status = visit_open(session, drop_failed, failed, error);
  }
  json_decref(failed);
  json_decref(mine);
  tdt__standing_close(&made);
  return status;
}

tdt_status tdt__session_agree_pass(tdt_session *session, tdt_error *error) {
  return is_alone(session) ? visit_open(session, drop_own, NULL, error)
                           : agree_with_others(session, error);
}

/* -- times ---------------------------------------------------------------------------------------
 */

static bool is_through(const tdt__site *site) {
  return tdt__site_open(site) && tdt__site_through(site);
}

static size_t count_through(const tdt_session *session) {
  size_t n = 0;
  for (size_t i = 0; i < session->sites.n; i++) {
    const tdt__site *site = session->sites.items[i];
    n += is_through(site) ? site->n_trials : 0;
  }
  return n;
}

/* On the wire, and nowhere else, a candidate that failed is infinite. */
static void put_times(const tdt_session *session, double *wire_ms) {
  for (size_t i = 0; i < session->sites.n; i++) {
    const tdt__site *site = session->sites.items[i];
    for (size_t at = 0; is_through(site) && at < site->n_trials; at++) {
      const tdt__trial *trial = &site->trials[at];
      *wire_ms++ = trial->dropped ? (double)INFINITY : trial->timing.time_ms;
    }
  }
}

static void take_times(tdt_session *session, const double *wire_ms) {
  for (size_t i = 0; i < session->sites.n; i++) {
    tdt__site *site = session->sites.items[i];
    for (size_t at = 0; is_through(site) && at < site->n_trials; at++, wire_ms++) {
      if (!site->trials[at].dropped) {
        site->trials[at].timing.time_ms = *wire_ms;
      }
    }
  }
}

tdt_status tdt__session_agree_times(tdt_session *session, tdt_error *error) {
  const size_t n = count_through(session);
  if (is_alone(session) || n == 0) {
    return TDT_OK;
  }
  double *wire_ms = calloc(n, sizeof *wire_ms);
  if (wire_ms == NULL) {
    return tdt__fail_memory(error);
  }
  put_times(session, wire_ms);
  char begun[TDT__REDUCTIONS_SIZE];
  const tdt__fact fact = tdt__greatest_fact(&session->talk, begun);
  const tdt__round all_measured = {.what = "comparing times", .facts = {&fact, 1}};
  tdt_status status = tdt__round_hold(&session->talk, &all_measured, NULL, error);
  if (status == TDT_OK) {
    status = tdt__greatest_find(&session->talk, "the greatest of the times", wire_ms, n, error);
  }
  if (status == TDT_OK) {
    take_times(session, wire_ms);
  }
  free(wire_ms);
  return status;
}

/* Who wins, and by which times. NULL: out of memory. */
static char *describe_winners(const tdt_session *session) {
  uint64_t times = 0;
  tdt__text text = TDT__TEXT_INIT;
  for (size_t i = 0; i < session->sites.n; i++) {
    const tdt__site *site = session->sites.items[i];
    if (!is_through(site)) {
      continue;
    }
    for (size_t at = 0; at < site->n_trials; at++) {
      const tdt__trial *trial = &site->trials[at];
      const double time_ms = trial->dropped ? (double)INFINITY : trial->timing.time_ms;
      const uint64_t chain[] = {times, tdt__hash(&time_ms, sizeof time_ms)};
      times = tdt__hash(chain, sizeof chain);
    }
    const size_t winner = tdt__site_fastest(site);
    if (winner == TDT_NONE) {
      tdt__text_add(&text, "none of ");
    } else {
      tdt__text_format(&text, "[%zu] of ", winner);
    }
    tdt__text_add(&text, site->kernel);
    tdt__text_add(&text, ", ");
  }
  tdt__text_format(&text, "by times %016llx", (unsigned long long)times);
  return tdt__text_take(&text);
}

tdt_status tdt__session_agree_winners(tdt_session *session, tdt_error *error) {
  if (is_alone(session) || count_through(session) == 0) {
    return TDT_OK;
  }
  char *winners = describe_winners(session);
  if (winners == NULL) {
    return tdt__fail_memory(error);
  }
  const tdt__fact fact = {"winners", winners};
  const tdt__round round = {.what = "the winners", .facts = {&fact, 1}};
  tdt_status status = tdt__round_hold(&session->talk, &round, NULL, error);
  free(winners);
  return status;
}
