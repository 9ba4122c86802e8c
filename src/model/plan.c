/* SPDX-License-Identifier: MIT */
#include <tdtune/plan.h>

tdt_plan tdt_plan_documented(void) {
  return (tdt_plan){
      .size = sizeof(tdt_plan),
      .name = "documented",
      .n_warmup = 5,
      .n_repeat = 10,
      .statistic = TDT_STATISTIC_MEAN,
  };
}

/* Two samples say little: so the margin is wide, and a clock that is still speeding up while the
 * first candidates are timed is within the least noise. The first run of a burst that waits for the
 * host takes a third longer than the others on a GPU, and would be half of what is known: so gaps
 * are hidden. */
tdt_plan tdt_plan_race(void) {
  return (tdt_plan){
      .size = sizeof(tdt_plan),
      .name = "race",
      .n_warmup = 1,
      .n_repeat = 10,
      .statistic = TDT_STATISTIC_MEDIAN,
      .n_first = 2,
      .n_more = 2,
      .margin = 3.0,
      .least_noise = 0.02,
      .hides_gaps = true,
  };
}

tdt_plan tdt_plan_careful(void) {
  return (tdt_plan){
      .size = sizeof(tdt_plan),
      .name = "careful",
      .n_warmup = 5,
      .n_repeat = 10,
      .statistic = TDT_STATISTIC_MEDIAN,
      .n_more = 10,
      .n_most = 100,
      .margin = 3.0,
      .least_noise = 0.001,
      .tie = 0.5,
      .hides_gaps = true,
  };
}
