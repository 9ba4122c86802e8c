/* SPDX-License-Identifier: MIT */
#include "engine/plan.h"

#include "base/error.h"

enum { MOST_RUNS = 100000 };

tdt_status tdt__plan_check(const tdt_plan *plan, tdt_error *error) {
  if (plan->size < sizeof *plan) {
    return tdt__fail(error, TDT_EINVAL, "plan: size is %zu, start with tdt_plan_documented()",
                     plan->size);
  }
  if (plan->name == NULL) {
    return tdt__fail(error, TDT_EINVAL, "plan: name is missing");
  }
  if (plan->n_warmup > MOST_RUNS) {
    return tdt__fail(error, TDT_EINVAL, "plan %s: n_warmup must be at most %d, is %u", plan->name,
                     MOST_RUNS, plan->n_warmup);
  }
  if (plan->n_repeat < 1 || plan->n_repeat > MOST_RUNS) {
    return tdt__fail(error, TDT_EINVAL, "plan %s: n_repeat must be 1 to %d, is %u", plan->name,
                     MOST_RUNS, plan->n_repeat);
  }
  if (plan->statistic != TDT_STATISTIC_MEAN && plan->statistic != TDT_STATISTIC_MEDIAN) {
    return tdt__fail(error, TDT_EINVAL, "plan %s: no such statistic: %d", plan->name,
                     (int)plan->statistic);
  }
  return TDT_OK;
}
