/* SPDX-License-Identifier: MIT */
#ifndef TDTUNE_PLAN_H
#define TDTUNE_PLAN_H

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

/* How often each candidate runs. Plain data: copy it, change a field, hand it over. */
typedef struct tdt_plan {
  size_t size;       /* sizeof(tdt_plan) of the caller */
  const char *name;  /* stands in the record; static or kept alive by the caller */
  unsigned n_warmup; /* untimed runs before the timed ones; 0 is allowed */
  unsigned n_repeat; /* timed runs; at least 1, at most 100000 */
  tdt_statistic statistic;
} tdt_plan;

/* The documented plan: 5 warm-ups, 10 timed runs, their mean. */
TDT_EXPORT tdt_plan tdt_plan_documented(void);

#ifdef __cplusplus
}
#endif

#endif
