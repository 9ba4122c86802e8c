/* SPDX-License-Identifier: MIT */
/* usage: noise [REPETITIONS [SEED]]: a table of what each plan chooses under noise and what it
 * costs.
 */
#include <stdio.h>
#include <stdlib.h>

#include "noise.h"

static void show(const char *name, const tdt_plan *plan, unsigned n, unsigned seed) {
  const noise_result r = noise_try(plan, n, seed);
  printf("%-12s %8.2f %% %8.1f %% %10.1f %% %9.1f %% %9.0f %9.0f\n", name, 100 * r.regret,
         100 * r.worst, 100 * r.best, 100 * r.leaders, r.n_runs, r.cost);
}

int main(int argc, char **argv) {
  const unsigned n = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1000;
  const unsigned seed = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1;
  const tdt_plan documented = tdt_plan_documented();
  const tdt_plan race = tdt_plan_race();
  const tdt_plan careful = tdt_plan_careful();
  tdt_plan plain = documented;
  plain.n_warmup = 0;
  if (n < 1) {
    (void)fprintf(stderr, "usage: noise [REPETITIONS [SEED]]\n");
    return 2;
  }
  printf("64 candidates, two leaders 1 %% apart; 10 %% normal noise, 5 %% of the runs doubled; "
         "%u repetitions, seed %u\n",
         n, seed);
  printf("%-12s %10s %10s %12s %11s %9s %9s\n", "plan", "regret", "worst", "best chosen",
         "a leader", "runs", "cost");
  show("documented", &documented, n, seed);
  show("race", &race, n, seed);
  show("careful", &careful, n, seed);
  show("mean of 10", &plain, n, seed);
  return 0;
}
