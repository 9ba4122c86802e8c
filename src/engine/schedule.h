/* SPDX-License-Identifier: MIT */
#ifndef TDT_ENGINE_SCHEDULE_H
#define TDT_ENGINE_SCHEDULE_H

#include <stdbool.h>

#include "model/timing.h"

/*
 * Which candidate runs next, and how often: a state machine that knows no device and no clock. A
 * driver asks for the next burst, does it, and gives back what it measured or why it failed.
 *
 * Where the plan has something to decide, the driver is asked to compare between rounds of bursts:
 * it hands over the figures by which that is done. Alone these are the schedule's own; several
 * ranks first make them the same for all, and so measure the same on.
 */
typedef struct tdt__schedule tdt__schedule;

typedef enum tdt__step_kind {
  TDT__STEP_WARMUP,  /* run without timing, then give no sample */
  TDT__STEP_TIMED,   /* run and give a sample each */
  TDT__STEP_COMPARE, /* compare; no candidate runs */
  TDT__STEP_DONE,    /* nothing is left to do */
} tdt__step_kind;

typedef struct tdt__step {
  tdt__step_kind kind;
  size_t position;  /* among the candidates of the schedule */
  size_t candidate; /* what the caller calls it */
  unsigned n_runs;
} tdt__step;

/* For `n` >= 1 candidates in this order. `candidates` and the plan's figures are copied; the plan
 * is one that tdt__plan_take() made. */
tdt_status tdt__schedule_create(const tdt_plan *plan, const size_t *candidates, size_t n,
                                tdt__schedule **schedule, tdt_error *error);
void tdt__schedule_destroy(tdt__schedule *schedule);

/* The next burst; the same one until something is given back for it. */
tdt__step tdt__schedule_next(const tdt__schedule *schedule);

/* The burst that follows `step` if its candidate does not fail, for a driver that must begin it
 * before it knows the outcome. DONE follows DONE. For plans that have nothing to decide. */
tdt__step tdt__schedule_after(const tdt__schedule *schedule, const tdt__step *step);

/*
 * The burst's outcome: no sample for a warm-up; for timed runs 1 to n_runs samples, and what is
 * missing is asked for again, so that a driver may do a burst in pieces. TDT_EINVAL for any other
 * number or when nothing is left to do, TDT_ENOMEM; the schedule then stands where it stood.
 */
tdt_status tdt__schedule_give(tdt__schedule *schedule, const double *samples_ms, size_t n,
                              tdt_error *error);

/* The burst's candidate cannot run; it is not asked for again. Statuses as above. */
tdt_status tdt__schedule_fail(tdt__schedule *schedule, const char *reason, tdt_error *error);

/* The candidate at `position` has failed, on another rank or for another reason than was given; it
 * may be none that is to run again in this round. TDT_ENOMEM. */
tdt_status tdt__schedule_reword(tdt__schedule *schedule, size_t position, const char *reason,
                                tdt_error *error);

/* What a comparison goes by: two figures for each candidate, its time and its noise (a standard
 * deviation), in ms. Infinite where it has no time. */
enum { TDT__SCHEDULE_FIGURES = 2 };
void tdt__schedule_figures(tdt__schedule *schedule, double *figures_ms);

/* Decides who is measured on. TDT_EINVAL where no comparison was asked for. */
tdt_status tdt__schedule_compare(tdt__schedule *schedule, const double *figures_ms,
                                 tdt_error *error);

/* Whether the candidate at `position` was called equal to the fastest by the last comparison. */
bool tdt__schedule_level(const tdt__schedule *schedule, size_t position);

size_t tdt__schedule_size(const tdt__schedule *schedule);
size_t tdt__schedule_candidate(const tdt__schedule *schedule, size_t position);

/* What is known of the candidate at `position`: UNKNOWN until it is through its first runs or
 * failed. */
const tdt__timing *tdt__schedule_timing(const tdt__schedule *schedule, size_t position);

/* Hands that timing over and forgets it; *timing is written without being cleared. */
void tdt__schedule_take(tdt__schedule *schedule, size_t position, tdt__timing *timing);

#endif
