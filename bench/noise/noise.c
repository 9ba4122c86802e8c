/* SPDX-License-Identifier: MIT */
#include "noise.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/plan.h"
#include "engine/schedule.h"

/* -- chance --------------------------------------------------------------------------------------
 */

/* SplitMix64. */
static uint64_t draw(uint64_t *state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* In [0, 1). */
static double draw_share(uint64_t *state) {
  return (double)(draw(state) >> 11) * 0x1p-53;
}

static double draw_normal(uint64_t *state) {
  const double radius = sqrt(-2.0 * log(1.0 - draw_share(state)));
  return radius * cos(6.283185307179586 * draw_share(state));
}

/* -- the world -----------------------------------------------------------------------------------
 */

typedef struct world {
  double true_ms[NOISE_CANDIDATES];
  uint64_t chance;
} world;

static void make_world(world *w, unsigned seed, unsigned repetition) {
  w->chance = ((uint64_t)seed << 32) + repetition;
  (void)draw(&w->chance);
  w->true_ms[0] = 1.0;
  w->true_ms[1] = 1.01;
  for (size_t i = 2; i < NOISE_CANDIDATES; i++) {
    w->true_ms[i] = 1.05 + 1.95 * draw_share(&w->chance);
  }
  for (size_t i = NOISE_CANDIDATES - 1; i > 0; i--) {
    const size_t other = (size_t)(draw_share(&w->chance) * (double)(i + 1));
    const double kept_ms = w->true_ms[i];
    w->true_ms[i] = w->true_ms[other];
    w->true_ms[other] = kept_ms;
  }
}

static double sample_ms(world *w, size_t candidate) {
  const double noise = 1.0 + 0.1 * draw_normal(&w->chance);
  const double disturbed = draw_share(&w->chance) < 0.05 ? 2.0 : 1.0;
  return w->true_ms[candidate] * fmax(noise, 0.1) * disturbed;
}

/* -- one tuning ----------------------------------------------------------------------------------
 */

static void must(tdt_status status) {
  if (status != TDT_OK) {
    (void)fprintf(stderr, "noise: %s\n", tdt_status_text(status));
    exit(1);
  }
}

static void compare(tdt__schedule *schedule) {
  double figures_ms[TDT__SCHEDULE_FIGURES * NOISE_CANDIDATES];
  tdt__schedule_figures(schedule, figures_ms);
  must(tdt__schedule_compare(schedule, figures_ms, NULL));
}

static void do_burst(world *w, tdt__schedule *schedule, const tdt__step *step) {
  double samples_ms[512];
  for (unsigned run = 0; step->kind == TDT__STEP_TIMED && run < step->n_runs; run++) {
    samples_ms[run] = sample_ms(w, step->candidate);
  }
  const size_t n = step->kind == TDT__STEP_TIMED ? step->n_runs : 0;
  must(tdt__schedule_give(schedule, samples_ms, n, NULL));
}

static void do_all(world *w, tdt__schedule *schedule, noise_result *sum) {
  for (;;) {
    const tdt__step step = tdt__schedule_next(schedule);
    if (step.kind == TDT__STEP_DONE) {
      return;
    }
    if (step.kind == TDT__STEP_COMPARE) {
      compare(schedule);
      continue;
    }
    sum->n_runs += step.n_runs;
    sum->cost += step.n_runs * w->true_ms[step.candidate];
    do_burst(w, schedule, &step);
  }
}

/* As tdt__select_winner(): the least time, or the first of those that are called equal to it. */
static size_t find_winner(const tdt__schedule *schedule) {
  size_t fastest = 0;
  for (size_t i = 1; i < NOISE_CANDIDATES; i++) {
    if (tdt__schedule_timing(schedule, i)->time_ms <
        tdt__schedule_timing(schedule, fastest)->time_ms) {
      fastest = i;
    }
  }
  for (size_t i = 0; tdt__schedule_level(schedule, fastest) && i < fastest; i++) {
    if (tdt__schedule_level(schedule, i)) {
      return i;
    }
  }
  return fastest;
}

static void tune(world *w, const tdt_plan *plan, noise_result *sum) {
  size_t candidates[NOISE_CANDIDATES];
  tdt__schedule *schedule;
  for (size_t i = 0; i < NOISE_CANDIDATES; i++) {
    candidates[i] = i;
  }
  must(tdt__schedule_create(plan, candidates, NOISE_CANDIDATES, &schedule, NULL));
  do_all(w, schedule, sum);
  const double regret = w->true_ms[find_winner(schedule)] - 1.0;
  tdt__schedule_destroy(schedule);
  sum->regret += regret;
  sum->worst = fmax(sum->worst, regret);
  sum->best += regret < 0.005 ? 1 : 0;
  sum->leaders += regret < 0.02 ? 1 : 0;
}

noise_result noise_try(const tdt_plan *plan, unsigned n_repetitions, unsigned seed) {
  noise_result sum = {0};
  tdt_plan full;
  must(tdt__plan_take(plan, &full, NULL));
  for (unsigned i = 0; i < n_repetitions; i++) {
    world w;
    make_world(&w, seed, i);
    tune(&w, &full, &sum);
  }
  const double n = n_repetitions;
  return (noise_result){sum.regret / n,  sum.worst,      sum.best / n,
                        sum.leaders / n, sum.n_runs / n, sum.cost / n};
}
