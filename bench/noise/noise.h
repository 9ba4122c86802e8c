/* SPDX-License-Identifier: MIT */
#ifndef TDT_BENCH_NOISE_H
#define TDT_BENCH_NOISE_H

#include <tdtune/plan.h>

/*
 * How well a plan chooses among candidates whose times are known, and how much it runs for that:
 * scripted noise over the schedule that the engine uses, so the same numbers on every machine.
 *
 * The world: 64 candidates in an order of their own in every repetition. Two are the fastest, 1 %
 * apart; the others are 5 % to 3 times slower than the best. Every run's time has 10 % of normal
 * noise, and 5 % of the runs take twice as long.
 */
enum { NOISE_CANDIDATES = 64 };

typedef struct noise_result {
  double regret;  /* mean over the repetitions: how much slower the chosen one is than the best */
  double worst;   /* the greatest of them */
  double best;    /* share of the repetitions in which the best was chosen */
  double leaders; /* share in which one of the two leaders was */
  double n_runs;  /* mean, with warm-ups */
  double cost;    /* mean sum of the candidates' true times over all runs, of the best one's time */
} noise_result;

/* What `n_repetitions` tunings came to. The same seed is the same worlds and samples of noise. Ends
 * the program where there is no memory. */
noise_result noise_try(const tdt_plan *plan, unsigned n_repetitions, unsigned seed);

#endif
