/* SPDX-License-Identifier: MIT */
/* The schedule alone, with scripted samples: no device, no clock. */
#include <math.h>
#include <string.h>

#include "harness.h"

#include "engine/plan.h"
#include "engine/schedule.h"

static const size_t three[] = {4, 0, 7};

static tdt__schedule *make_by(const tdt_plan *plan) {
  tdt_plan full;
  tdt__schedule *schedule = NULL;
  assert_int_equal(tdt__plan_take(plan, &full, NULL), TDT_OK);
  assert_int_equal(tdt__schedule_create(&full, three, 3, &schedule, NULL), TDT_OK);
  return schedule;
}

static tdt__schedule *make(unsigned n_warmup, unsigned n_repeat, tdt_statistic statistic) {
  tdt_plan plan = tdt_plan_documented();
  plan.n_warmup = n_warmup;
  plan.n_repeat = n_repeat;
  plan.statistic = statistic;
  return make_by(&plan);
}

static void assert_step(const tdt__schedule *schedule, tdt__step_kind kind, size_t candidate,
                        unsigned n_runs) {
  for (int twice = 0; twice < 2; twice++) { /* asking changes nothing */
    tdt__step step = tdt__schedule_next(schedule);
    assert_int_equal(step.kind, kind);
    assert_int_equal(step.candidate, candidate);
    assert_int_equal(step.n_runs, n_runs);
  }
}

static void give(tdt__schedule *schedule, const double *samples_ms, size_t n) {
  assert_int_equal(tdt__schedule_give(schedule, samples_ms, n, NULL), TDT_OK);
}

static void test_F12_documented_plan_runs_5_and_10(void **state) {
  (void)state;
  const double samples[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 55};
  const tdt_plan plan = tdt_plan_documented();
  tdt__schedule *schedule = make_by(&plan);
  for (size_t i = 0; i < 3; i++) {
    assert_step(schedule, TDT__STEP_WARMUP, three[i], 5);
    give(schedule, NULL, 0);
    assert_step(schedule, TDT__STEP_TIMED, three[i], 10);
    assert_int_equal(tdt__schedule_timing(schedule, i)->outcome, TDT_OUTCOME_UNKNOWN);
    give(schedule, samples, 10);
    assert_int_equal(tdt__schedule_timing(schedule, i)->outcome, TDT_OUTCOME_TIMED);
    assert_true(tdt__schedule_timing(schedule, i)->time_ms == 10.0);
  }
  assert_step(schedule, TDT__STEP_DONE, TDT_NONE, 0);
  tdt__schedule_destroy(schedule);
}

static void test_no_warmup_is_a_legal_wish(void **state) {
  (void)state;
  tdt__schedule *schedule = make(0, 2, TDT_STATISTIC_MEAN);
  assert_step(schedule, TDT__STEP_TIMED, 4, 2);
  tdt__schedule_destroy(schedule);
}

static void test_median_is_compared_where_the_plan_says_so(void **state) {
  (void)state;
  const double samples[3] = {100, 1, 2};
  tdt__schedule *schedule = make(0, 3, TDT_STATISTIC_MEDIAN);
  give(schedule, samples, 3);
  assert_true(tdt__schedule_timing(schedule, 0)->time_ms == 2.0);
  tdt__schedule_destroy(schedule);
}

static void test_a_burst_may_come_in_pieces(void **state) {
  (void)state;
  const double samples[3] = {3, 6, 9};
  tdt__schedule *schedule = make(1, 3, TDT_STATISTIC_MEAN);
  give(schedule, NULL, 0);
  for (unsigned done = 0; done < 3; done++) {
    assert_step(schedule, TDT__STEP_TIMED, 4, 3 - done);
    give(schedule, &samples[done], 1);
  }
  const tdt__timing *timing = tdt__schedule_timing(schedule, 0);
  assert_int_equal(timing->n_samples, 3);
  assert_memory_equal(timing->samples_ms, samples, sizeof samples);
  assert_step(schedule, TDT__STEP_WARMUP, 0, 1);
  tdt__schedule_destroy(schedule);
}

static void test_F13_a_failure_moves_on_at_any_point(void **state) {
  (void)state;
  const double samples[2] = {1, 2};
  tdt__schedule *schedule = make(1, 2, TDT_STATISTIC_MEAN);
  assert_int_equal(tdt__schedule_fail(schedule, "in the warm-up", NULL), TDT_OK);
  assert_string_equal(tdt__schedule_timing(schedule, 0)->error, "in the warm-up");
  assert_step(schedule, TDT__STEP_WARMUP, 0, 1);
  give(schedule, NULL, 0);
  give(schedule, samples, 1);
  assert_int_equal(tdt__schedule_fail(schedule, "half-way", NULL), TDT_OK);
  assert_int_equal(tdt__schedule_timing(schedule, 1)->outcome, TDT_OUTCOME_FAILED);
  /* What the failed one left behind does not count for the next. */
  give(schedule, NULL, 0);
  assert_step(schedule, TDT__STEP_TIMED, 7, 2);
  give(schedule, samples, 2);
  assert_true(tdt__schedule_timing(schedule, 2)->time_ms == 1.5);
  assert_step(schedule, TDT__STEP_DONE, TDT_NONE, 0);
  tdt__schedule_destroy(schedule);
}

static void test_what_was_not_asked_for_is_refused(void **state) {
  (void)state;
  const double samples[3] = {1, 2, 3};
  tdt_error error = TDT_ERROR_INIT;
  tdt__schedule *schedule = make(1, 2, TDT_STATISTIC_MEAN);
  assert_int_equal(tdt__schedule_give(schedule, samples, 1, &error), TDT_EINVAL);
  assert_contains(tdt_error_text(&error), "1 samples");
  assert_step(schedule, TDT__STEP_WARMUP, 4, 1);
  give(schedule, NULL, 0);
  assert_int_equal(tdt__schedule_give(schedule, samples, 0, NULL), TDT_EINVAL);
  assert_int_equal(tdt__schedule_give(schedule, samples, 3, NULL), TDT_EINVAL);
  assert_step(schedule, TDT__STEP_TIMED, 4, 2);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(tdt__schedule_fail(schedule, "no", NULL), TDT_OK);
  }
  assert_int_equal(tdt__schedule_fail(schedule, "no", NULL), TDT_EINVAL);
  assert_int_equal(tdt__schedule_give(schedule, samples, 1, NULL), TDT_EINVAL);
  tdt_error_clear(&error);
  tdt__schedule_destroy(schedule);
}

static void test_useless_samples_are_a_failure_with_a_reason(void **state) {
  (void)state;
  const double useless[][2] = {{1, -1}, {1, (double)INFINITY}, {(double)NAN, 1}};
  tdt__schedule *schedule = make(0, 2, TDT_STATISTIC_MEAN);
  for (size_t i = 0; i < 3; i++) {
    give(schedule, useless[i], 2);
    assert_int_equal(tdt__schedule_timing(schedule, i)->outcome, TDT_OUTCOME_FAILED);
    assert_non_null(tdt__schedule_timing(schedule, i)->error);
  }
  tdt__schedule_destroy(schedule);
}

static void test_a_timing_can_be_taken_over(void **state) {
  (void)state;
  const double samples[1] = {5};
  tdt__timing timing = TDT__TIMING_INIT;
  tdt__schedule *schedule = make(0, 1, TDT_STATISTIC_MEAN);
  give(schedule, samples, 1);
  tdt__schedule_take(schedule, 0, &timing);
  assert_true(timing.time_ms == 5.0);
  assert_int_equal(tdt__schedule_timing(schedule, 0)->outcome, TDT_OUTCOME_UNKNOWN);
  assert_step(schedule, TDT__STEP_TIMED, 0, 1);
  tdt__schedule_destroy(schedule);
  tdt__timing_clear(&timing);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_F12_documented_plan_runs_5_and_10),
      cmocka_unit_test(test_no_warmup_is_a_legal_wish),
      cmocka_unit_test(test_median_is_compared_where_the_plan_says_so),
      cmocka_unit_test(test_a_burst_may_come_in_pieces),
      cmocka_unit_test(test_F13_a_failure_moves_on_at_any_point),
      cmocka_unit_test(test_what_was_not_asked_for_is_refused),
      cmocka_unit_test(test_useless_samples_are_a_failure_with_a_reason),
      cmocka_unit_test(test_a_timing_can_be_taken_over),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
