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
