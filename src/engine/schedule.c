/* SPDX-License-Identifier: MIT */
#include "engine/schedule.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* One candidate's way through the plan. */
typedef struct lane {
  size_t candidate;
  bool warm;
  tdt__timing timing; /* UNKNOWN until it is through */
} lane;

struct tdt__schedule {
  unsigned n_warmup;
  unsigned n_repeat;
  tdt_statistic statistic;
  double *samples_ms; /* of the lane at hand, room for n_repeat */
  size_t n_samples;
  size_t at; /* the lane at hand; those before it are through */
  size_t n_lanes;
  lane lanes[];
};

tdt_status tdt__schedule_create(const tdt_plan *plan, const size_t *candidates, size_t n,
                                tdt__schedule **schedule, tdt_error *error) {
  if (n > (SIZE_MAX - sizeof(tdt__schedule)) / sizeof(lane)) {
    return tdt__fail_memory(error);
  }
  tdt__schedule *made = calloc(1, sizeof *made + n * sizeof(lane));
  if (made == NULL) {
    return tdt__fail_memory(error);
  }
  made->samples_ms = calloc(plan->n_repeat, sizeof *made->samples_ms);
  if (made->samples_ms == NULL) {
    free(made);
    return tdt__fail_memory(error);
  }
  made->n_warmup = plan->n_warmup;
  made->n_repeat = plan->n_repeat;
  made->statistic = plan->statistic;
  made->n_lanes = n;
  for (size_t i = 0; i < n; i++) {
    made->lanes[i] = (lane){candidates[i], plan->n_warmup == 0, TDT__TIMING_INIT};
  }
  *schedule = made;
  return TDT_OK;
}

void tdt__schedule_destroy(tdt__schedule *schedule) {
  if (schedule == NULL) {
    return;
  }
  for (size_t i = 0; i < schedule->n_lanes; i++) {
    tdt__timing_clear(&schedule->lanes[i].timing);
  }
  free(schedule->samples_ms);
  free(schedule);
}

/* The first of what is left of a lane: its warm-ups, if it still needs them. */
static tdt__step burst_of(const tdt__schedule *schedule, size_t position, bool warm,
                          size_t n_samples) {
  if (position == schedule->n_lanes) {
    return (tdt__step){TDT__STEP_DONE, position, TDT_NONE, 0};
  }
  size_t candidate = schedule->lanes[position].candidate;
  if (!warm) {
    return (tdt__step){TDT__STEP_WARMUP, position, candidate, schedule->n_warmup};
  }
  unsigned missing = schedule->n_repeat - (unsigned)n_samples;
  return (tdt__step){TDT__STEP_TIMED, position, candidate, missing};
}

/* Candidates one after another, each through all its runs. */
tdt__step tdt__schedule_next(const tdt__schedule *schedule) {
  bool warm = schedule->at < schedule->n_lanes && schedule->lanes[schedule->at].warm;
  return burst_of(schedule, schedule->at, warm, schedule->n_samples);
}

tdt__step tdt__schedule_after(const tdt__schedule *schedule, const tdt__step *step) {
  switch (step->kind) {
  case TDT__STEP_WARMUP:
    return burst_of(schedule, step->position, true, 0);
  case TDT__STEP_TIMED:
    return burst_of(schedule, step->position + 1, schedule->n_warmup == 0, 0);
  default:
    return *step;
  }
}

static void go_on(tdt__schedule *schedule) {
  schedule->n_samples = 0;
  schedule->at++;
}

static tdt_status give_samples(tdt__schedule *schedule, const double *samples_ms, size_t n,
                               tdt_error *error) {
  size_t n_samples = schedule->n_samples + n;
  memcpy(schedule->samples_ms + schedule->n_samples, samples_ms, n * sizeof *samples_ms);
  if (n_samples == schedule->n_repeat) {
    lane *here = &schedule->lanes[schedule->at];
    tdt_status status = tdt__timing_set_samples(&here->timing, schedule->samples_ms, n_samples,
                                                schedule->statistic, error);
    if (status != TDT_OK) {
      return status;
    }
    go_on(schedule);
    return TDT_OK;
  }
  schedule->n_samples = n_samples;
  return TDT_OK;
}

tdt_status tdt__schedule_give(tdt__schedule *schedule, const double *samples_ms, size_t n,
                              tdt_error *error) {
  tdt__step step = tdt__schedule_next(schedule);
  if (step.kind == TDT__STEP_WARMUP && n == 0) {
    schedule->lanes[step.position].warm = true;
    return TDT_OK;
  }
  if (step.kind == TDT__STEP_TIMED && n >= 1 && n <= step.n_runs) {
    return give_samples(schedule, samples_ms, n, error);
  }
  return tdt__fail(error, TDT_EINVAL, "the schedule did not ask for %zu samples", n);
}

tdt_status tdt__schedule_fail(tdt__schedule *schedule, const char *reason, tdt_error *error) {
  tdt__step step = tdt__schedule_next(schedule);
  if (step.kind == TDT__STEP_DONE) {
    return tdt__fail(error, TDT_EINVAL, "the schedule is at its end, nothing can fail");
  }
  tdt_status status = tdt__timing_set_failed(&schedule->lanes[step.position].timing, reason, error);
  if (status == TDT_OK) {
    go_on(schedule);
  }
  return status;
}

tdt_status tdt__schedule_reword(tdt__schedule *schedule, size_t position, const char *reason,
                                tdt_error *error) {
  return tdt__timing_set_failed(&schedule->lanes[position].timing, reason, error);
}

size_t tdt__schedule_size(const tdt__schedule *schedule) {
  return schedule->n_lanes;
}

const tdt__timing *tdt__schedule_timing(const tdt__schedule *schedule, size_t position) {
  return &schedule->lanes[position].timing;
}

void tdt__schedule_take(tdt__schedule *schedule, size_t position, tdt__timing *timing) {
  *timing = schedule->lanes[position].timing;
  schedule->lanes[position].timing = (tdt__timing)TDT__TIMING_INIT;
}
