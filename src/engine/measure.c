/* SPDX-License-Identifier: MIT */
#include "engine/measure.h"

#include <stdlib.h>

#include "base/error.h"
#include "engine/agree.h"
#include "engine/burst.h"
#include "engine/callback.h"
#include "engine/plan.h"
#include "engine/turn.h"

typedef struct measurement {
  tdt__flight *flight;
  const tdt__call *call;
  tdt__schedule *schedule;
  tdt__journal *journal;
  tdt__burst burst;
  tdt_progress progress;
} measurement;

/* A device that cannot even be waited for after a failure is ruined. */
static tdt_status check_device(const measurement *m, const tdt__step *step, const tdt_error *reason,
                               tdt_error *error) {
  tdt_error told = TDT_ERROR_INIT;
  tdt_status status = tdt__burst_synchronize(&m->burst, &told);
  if (status == TDT_ESTOPPED) {
    return tdt__pass_on(status, &told, error);
  }
  if (status != TDT_OK) {
    status = tdt__fail(error, TDT_EDEVICE,
                       "%s: candidate [%zu] %s ruined the device %s: %s; and after that: %s",
                       m->call->identity.function.name, step->candidate,
                       tdt_space_config(m->call->tuner->space, step->candidate),
                       m->burst.device->id, tdt_error_text(reason),
                       told.code != TDT_OK ? tdt_error_text(&told) : tdt_status_text(status));
  }
  tdt_error_clear(&told);
  return status;
}

/* The candidate has failed with *reason. */
static tdt_status fail_candidate(const measurement *m, const tdt__step *step,
                                 const tdt_error *reason, tdt_error *error) {
  tdt_status status = tdt__schedule_fail(m->schedule, tdt_error_text(reason), error);
  if (status == TDT_OK) {
    status = check_device(m, step, reason, error);
  }
  return status;
}

/* Gives the schedule what the burst brought. */
static tdt_status settle_burst(const measurement *m, const tdt__step *step, tdt_status outcome,
                               tdt_error *reason, tdt_error *error) {
  if (outcome == TDT_ESTOPPED || m->burst.ended) {
    return tdt__pass_on(outcome, reason, error);
  }
  if (outcome != TDT_OK) {
    if (reason->code == TDT_OK) {
      (void)tdt__fail(reason, outcome, "%s", tdt_status_text(outcome));
    }
    return fail_candidate(m, step, reason, error);
  }
  size_t n_samples = step->kind == TDT__STEP_WARMUP ? 0 : step->n_runs;
  return tdt__schedule_give(m->schedule, m->burst.samples_ms, n_samples, error);
}

/* Whether a candidate came to its first figure, or to none, just now: later it has more samples. */
static bool is_first_news(const measurement *m, const tdt__timing *timing) {
  const size_t n_first = m->call->tuner->plan.n_first;
  return timing->n_samples < n_first ||
         (timing->n_samples == n_first && timing->outcome == TDT_OUTCOME_TIMED);
}

static void note_best(tdt_progress *progress, size_t candidate, const tdt__timing *timing) {
  if (timing->outcome == TDT_OUTCOME_TIMED &&
      (progress->best == TDT_NONE || timing->time_ms < progress->best_ms)) {
    progress->best = candidate;
    progress->best_ms = timing->time_ms;
  }
}

/* The best so far may have turned out slower than it seemed. */
static void find_best(measurement *m) {
  m->progress.best = TDT_NONE;
  for (size_t i = 0; i < tdt__schedule_size(m->schedule); i++) {
    note_best(&m->progress, tdt__schedule_candidate(m->schedule, i),
              tdt__schedule_timing(m->schedule, i));
  }
}

static void report(measurement *m, const tdt__step *step, const tdt__timing *timing) {
  tdt_progress *progress = &m->progress;
  progress->candidate = step->candidate;
  progress->outcome = timing->outcome;
  progress->time_ms = timing->time_ms;
  progress->error = timing->error;
  if (is_first_news(m, timing)) {
    progress->n_done++;
    note_best(progress, step->candidate, timing);
  } else {
    find_best(m);
  }
  tdt__journal_timing(m->journal, step->candidate, timing);
  tdt__call_progress(m->call, progress);
}

/* The candidate has had its warm-up or timed runs, or is not to have them. */
static void conclude(measurement *m, const tdt__step *step) {
  const tdt__timing *timing = tdt__schedule_timing(m->schedule, step->position);
  if (timing->outcome == TDT_OUTCOME_FAILED) {
    tdt__call_discard(m->call, step->candidate);
  }
  if (timing->outcome != TDT_OUTCOME_UNKNOWN) {
    report(m, step, timing);
  }
}

static tdt_status do_burst(measurement *m, const tdt__step *step, tdt_error *error) {
  tdt_error reason = TDT_ERROR_INIT;
  tdt__flight_set_in_hand(m->flight, step->candidate);
  tdt_status status = tdt__turn_take(m->flight, error);
  if (status != TDT_OK) {
    return status;
  }
  const tdt_status outcome = tdt__burst_run(&m->burst, step, &reason);
  status = settle_burst(m, step, outcome, &reason, error);
  tdt_error_clear(&reason);
  conclude(m, step);
  return status;
}

/* -- with other ranks ----------------------------------------------------------------------------
 */

/* A candidate that failed here in its warm-up still has a meeting before its timed runs, at which
 * the others are told; from there on all give the same reason. */
static tdt_status tell_failed(const measurement *m, const tdt__step *step, tdt_error *error) {
  const tdt__timing *timing = tdt__schedule_timing(m->schedule, step->position);
  tdt__step timed = *step;
  char *elsewhere;
  if (step->kind != TDT__STEP_WARMUP || timing->outcome != TDT_OUTCOME_FAILED) {
    return TDT_OK;
  }
  timed.kind = TDT__STEP_TIMED;
  tdt_status status = tdt__agree_burst(m->call, &timed, timing->error, &elsewhere, error);
  if (status == TDT_OK) {
    status = tdt__schedule_reword(m->schedule, step->position, elsewhere, error);
  }
  free(elsewhere);
  return status;
}

/* All ranks run the same candidate at the same time, and none that failed on one of them. */
static tdt_status meet_and_do_burst(measurement *m, const tdt__step *step, tdt_error *error) {
  char *elsewhere;
  tdt_status status = tdt__agree_burst(m->call, step, NULL, &elsewhere, error);
  if (status != TDT_OK) {
    return status;
  }
  if (elsewhere != NULL) {
    status = tdt__schedule_fail(m->schedule, elsewhere, error);
    free(elsewhere);
    conclude(m, step);
    return status;
  }
  status = do_burst(m, step, error);
  return status == TDT_OK ? tell_failed(m, step, error) : status;
}

/* -- all of it -----------------------------------------------------------------------------------
 */

/* Decides who is measured on, with the other ranks if there are any. */
static tdt_status compare(const measurement *m, tdt_error *error) {
  double *figures_ms =
      calloc(tdt__schedule_size(m->schedule), TDT__SCHEDULE_FIGURES * sizeof(double));
  tdt_status status = TDT_OK;
  if (figures_ms == NULL) {
    return tdt__fail_memory(error);
  }
  if (m->call->talk != NULL) {
    status = tdt__agree_figures(m->call, m->schedule, figures_ms, error);
  } else {
    tdt__schedule_figures(m->schedule, figures_ms);
  }
  if (status == TDT_OK) {
    status = tdt__schedule_compare(m->schedule, figures_ms, error);
  }
  free(figures_ms);
  return status;
}

static tdt_status take_step(measurement *m, const tdt__step *step, tdt_error *error) {
  if (step->kind == TDT__STEP_COMPARE) {
    return compare(m, error);
  }
  return m->call->talk != NULL ? meet_and_do_burst(m, step, error) : do_burst(m, step, error);
}

static tdt_status reserve_marks(const measurement *m, size_t n_runs, tdt_error *error) {
  tdt_error told = TDT_ERROR_INIT;
  tdt_status status = m->burst.device->table->reserve(m->burst.device->self, 2 * n_runs, &told);
  if (status != TDT_OK) {
    bool keep = status == TDT_ENOMEM || status == TDT_ESTOPPED;
    return tdt__pass_on(keep ? status : TDT_EDEVICE, &told, error);
  }
  tdt_error_clear(&told);
  return TDT_OK;
}

static tdt_status run_all(measurement *m, tdt_error *error) {
  tdt_status status = tdt__turn_take(m->flight, error);
  if (status == TDT_OK) {
    status = reserve_marks(m, tdt__plan_longest_burst(&m->call->tuner->plan), error);
  }
  if (status == TDT_OK) {
    tdt__call_progress(m->call, &m->progress);
  }
  while (status == TDT_OK) {
    tdt__step step = tdt__schedule_next(m->schedule);
    if (step.kind == TDT__STEP_DONE) {
      break;
    }
    status = take_step(m, &step, error);
  }
  tdt__turn_release(m->flight);
  return status;
}

tdt_status tdt__measure(tdt__flight *flight, const tdt__slate *slate, tdt__schedule *schedule,
                        tdt__journal *journal, tdt_error *error) {
  measurement m = {
      .flight = flight,
      .call = flight->call,
      .schedule = schedule,
      .journal = journal,
      .progress = {.n_candidates = tdt__schedule_size(schedule),
                   .candidate = TDT_NONE,
                   .best = TDT_NONE},
  };
  tdt_status status = tdt__burst_open(&m.burst, flight->call, slate, error);
  if (status != TDT_OK) {
    return status;
  }
  status = run_all(&m, error);
  tdt__burst_close(&m.burst);
  return status;
}
