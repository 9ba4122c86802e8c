/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "base/error.h"
#include "engine/session.h"
#include "engine/session_agree.h"
#include "engine/session_log.h"
#include "engine/session_run.h"

/* -- what this rank saw --------------------------------------------------------------------------
 */

/* The time of one run. A device that gives none, or one that is none, makes the candidate fail. */
static tdt_status read_time(tdt_session *session, tdt__run *run, tdt_error *error) {
  const tdt_device *device = &session->device;
  tdt_error reason = TDT_ERROR_INIT;
  double ms = 0.0;
  tdt_status status =
      device->table->elapsed_ms(device->self, run->mark, run->mark + 1, &ms, &reason);
  if (status == TDT_OK && isfinite(ms) && ms >= 0.0) {
    tdt_error_clear(&reason);
    run->ms = ms;
    return tdt__site_add_sample(run->site, run->candidate, ms, error);
  }
  if (tdt__session_ends(status)) {
    (void)tdt__fail(error, status, "%s",
                    reason.code != TDT_OK ? tdt_error_text(&reason) : tdt_status_text(status));
    tdt_error_clear(&reason);
    return status;
  }
  if (status == TDT_OK) {
    status = tdt__fail(&reason, TDT_ELAUNCH, "timed run %u gave no usable time: %g ms",
                       run->slot.run, ms);
  }
  run->kind = TDT__RUN_FAILED;
  return tdt__session_fail_candidate(session, run->site, run->candidate, status, &reason, error);
}

static tdt_status read_times(tdt_session *session, tdt_error *error) {
  tdt_status status = TDT_OK;
  for (size_t i = 0; status == TDT_OK && i < session->n_runs; i++) {
    tdt__run *run = &session->runs[i];
    if (run->mark != TDT_NONE && !run->site->trials[run->candidate].failed_here) {
      status = read_time(session, run, error);
    }
  }
  return status;
}

static void log_runs(const tdt_session *session) {
  for (size_t i = 0; i < session->n_runs; i++) {
    tdt__session_log_run(session, &session->runs[i]);
  }
}

/* -- what follows from what all ranks saw --------------------------------------------------------
 */

/* Counts passes without progress; alike on all ranks, since slots are. */
static tdt_status count_idle(tdt_session *session, tdt_error *error) {
  const tdt__site *stalled = NULL;
  for (size_t i = 0; i < session->sites.n; i++) {
    tdt__site *site = session->sites.items[i];
    if (!tdt__site_open(site)) {
      continue;
    }
    site->n_idle = site->reached ? 0 : site->n_idle + 1;
    site->reached = false;
    if (site->n_idle >= session->n_idle_passes && stalled == NULL) {
      stalled = site;
    }
  }
  if (stalled == NULL) {
    return TDT_OK;
  }
  tdt__session_talk_is_over(session);
  return tdt__fail(error, TDT_ESTALLED,
                   "the outer function did not reach kernel %s, key %s, in %u passes in a row; it "
                   "did before, and candidate %zu of %zu is not measured yet",
                   stalled->kernel, stalled->key, session->n_idle_passes,
                   stalled->step.candidate + 1, stalled->n_trials);
}

static tdt_status catch_up(const tdt_session *session, tdt__site *site, tdt_error *error) {
  tdt_status status;
  bool more;
  do {
    size_t timed;
    status = tdt__site_catch_up(site, &more, &timed, error);
    if (status == TDT_OK && timed != TDT_NONE) {
      tdt__session_log_mean(session, site, timed);
    }
  } while (status == TDT_OK && more);
  return status;
}

static tdt_status catch_up_all(tdt_session *session, tdt_error *error) {
  tdt_status status = TDT_OK;
  for (size_t i = 0; i < session->sites.n; i++) {
    tdt__site *site = session->sites.items[i];
    if (!tdt__site_open(site)) {
      continue;
    }
    tdt__site_skip_dropped(site);
    if (status == TDT_OK) {
      status = catch_up(session, site, error);
    }
  }
  return status;
}

static void tell_decided(tdt_session *session, tdt__site *site) {
  tdt__session_log_best(session, site);
  if (session->decided != NULL) {
    tdt_session_tuning tuning;
    tdt__site_show(site, &tuning);
    session->decided(session->user, &tuning);
  }
}

/* Decides what can be, then refuses the first site of which nothing works. */
static tdt_status decide(tdt_session *session, tdt_error *error) {
  const tdt__site *hopeless = NULL;
  for (size_t i = 0; i < session->sites.n; i++) {
    tdt__site *site = session->sites.items[i];
    if (!tdt__site_open(site) || !tdt__site_through(site)) {
      continue;
    }
    size_t winner = tdt__site_fastest(site);
    if (winner == TDT_NONE) {
      hopeless = hopeless != NULL ? hopeless : site;
      continue;
    }
    tdt__site_decide(site, winner);
    tell_decided(session, site);
  }
  if (hopeless == NULL) {
    return TDT_OK;
  }
  tdt__session_talk_is_over(session);
  return tdt__site_refuse(hopeless, error);
}

/* A rank that fails by itself here is missed in the next round, where its note is. */
static tdt_status settle(tdt_session *session, tdt_error *error) {
  tdt_status status = catch_up_all(session, error);
  if (status == TDT_OK) {
    status = tdt__session_agree_times(session, error);
  }
  if (status == TDT_OK) {
    status = tdt__session_agree_winners(session, error);
  }
  return status == TDT_OK ? decide(session, error) : status;
}

tdt_status tdt__session_close_pass(tdt_session *session, tdt_status outcome, tdt_error *error) {
  tdt_status status = outcome;
  if (status == TDT_OK) {
    status = read_times(session, error);
  }
  log_runs(session);
  if (status == TDT_OK) {
    status = tdt__session_agree_pass(session, error);
  }
  if (status == TDT_OK) {
    status = count_idle(session, error);
  }
  return status == TDT_OK ? settle(session, error) : status;
}
