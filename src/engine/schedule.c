/* SPDX-License-Identifier: MIT */
#include "engine/schedule.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/stats.h"
#include "engine/plan.h"

/* One candidate's way through the plan. */
typedef struct lane {
  size_t candidate;
  bool warm;
  bool level;         /* with the fastest, by the last comparison */
  unsigned n_wanted;  /* timed runs it has after this round; no more than it has: it does not run */
  tdt__timing timing; /* UNKNOWN until it is through its first runs */
} lane;

struct tdt__schedule {
  tdt_plan plan;      /* but for its name */
  unsigned n_left;    /* comparisons before the last word is spoken; 0: it is */
  double *samples_ms; /* of the lane at hand, those of earlier rounds too; room for n_most */
  size_t n_samples;   /* of these */
  double *figures;    /* room for one of each lane; NULL where nothing is decided */
  size_t at;          /* the lane at hand; those before it are through with this round */
  size_t n_lanes;
  lane lanes[];
};

/* -- life ----------------------------------------------------------------------------------------
 */

/*
 * Comparisons there may be: enough that every candidate gets its most runs, and as many again for
 * those that come back in.
 */
static unsigned count_comparisons(const tdt_plan *plan) {
  if (!tdt__plan_decides(plan)) {
    return 0;
  }
  return 2 * ((plan->n_most - plan->n_first - 1) / plan->n_more + 1);
}

static bool allocate(tdt__schedule *schedule) {
  const tdt_plan *plan = &schedule->plan;
  schedule->samples_ms = calloc(plan->n_most, sizeof *schedule->samples_ms);
  if (tdt__plan_decides(plan) && schedule->n_lanes > 0) {
    schedule->figures = calloc(schedule->n_lanes, sizeof *schedule->figures);
  }
  return schedule->samples_ms != NULL && (schedule->figures != NULL || !tdt__plan_decides(plan));
}

tdt_status tdt__schedule_create(const tdt_plan *plan, const size_t *candidates, size_t n,
                                tdt__schedule **schedule, tdt_error *error) {
  if (n > (SIZE_MAX - sizeof(tdt__schedule)) / sizeof(lane)) {
    return tdt__fail_memory(error);
  }
  tdt__schedule *made = calloc(1, sizeof *made + n * sizeof(lane));
  if (made == NULL) {
    return tdt__fail_memory(error);
  }
  made->plan = *plan;
  made->plan.name = NULL;
  made->n_left = count_comparisons(plan);
  made->n_lanes = n;
  for (size_t i = 0; i < n; i++) {
    made->lanes[i] =
        (lane){candidates[i], plan->n_warmup == 0, false, plan->n_first, TDT__TIMING_INIT};
  }
  if (!allocate(made)) {
    tdt__schedule_destroy(made);
    return tdt__fail_memory(error);
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
  free(schedule->figures);
  free(schedule->samples_ms);
  free(schedule);
}

/* -- a round -------------------------------------------------------------------------------------
 */

/* The first of what is left of a lane: its warm-ups, if it still needs them. */
static tdt__step burst_of(const tdt__schedule *schedule, size_t position, bool warm,
                          size_t n_samples) {
  if (position == schedule->n_lanes) {
    const tdt__step_kind kind = schedule->n_left > 0 ? TDT__STEP_COMPARE : TDT__STEP_DONE;
    return (tdt__step){kind, position, TDT_NONE, 0};
  }
  const lane *here = &schedule->lanes[position];
  if (!warm) {
    return (tdt__step){TDT__STEP_WARMUP, position, here->candidate, schedule->plan.n_warmup};
  }
  unsigned missing = here->n_wanted - (unsigned)n_samples;
  return (tdt__step){TDT__STEP_TIMED, position, here->candidate, missing};
}

/* Candidates one after another, each through all its runs of this round. */
tdt__step tdt__schedule_next(const tdt__schedule *schedule) {
  bool warm = schedule->at < schedule->n_lanes && schedule->lanes[schedule->at].warm;
  return burst_of(schedule, schedule->at, warm, schedule->n_samples);
}

tdt__step tdt__schedule_after(const tdt__schedule *schedule, const tdt__step *step) {
  switch (step->kind) {
  case TDT__STEP_WARMUP:
    return burst_of(schedule, step->position, true, 0);
  case TDT__STEP_TIMED:
    return burst_of(schedule, step->position + 1, schedule->plan.n_warmup == 0, 0);
  default:
    return *step;
  }
}

static bool runs(const lane *one) {
  return one->timing.outcome != TDT_OUTCOME_FAILED && one->n_wanted > one->timing.n_samples;
}

/* The lane at or after `position` that runs in this round becomes the one at hand. */
static void go_to(tdt__schedule *schedule, size_t position) {
  while (position < schedule->n_lanes && !runs(&schedule->lanes[position])) {
    position++;
  }
  schedule->at = position;
  schedule->n_samples = 0;
  if (position < schedule->n_lanes) {
    const tdt__timing *known = &schedule->lanes[position].timing;
    schedule->n_samples = known->n_samples;
    if (known->n_samples > 0) {
      memcpy(schedule->samples_ms, known->samples_ms, known->n_samples * sizeof(double));
    }
  }
}

static tdt_status give_samples(tdt__schedule *schedule, const double *samples_ms, size_t n,
                               tdt_error *error) {
  size_t n_samples = schedule->n_samples + n;
  lane *here = &schedule->lanes[schedule->at];
  memcpy(schedule->samples_ms + schedule->n_samples, samples_ms, n * sizeof *samples_ms);
  if (n_samples == here->n_wanted) {
    tdt_status status = tdt__timing_set_samples(&here->timing, schedule->samples_ms, n_samples,
                                                schedule->plan.statistic, error);
    if (status != TDT_OK) {
      return status;
    }
    go_to(schedule, schedule->at + 1);
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
  if (step.position == schedule->n_lanes) {
    return tdt__fail(error, TDT_EINVAL, "no candidate is to run, none can fail");
  }
  tdt_status status = tdt__timing_set_failed(&schedule->lanes[step.position].timing, reason, error);
  if (status == TDT_OK) {
    go_to(schedule, schedule->at + 1);
  }
  return status;
}

tdt_status tdt__schedule_reword(tdt__schedule *schedule, size_t position, const char *reason,
                                tdt_error *error) {
  return tdt__timing_set_failed(&schedule->lanes[position].timing, reason, error);
}

/* -- comparing -----------------------------------------------------------------------------------
 */

void tdt__schedule_figures(tdt__schedule *schedule, double *figures_ms) {
  for (size_t i = 0; i < schedule->n_lanes; i++) {
    const tdt__timing *timing = &schedule->lanes[i].timing;
    double *figures = &figures_ms[TDT__SCHEDULE_FIGURES * i];
    figures[0] = (double)INFINITY;
    figures[1] = (double)INFINITY;
    if (timing->outcome == TDT_OUTCOME_TIMED) {
      figures[0] = timing->time_ms;
      figures[1] = tdt__scatter(timing->samples_ms, timing->n_samples, schedule->samples_ms);
    }
  }
}

/* What ranks gave one another is looked at as such, not at what this one has. */
static bool takes_part(const tdt__schedule *schedule, const double *figures_ms, size_t position) {
  return schedule->lanes[position].timing.outcome == TDT_OUTCOME_TIMED &&
         isfinite(figures_ms[TDT__SCHEDULE_FIGURES * position]) &&
         isfinite(figures_ms[TDT__SCHEDULE_FIGURES * position + 1]);
}

/* Noise of each lane relative to its time, and what most of them have at least. */
static double find_usual_noise(tdt__schedule *schedule, const double *figures_ms) {
  size_t n = 0;
  for (size_t i = 0; i < schedule->n_lanes; i++) {
    const double *figures = &figures_ms[TDT__SCHEDULE_FIGURES * i];
    if (takes_part(schedule, figures_ms, i) && figures[0] > 0.0) {
      schedule->figures[n++] = figures[1] / figures[0];
    }
  }
  const double usual = n > 0 ? tdt__median_of(schedule->figures, n) : 0.0;
  return fmax(usual, schedule->plan.least_noise);
}

static size_t find_fastest(const tdt__schedule *schedule, const double *figures_ms) {
  size_t fastest = TDT_NONE;
  for (size_t i = 0; i < schedule->n_lanes; i++) {
    if (takes_part(schedule, figures_ms, i) &&
        (fastest == TDT_NONE ||
         figures_ms[TDT__SCHEDULE_FIGURES * i] < figures_ms[TDT__SCHEDULE_FIGURES * fastest])) {
      fastest = i;
    }
  }
  return fastest;
}

/* Standard error of a lane's time. That of a median is 1.25 times that of a mean. */
static double error_ms(const tdt__schedule *schedule, const double *figures_ms, size_t position,
                       double usual_noise) {
  const double *figures = &figures_ms[TDT__SCHEDULE_FIGURES * position];
  const double noise_ms = fmax(figures[1], usual_noise * figures[0]);
  return 1.2533 * noise_ms / sqrt((double)schedule->lanes[position].timing.n_samples);
}

/* By how many standard errors of the difference each lane is behind the fastest; infinitely many
 * where it has no time. */
static void find_distances(tdt__schedule *schedule, const double *figures_ms) {
  const size_t fastest = find_fastest(schedule, figures_ms);
  const double usual = find_usual_noise(schedule, figures_ms);
  for (size_t i = 0; i < schedule->n_lanes; i++) {
    if (!takes_part(schedule, figures_ms, i)) {
      schedule->figures[i] = (double)INFINITY;
      continue;
    }
    const double behind_ms =
        figures_ms[TDT__SCHEDULE_FIGURES * i] - figures_ms[TDT__SCHEDULE_FIGURES * fastest];
    const double by_ms = hypot(error_ms(schedule, figures_ms, i, usual),
                               error_ms(schedule, figures_ms, fastest, usual));
    schedule->figures[i] = behind_ms > 0.0 ? behind_ms / by_ms : 0.0;
  }
}

/* Whoever could still win gets more runs, if anybody else could, too. */
static bool want_more(tdt__schedule *schedule) {
  const tdt_plan *plan = &schedule->plan;
  size_t n_left = 0;
  bool wanted = false;
  for (size_t i = 0; i < schedule->n_lanes; i++) {
    n_left += schedule->figures[i] < plan->margin ? 1 : 0;
  }
  for (size_t i = 0; n_left > 1 && i < schedule->n_lanes; i++) {
    lane *one = &schedule->lanes[i];
    const unsigned has = (unsigned)one->timing.n_samples;
    if (schedule->figures[i] < plan->margin && has < plan->n_most) {
      one->n_wanted = plan->n_most - has > plan->n_more ? has + plan->n_more : plan->n_most;
      wanted = true;
    }
  }
  return wanted;
}

tdt_status tdt__schedule_compare(tdt__schedule *schedule, const double *figures_ms,
                                 tdt_error *error) {
  if (tdt__schedule_next(schedule).kind != TDT__STEP_COMPARE) {
    return tdt__fail(error, TDT_EINVAL, "the schedule did not ask for a comparison");
  }
  find_distances(schedule, figures_ms);
  for (size_t i = 0; i < schedule->n_lanes; i++) {
    schedule->lanes[i].level = schedule->figures[i] < schedule->plan.tie;
  }
  schedule->n_left--;
  if (schedule->n_left > 0 && want_more(schedule)) {
    go_to(schedule, 0);
  } else {
    schedule->n_left = 0;
  }
  return TDT_OK;
}

bool tdt__schedule_level(const tdt__schedule *schedule, size_t position) {
  return schedule->lanes[position].level;
}

/* -- what is known -------------------------------------------------------------------------------
 */

size_t tdt__schedule_size(const tdt__schedule *schedule) {
  return schedule->n_lanes;
}

size_t tdt__schedule_candidate(const tdt__schedule *schedule, size_t position) {
  return schedule->lanes[position].candidate;
}

const tdt__timing *tdt__schedule_timing(const tdt__schedule *schedule, size_t position) {
  return &schedule->lanes[position].timing;
}

void tdt__schedule_take(tdt__schedule *schedule, size_t position, tdt__timing *timing) {
  *timing = schedule->lanes[position].timing;
  schedule->lanes[position].timing = (tdt__timing)TDT__TIMING_INIT;
}
