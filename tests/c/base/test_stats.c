/* SPDX-License-Identifier: MIT */
#include "harness.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/stats.h"

static void assert_near(double value, double expected) {
  if (!(fabs(value - expected) <= 1e-12 * fmax(1.0, fabs(expected)))) {
    fail_msg("%.17g is not near %.17g", value, expected);
  }
}

static void test_mean_median_and_spread(void **state) {
  (void)state;
  static const struct {
    double values[6];
    size_t n;
    double mean;
    double median;
    double spread;
  } cases[] = {
      {{3.0}, 1, 3.0, 3.0, 0.0},
      {{0.0}, 1, 0.0, 0.0, 0.0},
      {{0.0, 0.0}, 2, 0.0, 0.0, 0.0},
      {{1.0, 3.0}, 2, 2.0, 2.0, 0.70710678118654752},
      {{5.0, 1.0, 3.0}, 3, 3.0, 3.0, 2.0 / 3.0},
      {{9.0, 1.0, 2.0, 4.0}, 4, 4.0, 3.0, 0.88975652100260938},
      {{2.0, 2.0, 2.0, 2.0, 2.0}, 5, 2.0, 2.0, 0.0},
      {{6.0, 5.0, 4.0, 3.0, 2.0, 1.0}, 6, 3.5, 3.5, 0.53452248382484879},
  };
  for (size_t i = 0; i < N_OF(cases); i++) {
    double scratch[6];
    assert_near(tdt__mean(cases[i].values, cases[i].n), cases[i].mean);
    assert_near(tdt__median(cases[i].values, cases[i].n, scratch), cases[i].median);
    assert_near(tdt__spread(cases[i].values, cases[i].n), cases[i].spread);
  }
}

static void test_median_leaves_its_values_alone(void **state) {
  (void)state;
  const double values[] = {3.0, 1.0, 2.0};
  double scratch[3];
  double before[3];
  memcpy(before, values, sizeof before);
  assert_near(tdt__median(values, 3, scratch), 2.0);
  assert_memory_equal(values, before, sizeof before);
}

static void test_stats_of_the_largest_values_are_finite(void **state) {
  (void)state;
  const double values[] = {DBL_MAX, DBL_MAX, DBL_MAX, DBL_MAX};
  double scratch[4];
  assert_near(tdt__mean(values, 4) / DBL_MAX, 1.0);
  assert_near(tdt__median(values, 4, scratch) / DBL_MAX, 1.0);
  const double uneven[] = {DBL_MAX, 0.0};
  assert_near(tdt__spread(uneven, 2), sqrt(2.0));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_mean_median_and_spread),
      cmocka_unit_test(test_median_leaves_its_values_alone),
      cmocka_unit_test(test_stats_of_the_largest_values_are_finite),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
