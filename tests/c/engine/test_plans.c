/* SPDX-License-Identifier: MIT */
/* B01: plans that decide on the way who is measured on. */
#include <math.h>

#include "rig.h"

#include "engine/plan.h"
#include "engine/schedule.h"

static tdt_plan plan;

static void use(rig *r, tdt_plan chosen, size_t n, const double *costs_ms) {
  int values[RIG_MOST];
  plan = chosen;
  r->plan = &plan;
  for (size_t i = 0; i < n; i++) {
    values[i] = (int)i;
  }
  rig_offer(r, n, values);
  for (size_t i = 0; i < n; i++) {
    r->candidates[i].cost_ms = costs_ms[i];
  }
}

static void assert_launched(const rig *r, size_t n, const unsigned *expected) {
  for (size_t i = 0; i < n; i++) {
    if (r->candidates[i].n_launched != expected[i]) {
      fail_msg("candidate %zu ran %u times, not %u", i, r->candidates[i].n_launched, expected[i]);
    }
  }
}

static void assert_samples(rig *r, const char *key, size_t n, const size_t *expected) {
  tdt_record *record = rig_record(r, key);
  assert_non_null(record);
  for (size_t i = 0; i < n; i++) {
    tdt_candidate candidate;
    assert_int_equal(tdt_record_candidate(record, i, &candidate, NULL), TDT_OK);
    assert_int_equal(candidate.n_samples, expected[i]);
  }
  tdt_record_destroy(record);
}

/* -- race ----------------------------------------------------------------------------------------
 */

static void test_B01_race_measures_on_only_what_could_still_win(void **state) {
  rig *r = *state;
  use(r, tdt_plan_race(), 4, (const double[]){3.0, 1.01, 1.0, 1.5});
  assert_int_equal(rig_resolve(r, "k").candidate, 2);
  assert_launched(r, 4, (const unsigned[]){1 + 2, 1 + 10, 1 + 10, 1 + 2});
  assert_samples(r, "k", 4, (const size_t[]){2, 10, 10, 2});
  assert_int_equal(r->n_max_queued, 2);
}

static void test_B01_race_ends_when_one_is_left(void **state) {
  rig *r = *state;
  use(r, tdt_plan_race(), 3, (const double[]){3.0, 1.0, 2.0});
  assert_int_equal(rig_resolve(r, "k").candidate, 1);
  assert_launched(r, 3, (const unsigned[]){3, 3, 3});
}

static void test_B01_race_with_one_candidate(void **state) {
  rig *r = *state;
  use(r, tdt_plan_race(), 1, (const double[]){3.0});
  assert_int_equal(rig_resolve(r, "k").candidate, 0);
  assert_launched(r, 1, (const unsigned[]){3});
}

static void test_B01_the_record_says_how_many_runs_each_got(void **state) {
  rig *r = *state;
  char *text;
  use(r, tdt_plan_race(), 3, (const double[]){1.0, 1.02, 2.0});
  (void)rig_resolve(r, "k");
  tdt_record *record = rig_record(r, "k");
  assert_int_equal(tdt_record_json(record, &text, NULL), TDT_OK);
  assert_contains(text, "{\"name\": \"race\", \"warmup\": 1, \"repeat\": 10, "
                        "\"statistic\": \"median\"}");
  tdt_text_free(text);
  assert_int_equal(tdt_record_table(record, &text, NULL), TDT_OK);
  assert_contains(text, "median ms");
  assert_contains(text, "runs");
  tdt_text_free(text);
  tdt_record_destroy(record);
  assert_contains(r->log, "plan race, 1 warm-ups and 2 timed runs, then at most 10");
  assert_contains(r->log, "10 runs");
}

static void test_B01_counts_can_be_changed(void **state) {
  rig *r = *state;
  tdt_plan changed = tdt_plan_race();
  changed.n_warmup = 0;
  changed.n_repeat = 5;
  use(r, changed, 3, (const double[]){1.0, 1.01, 2.0});
  (void)rig_resolve(r, "k");
  assert_launched(r, 3, (const unsigned[]){5, 5, 2});
  changed.n_repeat = 1;
  use(r, changed, 3, (const double[]){1.0, 1.01, 2.0});
  (void)rig_resolve(r, "l");
  assert_launched(r, 3, (const unsigned[]){1, 1, 1});
}

/* Progress counts a candidate once, and its best is that of the moment. */
static void test_B01_progress_of_a_race(void **state) {
  rig *r = *state;
  use(r, tdt_plan_race(), 3, (const double[]){1.0, 1.01, 2.0});
  (void)rig_resolve(r, "k");
  assert_int_equal(r->n_progress, 1 + 3 + 2 * 4);
  assert_int_equal(r->last_progress.n_done, 3);
  assert_int_equal(r->last_progress.n_candidates, 3);
  assert_int_equal(r->last_progress.best, 0);
  assert_true(fabs(r->last_progress.best_ms - 1.0) < 1e-9);
}

static void test_B01_a_candidate_that_fails_when_it_is_measured_on(void **state) {
  rig *r = *state;
  use(r, tdt_plan_race(), 3, (const double[]){1.0, 1.01, 2.0});
  r->candidates[0].fails = "too hot";
  r->candidates[0].from_run = 5;
  assert_int_equal(rig_resolve(r, "k").candidate, 1);
  assert_int_equal(r->candidates[0].n_discarded, 1);
  assert_int_equal(r->candidates[0].n_launched, 5);
  assert_int_equal(r->last_progress.n_done, 3);
  assert_int_equal(r->last_progress.best, 1);
  tdt_record *record = rig_record(r, "k");
  tdt_candidate candidate;
  assert_int_equal(tdt_record_candidate(record, 0, &candidate, NULL), TDT_OK);
  assert_int_equal(candidate.outcome, TDT_OUTCOME_FAILED);
  assert_string_equal(candidate.error, "too hot");
  tdt_record_destroy(record);
}

/* F13: what was measured stays, and the fastest of it is measured again beside the rest, for times
 * of few runs and of many do not compare. */
static void test_F13_a_race_that_was_stopped(void **state) {
  rig *r = *state;
  use(r, tdt_plan_race(), 4, (const double[]){2.0, 1.0, 1.5, 3.0});
  r->stop_at = 8;
  (void)rig_fail(r, "k", TDT_ESTOPPED);
  r->stop_at = 0;
  assert_samples(r, "k", 4, (const size_t[]){2, 2, 0, 0});
  assert_int_equal(rig_resolve(r, "k").candidate, 1);
  assert_launched(r, 4, (const unsigned[]){0, 3, 3, 3});
}

/* -- careful -------------------------------------------------------------------------------------
 */

static void test_B01_careful_times_leaders_again_in_turns(void **state) {
  rig *r = *state;
  use(r, tdt_plan_careful(), 3, (const double[]){1.0, 1.0, 2.0});
  assert_int_equal(rig_resolve(r, "k").candidate, 0);
  assert_launched(r, 3, (const unsigned[]){105, 105, 15});
  for (size_t turn = 0; turn < 18; turn++) {
    for (size_t run = 0; run < 10; run++) {
      assert_int_equal(r->order[45 + 10 * turn + run], turn % 2);
    }
  }
  assert_samples(r, "k", 3, (const size_t[]){100, 100, 10});
}

static void test_B01_careful_ends_when_one_is_clearly_ahead(void **state) {
  rig *r = *state;
  use(r, tdt_plan_careful(), 3, (const double[]){1.01, 1.0, 2.0});
  assert_int_equal(rig_resolve(r, "k").candidate, 1);
  assert_launched(r, 3, (const unsigned[]){15, 15, 15});
}

static void test_B01_careful_calls_equals_equal_and_the_first_wins(void **state) {
  rig *r = *state;
  const double costs_ms[] = {2.0, 1.00001, 1.0, 1.00001};
  use(r, tdt_plan_careful(), 4, costs_ms);
  assert_int_equal(rig_resolve(r, "k").candidate, 1);
  tdt_record *record = rig_record(r, "k");
  assert_int_equal(tdt_record_best(record), 1);
  tdt_record_destroy(record);
  rig_restart(r); /* also from the store */
  assert_int_equal(rig_resolve(r, "k").candidate, 1);
  assert_int_equal(r->n_launched, 0);
}

/* -- deciding, by scripted samples ---------------------------------------------------------------
 */

static tdt__schedule *make(const tdt_plan *chosen, size_t n) {
  static const size_t candidates[] = {0, 1, 2, 3};
  tdt_plan full;
  tdt__schedule *schedule = NULL;
  assert_int_equal(tdt__plan_take(chosen, &full, NULL), TDT_OK);
  assert_int_equal(tdt__schedule_create(&full, candidates, n, &schedule, NULL), TDT_OK);
  return schedule;
}

static void give(tdt__schedule *schedule, size_t candidate, const double *samples_ms, unsigned n) {
  tdt__step step = tdt__schedule_next(schedule);
  assert_int_equal(step.candidate, candidate);
  if (step.kind == TDT__STEP_WARMUP) {
    assert_int_equal(tdt__schedule_give(schedule, NULL, 0, NULL), TDT_OK);
    step = tdt__schedule_next(schedule);
  }
  assert_int_equal(step.kind, TDT__STEP_TIMED);
  assert_int_equal(step.n_runs, n);
  assert_int_equal(tdt__schedule_give(schedule, samples_ms, n, NULL), TDT_OK);
}

static void compare(tdt__schedule *schedule) {
  double figures_ms[8];
  assert_int_equal(tdt__schedule_next(schedule).kind, TDT__STEP_COMPARE);
  assert_int_equal(tdt__schedule_give(schedule, NULL, 0, NULL), TDT_EINVAL);
  assert_int_equal(tdt__schedule_fail(schedule, "no", NULL), TDT_EINVAL);
  tdt__schedule_figures(schedule, figures_ms);
  assert_int_equal(tdt__schedule_compare(schedule, figures_ms, NULL), TDT_OK);
}

static void test_B01_who_was_out_comes_back_if_the_others_were_lucky(void **state) {
  (void)state;
  const tdt_plan race = tdt_plan_race();
  tdt__schedule *schedule = make(&race, 3);
  give(schedule, 0, (const double[]){10, 10}, 2);
  give(schedule, 1, (const double[]){8, 8}, 2);
  give(schedule, 2, (const double[]){8.05, 8.05}, 2);
  compare(schedule);
  give(schedule, 1, (const double[]){20, 20}, 2);
  give(schedule, 2, (const double[]){20, 20}, 2);
  compare(schedule);
  give(schedule, 0, (const double[]){10, 10}, 2);
  tdt__schedule_destroy(schedule);
}

/* One disturbed run of two does not throw a candidate out. */
static void test_B01_a_disturbed_sample_is_no_verdict(void **state) {
  (void)state;
  const tdt_plan race = tdt_plan_race();
  tdt__schedule *schedule = make(&race, 3);
  give(schedule, 0, (const double[]){1.0, 2.0}, 2);
  give(schedule, 1, (const double[]){1.1, 1.1}, 2);
  give(schedule, 2, (const double[]){1.5, 1.5}, 2);
  compare(schedule);
  give(schedule, 0, (const double[]){1.0, 1.0}, 2);
  assert_int_equal(tdt__schedule_timing(schedule, 0)->n_samples, 4);
  assert_true(tdt__schedule_timing(schedule, 0)->time_ms == 1.0);
  tdt__schedule_destroy(schedule);
}

/* However the times jump, the number of comparisons has a bound. */
static void test_B01_comparisons_are_bounded(void **state) {
  (void)state;
  const tdt_plan race = tdt_plan_race();
  const double jumping_ms[10] = {1, 9, 1, 9, 1, 9, 1, 9, 1, 9};
  tdt__schedule *schedule = make(&race, 4);
  unsigned n_compared = 0;
  for (;;) {
    const tdt__step step = tdt__schedule_next(schedule);
    if (step.kind == TDT__STEP_DONE) {
      break;
    }
    if (step.kind == TDT__STEP_COMPARE) {
      compare(schedule);
      n_compared++;
    } else {
      give(schedule, step.candidate, jumping_ms, step.kind == TDT__STEP_WARMUP ? 2 : step.n_runs);
    }
  }
  assert_in_range(n_compared, 5, 8);
  tdt__schedule_destroy(schedule);
}

/* Ranks give what all of them found: that alone counts. */
static void test_R01_figures_of_all_ranks_decide(void **state) {
  (void)state;
  const tdt_plan race = tdt_plan_race();
  tdt__schedule *schedule = make(&race, 3);
  const double same[] = {1.0, 1.0};
  const double of_all_ms[] = {5.0, 0.0, 1.0, 0.0, 1.0, 0.0};
  for (size_t i = 0; i < 3; i++) {
    give(schedule, i, same, 2);
  }
  assert_int_equal(tdt__schedule_compare(schedule, of_all_ms, NULL), TDT_OK);
  give(schedule, 1, same, 2);
  give(schedule, 2, same, 2);
  tdt__schedule_destroy(schedule);
}

static void test_B01_a_comparison_nobody_asked_for(void **state) {
  (void)state;
  const tdt_plan documented = tdt_plan_documented();
  const double figures_ms[] = {1.0, 0.0};
  tdt__schedule *schedule = make(&documented, 1);
  assert_int_equal(tdt__schedule_compare(schedule, figures_ms, NULL), TDT_EINVAL);
  tdt__schedule_destroy(schedule);
}

/* -- plans as data -------------------------------------------------------------------------------
 */

static void test_L01_a_plan_of_an_earlier_version(void **state) {
  (void)state;
  tdt_plan old = tdt_plan_race();
  tdt_plan full;
  old.size = offsetof(tdt_plan, n_first);
  assert_int_equal(tdt__plan_take(&old, &full, NULL), TDT_OK);
  assert_false(tdt__plan_decides(&full));
  assert_false(full.hides_gaps);
  assert_int_equal(full.n_first, 10);
  assert_int_equal(full.n_most, 10);
  assert_int_equal(full.size, sizeof full);
}

static void refuse(tdt_plan wrong, const char *part) {
  tdt_error error = TDT_ERROR_INIT;
  tdt_plan full;
  assert_int_equal(tdt__plan_take(&wrong, &full, &error), TDT_EINVAL);
  assert_contains(tdt_error_text(&error), part);
  tdt_error_clear(&error);
}

static void test_L01_rules_out_of_bounds(void **state) {
  (void)state;
  tdt_plan wrong = tdt_plan_race();
  wrong.margin = 0.0;
  refuse(wrong, "plan race: margin");
  wrong.margin = (double)NAN;
  refuse(wrong, "margin");
  wrong = tdt_plan_careful();
  wrong.least_noise = -1.0;
  refuse(wrong, "least_noise");
  wrong = tdt_plan_careful();
  wrong.tie = (double)INFINITY;
  refuse(wrong, "tie");
  wrong = tdt_plan_careful();
  wrong.n_most = 100001;
  refuse(wrong, "n_most");
}

static void test_a_session_measures_every_candidate_alike(void **state) {
  (void)state;
  const tdt_plan race = tdt_plan_race();
  tdt_session_options options;
  tdt_session *session = NULL;
  tdt_error error = TDT_ERROR_INIT;
  tdt_session_options_init(&options);
  options.plan = &race;
  assert_int_equal(tdt_session_create(&options, &session, &error), TDT_EINVAL);
  assert_contains(tdt_error_text(&error), "plan race");
  tdt_error_clear(&error);
}

#define RIG_TEST(test) cmocka_unit_test_setup_teardown(test, rig_setup, rig_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      RIG_TEST(test_B01_race_measures_on_only_what_could_still_win),
      RIG_TEST(test_B01_race_ends_when_one_is_left),
      RIG_TEST(test_B01_race_with_one_candidate),
      RIG_TEST(test_B01_the_record_says_how_many_runs_each_got),
      RIG_TEST(test_B01_counts_can_be_changed),
      RIG_TEST(test_B01_progress_of_a_race),
      RIG_TEST(test_B01_a_candidate_that_fails_when_it_is_measured_on),
      RIG_TEST(test_F13_a_race_that_was_stopped),
      RIG_TEST(test_B01_careful_times_leaders_again_in_turns),
      RIG_TEST(test_B01_careful_ends_when_one_is_clearly_ahead),
      RIG_TEST(test_B01_careful_calls_equals_equal_and_the_first_wins),
      cmocka_unit_test(test_B01_who_was_out_comes_back_if_the_others_were_lucky),
      cmocka_unit_test(test_B01_a_disturbed_sample_is_no_verdict),
      cmocka_unit_test(test_B01_comparisons_are_bounded),
      cmocka_unit_test(test_R01_figures_of_all_ranks_decide),
      cmocka_unit_test(test_B01_a_comparison_nobody_asked_for),
      cmocka_unit_test(test_L01_a_plan_of_an_earlier_version),
      cmocka_unit_test(test_L01_rules_out_of_bounds),
      cmocka_unit_test(test_a_session_measures_every_candidate_alike),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
