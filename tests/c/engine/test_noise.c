/* SPDX-License-Identifier: MIT */
/* B01: which plan chooses how well under heavy noise, and for how many runs. The bench prints the
 * same figures for 1,000 repetitions; here margins are wide and seeds fixed. */
#include "harness.h"

#include "noise.h"

enum { N = 200 };

static void test_B01_careful_chooses_best_and_race_costs_least(void **state) {
  (void)state;
  const tdt_plan plans[] = {tdt_plan_documented(), tdt_plan_race(), tdt_plan_careful()};
  for (unsigned seed = 1; seed <= 3; seed++) {
    const noise_result documented = noise_try(&plans[0], N, seed);
    const noise_result race = noise_try(&plans[1], N, seed);
    const noise_result careful = noise_try(&plans[2], N, seed);
    assert_true(careful.regret < 0.6 * documented.regret);
    assert_true(careful.regret < 0.8 * race.regret);
    assert_true(careful.leaders > 0.95);
    assert_true(race.regret < documented.regret);
    assert_true(race.cost < 0.4 * documented.cost);
    assert_true(race.n_runs < 0.5 * documented.n_runs);
    assert_true(careful.cost < 2.0 * documented.cost);
  }
}

static void test_B01_the_same_seed_is_the_same_world(void **state) {
  (void)state;
  const tdt_plan race = tdt_plan_race();
  const noise_result one = noise_try(&race, 5, 7);
  const noise_result same = noise_try(&race, 5, 7);
  const noise_result other = noise_try(&race, 5, 8);
  assert_true(one.cost == same.cost && one.regret == same.regret);
  assert_true(one.cost != other.cost);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_B01_careful_chooses_best_and_race_costs_least),
      cmocka_unit_test(test_B01_the_same_seed_is_the_same_world),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
