/* SPDX-License-Identifier: MIT */
#ifndef TDT_ENGINE_PLAN_H
#define TDT_ENGINE_PLAN_H

#include <tdtune/plan.h>
#include <tdtune/status.h>

/* TDT_EINVAL, naming the field, unless every field is within its bounds. */
tdt_status tdt__plan_check(const tdt_plan *plan, tdt_error *error);

#endif
