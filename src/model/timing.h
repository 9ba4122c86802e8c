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
  double *samples_ms; /* owned, all finite; as many as were taken, also if it failed half-way */
  size_t n_samples;
  char *error; /* owned, UTF-8; if FAILED */
} tdt__timing;

#define TDT__TIMING_INIT                                                                           \
  { TDT_OUTCOME_UNKNOWN, 0.0, NULL, 0, NULL }

void tdt__timing_clear(tdt__timing *timing);

/* Replaces what was there, or leaves it alone with TDT_ENOMEM. A sample that is not finite or
 * negative makes it FAILED with a reason that says so; the samples before that one stay. So does
 * having no sample at all. */
tdt_status tdt__timing_set_samples(tdt__timing *timing, const double *samples_ms, size_t n,
                                   tdt_statistic statistic, tdt_error *error);

/* FAILED with a copy of `reason`, in which bytes that are no UTF-8 become "?". Samples taken so far
 * stay. TDT_ENOMEM leaves all as it was. */
tdt_status tdt__timing_set_failed(tdt__timing *timing, const char *reason, tdt_error *error);

/* PRUNED, and nothing else. */
void tdt__timing_set_pruned(tdt__timing *timing);

/* Replaces what `to` had; TDT_ENOMEM leaves it alone. */
tdt_status tdt__timing_copy(const tdt__timing *from, tdt__timing *to, tdt_error *error);

#endif
