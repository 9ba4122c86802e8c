/* SPDX-License-Identifier: MIT */
#include "model/timing.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/stats.h"
#include "base/utf8.h"

void tdt__timing_clear(tdt__timing *timing) {
  free(timing->samples_ms);
  free(timing->error);
  *timing = (tdt__timing)TDT__TIMING_INIT;
}

static void replace(tdt__timing *timing, tdt__timing fresh) {
  tdt__timing_clear(timing);
  *timing = fresh;
}

/* NULL for n = 0 as well, which is no failure. */
static double *copy_samples(const double *samples_ms, size_t n) {
  if (n == 0 || n > SIZE_MAX / sizeof *samples_ms) {
    return NULL;
  }
  double *copy = malloc(n * sizeof *copy);
  if (copy != NULL) {
    memcpy(copy, samples_ms, n * sizeof *copy);
  }
  return copy;
}

/* How many samples there are before the first that cannot be a time. */
static size_t count_usable(const double *samples_ms, size_t n) {
  size_t usable = 0;
  while (usable < n && isfinite(samples_ms[usable]) && samples_ms[usable] >= 0.0) {
    usable++;
  }
  return usable;
}

static bool combine(tdt__timing *timing, tdt_statistic statistic) {
  if (statistic == TDT_STATISTIC_MEAN) {
    timing->time_ms = tdt__mean(timing->samples_ms, timing->n_samples);
    return true;
  }
  double *scratch = copy_samples(timing->samples_ms, timing->n_samples);
  if (scratch == NULL) {
    return false;
  }
  timing->time_ms = tdt__median(timing->samples_ms, timing->n_samples, scratch);
  free(scratch);
  return true;
}

/* The reason why samples that are not all usable, or none, are no timing. */
static char *describe(const double *samples_ms, size_t usable, size_t n) {
  char reason[128];
  if (n == 0) {
    (void)snprintf(reason, sizeof reason, "no timed run");
  } else {
    (void)snprintf(reason, sizeof reason, "timed run %zu of %zu gave no usable time: %g ms",
                   usable + 1, n, samples_ms[usable]);
  }
  return strdup(reason);
}

static bool judge(tdt__timing *timing, const double *samples_ms, size_t n,
                  tdt_statistic statistic) {
  if (timing->n_samples == n && n > 0) {
    timing->outcome = TDT_OUTCOME_TIMED;
    return combine(timing, statistic);
  }
  timing->outcome = TDT_OUTCOME_FAILED;
  timing->error = describe(samples_ms, timing->n_samples, n);
  return timing->error != NULL;
}

tdt_status tdt__timing_set_samples(tdt__timing *timing, const double *samples_ms, size_t n,
                                   tdt_statistic statistic, tdt_error *error) {
  tdt__timing fresh = TDT__TIMING_INIT;
  fresh.n_samples = count_usable(samples_ms, n);
  fresh.samples_ms = copy_samples(samples_ms, fresh.n_samples);
  if ((fresh.samples_ms == NULL && fresh.n_samples > 0) ||
      !judge(&fresh, samples_ms, n, statistic)) {
    tdt__timing_clear(&fresh);
    return tdt__fail_memory(error);
  }
  replace(timing, fresh);
  return TDT_OK;
}

tdt_status tdt__timing_set_failed(tdt__timing *timing, const char *reason, tdt_error *error) {
  char *copy = tdt__utf8_copy(reason);
  if (copy == NULL) {
    return tdt__fail_memory(error);
  }
  free(timing->error);
  timing->error = copy;
  timing->outcome = TDT_OUTCOME_FAILED;
  timing->time_ms = 0.0;
  return TDT_OK;
}

void tdt__timing_set_pruned(tdt__timing *timing) {
  tdt__timing_clear(timing);
  timing->outcome = TDT_OUTCOME_PRUNED;
}

tdt_status tdt__timing_copy(const tdt__timing *from, tdt__timing *to, tdt_error *error) {
  tdt__timing fresh = *from;
  fresh.samples_ms = copy_samples(from->samples_ms, from->n_samples);
  fresh.error = from->error != NULL ? strdup(from->error) : NULL;
  if ((fresh.samples_ms == NULL && from->n_samples > 0) ||
      (fresh.error == NULL && from->error != NULL)) {
    tdt__timing_clear(&fresh);
    return tdt__fail_memory(error);
  }
  replace(to, fresh);
  return TDT_OK;
}
