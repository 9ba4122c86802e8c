/* SPDX-License-Identifier: MIT */
#include "engine/plan.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

enum { MOST_RUNS = 100000 };

static tdt_status take_fields(const tdt_plan *plan, tdt_plan *full, tdt_error *error) {
  const size_t first_version = offsetof(tdt_plan, statistic) + sizeof plan->statistic;
  if (plan->size < first_version) {
    return tdt__fail(error, TDT_EINVAL, "plan: size is %zu, start with tdt_plan_documented()",
                     plan->size);
  }
  *full = (tdt_plan){0};
  /* Whole fields: the end of an older structure is padding. */
  const bool current = plan->size >= sizeof *plan;
  memcpy(full, plan, current ? sizeof *plan : first_version);
  full->size = sizeof *full;
  return TDT_OK;
}

static tdt_status check_runs(const tdt_plan *plan, tdt_error *error) {
  if (plan->n_warmup > MOST_RUNS) {
    return tdt__fail(error, TDT_EINVAL, "plan %s: n_warmup must be at most %d, is %u", plan->name,
                     MOST_RUNS, plan->n_warmup);
  }
  if (plan->n_repeat < 1 || plan->n_repeat > MOST_RUNS) {
    return tdt__fail(error, TDT_EINVAL, "plan %s: n_repeat must be 1 to %d, is %u", plan->name,
                     MOST_RUNS, plan->n_repeat);
  }
  if (plan->n_most > MOST_RUNS) {
    return tdt__fail(error, TDT_EINVAL, "plan %s: n_most must be at most %d, is %u", plan->name,
                     MOST_RUNS, plan->n_most);
  }
  return TDT_OK;
}

static tdt_status check_rule(const tdt_plan *plan, tdt_error *error) {
  const struct {
    const char *name;
    double value;
    bool fits;
  } rules[] = {
      {"margin must be above 0", plan->margin, plan->n_more == 0 || plan->margin > 0.0},
      {"least_noise must be 0 or more", plan->least_noise, plan->least_noise >= 0.0},
      {"tie must be 0 or more", plan->tie, plan->tie >= 0.0},
  };
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    if (!rules[i].fits || !isfinite(rules[i].value)) {
      return tdt__fail(error, TDT_EINVAL, "plan %s: %s, is %g", plan->name, rules[i].name,
                       rules[i].value);
    }
  }
  return TDT_OK;
}

static void fill_counts(tdt_plan *plan) {
  if (plan->n_most < plan->n_repeat) {
    plan->n_most = plan->n_repeat;
  }
  if (plan->n_first == 0 || plan->n_first > plan->n_repeat) {
    plan->n_first = plan->n_repeat;
  }
  if (plan->n_more == 0) { /* nothing follows the first runs */
    plan->n_first = plan->n_repeat;
    plan->n_most = plan->n_repeat;
  }
}

tdt_status tdt__plan_take(const tdt_plan *plan, tdt_plan *full, tdt_error *error) {
  tdt_plan taken = {0};
  tdt_status status = take_fields(plan, &taken, error);
  if (status != TDT_OK) {
    return status;
  }
  if (taken.name == NULL) {
    return tdt__fail(error, TDT_EINVAL, "plan: name is missing");
  }
  if (taken.statistic != TDT_STATISTIC_MEAN && taken.statistic != TDT_STATISTIC_MEDIAN) {
    return tdt__fail(error, TDT_EINVAL, "plan %s: no such statistic: %d", taken.name,
                     (int)taken.statistic);
  }
  status = check_runs(&taken, error);
  if (status == TDT_OK) {
    status = check_rule(&taken, error);
  }
  if (status == TDT_OK) {
    fill_counts(&taken);
    *full = taken;
  }
  return status;
}

bool tdt__plan_decides(const tdt_plan *plan) {
  return plan->n_first < plan->n_most;
}

unsigned tdt__plan_longest_burst(const tdt_plan *plan) {
  if (!tdt__plan_decides(plan)) {
    return plan->n_first;
  }
  const unsigned left = plan->n_most - plan->n_first;
  const unsigned more = plan->n_more < left ? plan->n_more : left;
  return plan->n_first > more ? plan->n_first : more;
}
