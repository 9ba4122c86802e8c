/* SPDX-License-Identifier: MIT */
#include "engine/measure.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "engine/agree.h"
#include "engine/callback.h"
#include "engine/plan.h"
#include "engine/prepare.h"
#include "engine/turn.h"
#include "group/talk.h"

typedef struct measurement {
  tdt__flight *flight;
  const tdt__call *call;
  const tdt_device *device;
  tdt__schedule *schedule;
  tdt__journal *journal;
  const tdt__slate *slate; /* whose queue it measures */
  double *samples_ms;      /* of one burst */
  unsigned n_begun;        /* runs of it */
  bool launched;           /* a candidate ran, and the others were anticipated after it */
  bool ended;              /* poll() said so while they were */
  bool delays;             /* the gaps between launches are hidden behind a delay */
  double launch_ms;        /* what the host needs for one run, by the last burst */
  tdt_progress progress;
} measurement;

static tdt_status synchronize(const measurement *m, tdt_error *reason) {
  return m->device->table->synchronize(m->device->self, reason);
}

/* A candidate has run, and nothing is being timed. */
static tdt_status anticipate_rest(measurement *m, const tdt__step *step, tdt_error *error) {
  if (m->launched) {
    return TDT_OK;
  }
  m->launched = true;
  tdt_status status = tdt__anticipate(m->call, m->slate->queue + step->position,
                                      m->slate->n_queued - step->position, step->candidate, error);
  m->ended = status != TDT_OK;
  return status;
}

/* What the candidate made in its first warm-up. */
static tdt_status check_result(const measurement *m, size_t candidate, tdt_error *reason) {
  if (m->call->request.check == NULL) {
    return TDT_OK;
  }
  tdt_status status = synchronize(m, reason);
  return status == TDT_OK ? tdt__call_check(m->call, candidate, reason) : status;
}

static tdt_status launch_once(measurement *m, size_t candidate, tdt_error *reason) {
  const uint64_t start_ns = m->delays ? tdt__clock_ns() : 0;
  m->n_begun++;
  tdt_status status = tdt__call_before(m->call, candidate, reason);
  if (status == TDT_OK) {
    status = tdt__call_launch(m->call, candidate, reason);
  }
  if (m->delays) {
    m->launch_ms = (double)(tdt__clock_ns() - start_ns) / 1e6;
  }
  return status;
}

static tdt_status warm_up(measurement *m, const tdt__step *step, tdt_error *reason) {
  for (unsigned run = 0; run < step->n_runs; run++) {
    tdt_status status = launch_once(m, step->candidate, reason);
    if (status == TDT_OK) {
      status = anticipate_rest(m, step, reason);
    }
    if (status == TDT_OK && run == 0) {
      status = check_result(m, step->candidate, reason);
    }
    if (status != TDT_OK) {
      return status;
    }
  }
  return synchronize(m, reason);
}

static tdt_status queue_run(measurement *m, size_t candidate, size_t run, tdt_error *reason) {
  const tdt_device_table *table = m->device->table;
  m->n_begun++;
  tdt_status status = tdt__call_before(m->call, candidate, reason);
  if (status == TDT_OK) {
    status = table->mark(m->device->self, 2 * run, reason);
  }
  if (status == TDT_OK) {
    status = tdt__call_launch(m->call, candidate, reason);
  }
  if (status == TDT_OK) {
    status = table->mark(m->device->self, 2 * run + 1, reason);
  }
  return status;
}

/* Keeps the device busy until all runs of the burst are queued. One that cannot is not asked again.
 */
static tdt_status hide_gaps(measurement *m, unsigned n_runs, tdt_error *reason) {
  const double most_ms = 10.0;
  const double needed_ms = 1.5 * n_runs * m->launch_ms + 0.05;
  const double ms = needed_ms < most_ms ? needed_ms : most_ms;
  tdt_status status = m->device->table->delay(m->device->self, ms, reason);
  if (status != TDT_OK && status != TDT_ESTOPPED && status != TDT_ENOMEM) {
    tdt_error_clear(reason);
    m->delays = false;
    return TDT_OK;
  }
  return status;
}

static tdt_status queue_burst(measurement *m, const tdt__step *step, tdt_error *reason) {
  tdt_status status = m->delays ? hide_gaps(m, step->n_runs, reason) : TDT_OK;
  const uint64_t start_ns = m->delays ? tdt__clock_ns() : 0;
  for (size_t run = 0; status == TDT_OK && run < step->n_runs; run++) {
    status = queue_run(m, step->candidate, run, reason);
  }
  if (m->delays) {
    m->launch_ms = (double)(tdt__clock_ns() - start_ns) / 1e6 / step->n_runs;
  }
  return status;
}

static tdt_status run_timed(measurement *m, const tdt__step *step, tdt_error *reason) {
  tdt_status status = queue_burst(m, step, reason);
  for (size_t run = 0; status == TDT_OK && run < step->n_runs; run++) {
    status = m->device->table->elapsed_ms(m->device->self, 2 * run, 2 * run + 1,
                                          &m->samples_ms[run], reason);
  }
  return status;
}

/* Does the burst on the device; *reason says why it failed. */
static tdt_status run_burst(measurement *m, const tdt__step *step, tdt_error *reason) {
  m->n_begun = 0;
  if (step->kind == TDT__STEP_WARMUP) {
    return warm_up(m, step, reason);
  }
  tdt_status status = run_timed(m, step, reason);
  return status == TDT_OK ? anticipate_rest(m, step, reason) : status;
}

/*
 * The burst failed here after some runs. Other ranks may be in the middle of the runs that are
 * left, and in communication with this one: it does these as well, whatever comes of them. Only a
 * stop is news.
 */
static tdt_status keep_step(measurement *m, const tdt__step *step, tdt_status outcome,
                            tdt_error *reason) {
  tdt_error told = TDT_ERROR_INIT;
  tdt_status status = TDT_OK;
  while (status != TDT_ESTOPPED && m->n_begun < step->n_runs && tdt__talk_stands(m->call->talk)) {
    tdt_error_clear(&told);
    status = launch_once(m, step->candidate, &told);
  }
  if (status == TDT_ESTOPPED) {
    tdt_error_clear(reason);
    return tdt__pass_on(status, &told, reason);
  }
  tdt_error_clear(&told);
  return outcome;
}

/* A device that cannot even be waited for after a failure is ruined. */
static tdt_status check_device(const measurement *m, const tdt__step *step, const tdt_error *reason,
                               tdt_error *error) {
  tdt_error told = TDT_ERROR_INIT;
  tdt_status status = synchronize(m, &told);
  if (status == TDT_ESTOPPED) {
    return tdt__pass_on(status, &told, error);
  }
  if (status != TDT_OK) {
    status = tdt__fail(error, TDT_EDEVICE,
                       "%s: candidate [%zu] %s ruined the device %s: %s; and after that: %s",
                       m->call->identity.function.name, step->candidate,
                       tdt_space_config(m->call->tuner->space, step->candidate), m->device->id,
                       tdt_error_text(reason),
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
  if (outcome == TDT_ESTOPPED || m->ended) {
    return tdt__pass_on(outcome, reason, error);
  }
  if (outcome != TDT_OK) {
    if (reason->code == TDT_OK) {
      (void)tdt__fail(reason, outcome, "%s", tdt_status_text(outcome));
    }
    return fail_candidate(m, step, reason, error);
  }
  size_t n_samples = step->kind == TDT__STEP_WARMUP ? 0 : step->n_runs;
  return tdt__schedule_give(m->schedule, m->samples_ms, n_samples, error);
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
  tdt_status outcome = run_burst(m, step, &reason);
  if (outcome != TDT_OK && outcome != TDT_ESTOPPED && m->call->talk != NULL) {
    outcome = keep_step(m, step, outcome, &reason);
  }
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
  tdt_status status = m->device->table->reserve(m->device->self, 2 * n_runs, &told);
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

static bool can_delay(const tdt_device_table *table) {
  return table->size >= offsetof(tdt_device_table, delay) + sizeof table->delay &&
         table->delay != NULL;
}

tdt_status tdt__measure(tdt__flight *flight, const tdt__slate *slate, tdt__schedule *schedule,
                        tdt__journal *journal, tdt_error *error) {
  measurement m = {
      .flight = flight,
      .call = flight->call,
      .device = &flight->call->device,
      .slate = slate,
      .schedule = schedule,
      .journal = journal,
      .samples_ms = calloc(tdt__plan_longest_burst(&flight->call->tuner->plan), sizeof(double)),
      .delays = flight->call->tuner->plan.hides_gaps && can_delay(flight->call->device.table),
      .progress = {.n_candidates = tdt__schedule_size(schedule),
                   .candidate = TDT_NONE,
                   .best = TDT_NONE},
  };
  if (m.samples_ms == NULL) {
    return tdt__fail_memory(error);
  }
  tdt_status status = run_all(&m, error);
  free(m.samples_ms);
  return status;
}
