/* SPDX-License-Identifier: MIT */
#ifndef TDT_GROUP_ROUNDS_H
#define TDT_GROUP_ROUNDS_H

#include <stdbool.h>

#include <tdtune/group.h>

/*
 * A round is numbered by each rank for itself. The numbers agree because every rank takes part in
 * every round, be it with a note that it gives up.
 *
 * The floor is what a thread has while it is in the middle of a tuning over the group. It is had
 * once or several times (a tuned function may call another), and let go as often.
 */

/* A hint for ranks that wait, whom rank 0 waits for in a round, is posted as if in the round with
 * this bit. */
#define TDT__HINT_ROUND (UINT64_C(1) << 63)

/* Has the floor if it is free or this thread's; waits at most `slice_s` for it. */
bool tdt__rounds_enter(tdt_group_rounds *rounds, double slice_s);
void tdt__rounds_leave(tdt_group_rounds *rounds);

/* For who has the floor: the number of the next round, which counts from here on. From 1. */
uint64_t tdt__rounds_next(tdt_group_rounds *rounds);

/* For who has the floor: the first round that could be held since it was free. */
uint64_t tdt__rounds_first(const tdt_group_rounds *rounds);

/* For who has the floor: a tuning over the group failed for all ranks. Those around it, which are
 * under way in this thread, end as well when they see the count change. */
void tdt__rounds_fail(tdt_group_rounds *rounds);
uint64_t tdt__rounds_n_failed(const tdt_group_rounds *rounds);

/* A note that could not be posted. */
typedef struct tdt__owed {
  uint64_t round; /* 0: none */
  uint64_t first; /* round of the tuning that was left */
} tdt__owed;

/* For who has the floor. */
tdt__owed *tdt__rounds_owed(tdt_group_rounds *rounds);

/* This rank's part in the reductions over the group; see greatest.h. */
typedef struct tdt__reductions {
  uint64_t n_begun;
  size_t n_left; /* values of the last one, if it may still come to its end */
  bool lost;     /* the last one failed, and never will */
} tdt__reductions;

/* For who has the floor. */
tdt__reductions *tdt__rounds_reductions(tdt_group_rounds *rounds);

#endif
