/* SPDX-License-Identifier: MIT */
#ifndef TDTUNE_PLAN_H
#define TDTUNE_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include <tdtune/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How the timed runs of a candidate become the one figure that is compared. */
typedef enum tdt_statistic {
  TDT_STATISTIC_MEAN = 0,
  TDT_STATISTIC_MEDIAN = 1,
} tdt_statistic;

/*
 * How often each candidate runs. Plain data: copy it, change a field, hand it over.
 *
 * First every candidate is warmed up and timed `n_first` times. If the plan has something to decide
 * (`n_more` is not 0 and `n_first` below `n_most`), the candidates are then compared: those that
 * could still win are timed `n_more` times more each, one after another, and compared again, until
 * one of them is left, or all that are left have had `n_most`. Who was out may come back in, should
 * the others turn out slower than they seemed. The number of comparisons has a bound.
 *
 * A candidate could still win as long as it is behind the fastest by less than `margin` standard
 * errors of the difference. These come from the median absolute deviation of the samples, so that
 * some runs that were disturbed do not count; a candidate is believed to be as noisy as most of
 * them are if its own few samples happen to agree, and no quieter than `least_noise`.
 *
 * A plan that was made with an earlier version of this structure has nothing to decide.
 */
typedef struct tdt_plan {
  size_t size;       /* sizeof(tdt_plan) of the caller */
  const char *name;  /* stands in the record; static or kept alive by the caller */
  unsigned n_warmup; /* untimed runs before the timed ones; 0 is allowed */
  unsigned n_repeat; /* timed runs; at least 1, at most 100000 */
  tdt_statistic statistic;
  unsigned n_first;   /* timed runs of each before they are compared; 0 or more: n_repeat */
  unsigned n_more;    /* timed runs of each that could still win, between comparisons; 0: none */
  unsigned n_most;    /* most timed runs of one candidate; less than n_repeat: n_repeat */
  double margin;      /* standard errors; above 0 where there is something to decide */
  double least_noise; /* smallest standard deviation believed, relative to the time; 0 or more */
  double tie;         /* in the end the first of those behind the fastest by less than that many
                         standard errors wins; 0: the fastest does */
  bool hides_gaps;    /* timed runs are queued behind a delay, where the device can do that, so
                         that none of them waits for the host */
} tdt_plan;

/* The documented plan: 5 warm-ups, 10 timed runs, their mean. */
TDT_EXPORT tdt_plan tdt_plan_documented(void);

/* The quick one: 1 warm-up, 2 timed runs; then at most 10 of those that could still win; median.
 * Hides gaps. */
TDT_EXPORT tdt_plan tdt_plan_race(void);

/* The thorough one: 5 warm-ups, 10 timed runs, median; then those that lie within each other's
 * noise are timed again in turns, at most 100 times. Those that are still level then are called
 * equal, and the first of them wins. Hides gaps. */
TDT_EXPORT tdt_plan tdt_plan_careful(void);

#ifdef __cplusplus
}
#endif

#endif
