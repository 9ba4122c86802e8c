/* SPDX-License-Identifier: MIT */
#ifndef TDT_ENGINE_PLAN_H
#define TDT_ENGINE_PLAN_H

#include <stdbool.h>

#include <tdtune/plan.h>
#include <tdtune/status.h>

/*
 * Takes over what a caller gives, who may know fewer fields, with all counts filled in: n_first is
 * at least 1 and at most n_most, n_most at least n_repeat. TDT_EINVAL, naming the field, unless
 * every field is within its bounds; *full is then as it was.
 */
tdt_status tdt__plan_take(const tdt_plan *plan, tdt_plan *full, tdt_error *error);

/* Of a plan that was taken over: whether anything is decided before its end, */
bool tdt__plan_decides(const tdt_plan *plan);
/* and most timed runs in a row. */
unsigned tdt__plan_longest_burst(const tdt_plan *plan);

#endif
