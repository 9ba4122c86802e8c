/* SPDX-License-Identifier: MIT */
#ifndef TDT_MODEL_TIMING_H
#define TDT_MODEL_TIMING_H

#include <stddef.h>

#include <tdtune/plan.h>
#include <tdtune/record.h>

/* What is known of one candidate: a value with its samples, or a reason. Never a magic number. */
typedef struct tdt__timing {
  tdt_outcome outcome;
  double time_ms;     /* if TIMED */
  double *samples_ms; /* owned; as many as were taken, also if it failed half-way */
  size_t n_samples;
  char *error; /* owned; if FAILED */
} tdt__timing;

#define TDT__TIMING_INIT                                                                           \
  { TDT_OUTCOME_UNKNOWN, 0.0, NULL, 0, NULL }

void tdt__timing_clear(tdt__timing *timing);

/* Each replaces what was there, or leaves it alone with TDT_ENOMEM. Not finite or negative samples
 * make it FAILED with a reason that says so. */
tdt_status tdt__timing_set_samples(tdt__timing *timing, const double *samples_ms, size_t n,
                                   tdt_statistic statistic, tdt_error *error);
tdt_status tdt__timing_set_failed(tdt__timing *timing, const char *reason, tdt_error *error);
void tdt__timing_set_pruned(tdt__timing *timing);

tdt_status tdt__timing_copy(const tdt__timing *from, tdt__timing *to, tdt_error *error);

#endif
