/* SPDX-License-Identifier: MIT */
#include "harness.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/timing.h"

static void test_plan_documented_is_5_and_10_and_mean(void **state) {
  (void)state;
  tdt_plan plan = tdt_plan_documented();
  assert_int_equal(plan.size, sizeof plan);
  assert_string_equal(plan.name, "documented");
  assert_int_equal(plan.n_warmup, 5);
  assert_int_equal(plan.n_repeat, 10);
  assert_int_equal(plan.statistic, TDT_STATISTIC_MEAN);
}

static void test_samples_become_mean_or_median(void **state) {
  (void)state;
  static const double samples[] = {9.0, 1.0, 2.0};
  tdt__timing timing = TDT__TIMING_INIT;
  assert_int_equal(tdt__timing_set_samples(&timing, samples, 3, TDT_STATISTIC_MEAN, NULL), TDT_OK);
  assert_int_equal(timing.outcome, TDT_OUTCOME_TIMED);
  assert_true(timing.time_ms == 4.0);
  assert_int_equal(timing.n_samples, 3);
  assert_memory_equal(timing.samples_ms, samples, sizeof samples);
  assert_ptr_not_equal(timing.samples_ms, samples);
  assert_null(timing.error);

  assert_int_equal(tdt__timing_set_samples(&timing, samples, 3, TDT_STATISTIC_MEDIAN, NULL),
                   TDT_OK);
  assert_true(timing.time_ms == 2.0);
  assert_memory_equal(timing.samples_ms, samples, sizeof samples);
  tdt__timing_clear(&timing);
  assert_int_equal(timing.outcome, TDT_OUTCOME_UNKNOWN);
  assert_null(timing.samples_ms);
}

static void test_zero_is_a_time(void **state) {
  (void)state;
  static const double samples[] = {0.0, -0.0};
  tdt__timing timing = TDT__TIMING_INIT;
  assert_int_equal(tdt__timing_set_samples(&timing, samples, 2, TDT_STATISTIC_MEAN, NULL), TDT_OK);
  assert_int_equal(timing.outcome, TDT_OUTCOME_TIMED);
  assert_true(timing.time_ms == 0.0);
  tdt__timing_clear(&timing);
}

static void test_unusable_samples_are_a_failure_with_a_reason(void **state) {
  (void)state;
  static const double bad[] = {NAN, -NAN, INFINITY, -INFINITY, -1e-9};
  for (size_t i = 0; i < N_OF(bad); i++) {
    for (size_t at = 0; at < 4; at++) {
      double samples[4] = {1.0, 2.0, 3.0, 4.0};
      samples[at] = bad[i];
      tdt__timing timing = TDT__TIMING_INIT;
      assert_int_equal(tdt__timing_set_samples(&timing, samples, 4, TDT_STATISTIC_MEAN, NULL),
                       TDT_OK);
      assert_int_equal(timing.outcome, TDT_OUTCOME_FAILED);
      char place[40];
      (void)snprintf(place, sizeof place, "timed run %zu of 4", at + 1);
      assert_contains(timing.error, place);
      /* What was taken before stays, and can be stored. */
      assert_int_equal(timing.n_samples, at);
      for (size_t j = 0; j < at; j++) {
        assert_true(timing.samples_ms[j] == (double)(j + 1));
      }
      tdt__timing_clear(&timing);
    }
  }
}

static void test_no_sample_is_a_failure(void **state) {
  (void)state;
  tdt__timing timing = TDT__TIMING_INIT;
  assert_int_equal(tdt__timing_set_samples(&timing, NULL, 0, TDT_STATISTIC_MEDIAN, NULL), TDT_OK);
  assert_int_equal(timing.outcome, TDT_OUTCOME_FAILED);
  assert_contains(timing.error, "no timed run");
  tdt__timing_clear(&timing);
}

static void test_failure_keeps_the_samples_taken_so_far(void **state) {
  (void)state;
  static const double samples[] = {1.0, 2.0};
  tdt__timing timing = TDT__TIMING_INIT;
  assert_int_equal(tdt__timing_set_samples(&timing, samples, 2, TDT_STATISTIC_MEAN, NULL), TDT_OK);
  assert_int_equal(tdt__timing_set_failed(&timing, "out of resources", NULL), TDT_OK);
  assert_int_equal(timing.outcome, TDT_OUTCOME_FAILED);
  assert_string_equal(timing.error, "out of resources");
  assert_int_equal(timing.n_samples, 2);
  /* A reason may be made from the one before. */
  assert_int_equal(tdt__timing_set_failed(&timing, timing.error + 7, NULL), TDT_OK);
  assert_string_equal(timing.error, "resources");
  /* And whatever bytes it has, it can be stored. */
  assert_int_equal(tdt__timing_set_failed(&timing, "cut \xE2\x82", NULL), TDT_OK);
  assert_string_equal(timing.error, "cut ??");

  assert_int_equal(tdt__timing_set_samples(&timing, samples, 2, TDT_STATISTIC_MEAN, NULL), TDT_OK);
  assert_int_equal(timing.outcome, TDT_OUTCOME_TIMED);
  assert_null(timing.error);
  tdt__timing_set_pruned(&timing);
  assert_int_equal(timing.outcome, TDT_OUTCOME_PRUNED);
  assert_int_equal(timing.n_samples, 0);
  assert_null(timing.samples_ms);
}

static void test_copy_of_every_outcome(void **state) {
  (void)state;
  static const double samples[] = {1.0, 2.0};
  tdt__timing from[4] = {TDT__TIMING_INIT, TDT__TIMING_INIT, TDT__TIMING_INIT, TDT__TIMING_INIT};
  (void)tdt__timing_set_samples(&from[1], samples, 2, TDT_STATISTIC_MEAN, NULL);
  (void)tdt__timing_set_samples(&from[2], samples, 2, TDT_STATISTIC_MEAN, NULL);
  (void)tdt__timing_set_failed(&from[2], "reason", NULL);
  tdt__timing_set_pruned(&from[3]);

  tdt__timing to = TDT__TIMING_INIT;
  for (size_t round = 0; round < 2; round++) {
    for (size_t i = 0; i < N_OF(from); i++) {
      assert_int_equal(tdt__timing_copy(&from[i], &to, NULL), TDT_OK);
      assert_int_equal(to.outcome, from[i].outcome);
      assert_true(to.time_ms == from[i].time_ms);
      assert_int_equal(to.n_samples, from[i].n_samples);
      if (to.n_samples > 0) {
        assert_ptr_not_equal(to.samples_ms, from[i].samples_ms);
        assert_memory_equal(to.samples_ms, samples, sizeof samples);
      }
      assert_int_equal(to.error != NULL, from[i].error != NULL);
      if (to.error != NULL) {
        assert_ptr_not_equal(to.error, from[i].error);
        assert_string_equal(to.error, "reason");
      }
    }
  }
  assert_int_equal(tdt__timing_copy(&from[2], &from[2], NULL), TDT_OK);
  assert_string_equal(from[2].error, "reason");
  tdt__timing_clear(&to);
  for (size_t i = 0; i < N_OF(from); i++) {
    tdt__timing_clear(&from[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_plan_documented_is_5_and_10_and_mean),
      cmocka_unit_test(test_samples_become_mean_or_median),
      cmocka_unit_test(test_zero_is_a_time),
      cmocka_unit_test(test_unusable_samples_are_a_failure_with_a_reason),
      cmocka_unit_test(test_no_sample_is_a_failure),
      cmocka_unit_test(test_failure_keeps_the_samples_taken_so_far),
      cmocka_unit_test(test_copy_of_every_outcome),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
