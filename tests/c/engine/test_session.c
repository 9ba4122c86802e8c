/* SPDX-License-Identifier: MIT */
/* A session of one rank: which pass runs what, how many passes there are, and what is told. */
#include "session_stage.h"

#include <math.h>
#include <stdio.h>

static void test_C01_runs_until_all_is_known_then_once_more(void **state) {
  stage *s = *state;
  stage_act *act = stage_add(s, "copy", "64", 3, (double[]){3, 1, 2});
  assert_run(s);
  assert_int_equal(s->pass, 3 * RUNS + 1);
  assert_winner(s, act, 1);
  assert_int_equal(act->candidates[0].n_ran, RUNS);
  assert_int_equal(act->candidates[1].n_ran, RUNS + 1);
  assert_int_equal(act->candidates[2].n_ran, RUNS);
  assert_int_equal(s->n_waited_inside, 0);
}

static void test_C01_tuned_kernels_just_run_in_later_calls(void **state) {
  stage *s = *state;
  stage_act *act = stage_add(s, "copy", "64", 2, (double[]){2, 1});
  assert_run(s);
  const size_t n_mark = s->n_mark;
  assert_run(s);
  assert_int_equal(s->pass, 1);
  assert_int_equal(s->n_mark, n_mark);
  assert_winner(s, act, 1);
  assert_int_equal(s->n_decided, 1);
}

static void test_C01_nothing_to_tune_is_one_pass(void **state) {
  stage *s = *state;
  assert_run(s);
  assert_int_equal(s->pass, 1);
  assert_int_equal(tdt_session_n_tunings(s->session), 0);
}

static void test_C02_several_kernels_share_the_passes(void **state) {
  stage *s = *state;
  stage_act *copy = stage_add(s, "copy", "64", 2, (double[]){1, 2});
  stage_act *product = stage_add(s, "product", "64", 3, (double[]){3, 2, 1});
  assert_run(s);
  assert_int_equal(s->pass, 3 * RUNS + 1); /* the longer of the two */
  assert_winner(s, copy, 0);
  assert_winner(s, product, 2);
  assert_string_equal(s->decided, "copy/64=0@16;product/64=2@24;");
}

static void test_C02_a_kernel_that_appears_late_is_tuned(void **state) {
  stage *s = *state;
  stage_act *early = stage_add(s, "early", "", 2, (double[]){1, 2});
  stage_act *late = stage_add(s, "late", "", 3, (double[]){3, 2, 1});
  late->from_pass = 10;
  assert_run(s);
  assert_int_equal(s->pass, 9 + 3 * RUNS + 1);
  assert_winner(s, early, 0);
  assert_winner(s, late, 2);
}

static void test_C02_a_kernel_that_first_appears_in_the_last_pass_is_tuned(void **state) {
  stage *s = *state;
  stage_act *early = stage_add(s, "early", "", 2, (double[]){1, 2});
  stage_act *late = stage_add(s, "late", "", 2, (double[]){2, 1});
  late->from_pass = 2 * RUNS + 1; /* the pass that would have been the last */
  assert_run(s);
  assert_int_equal(s->pass, 2 * RUNS + 2 * RUNS + 1);
  assert_winner(s, early, 0);
  assert_winner(s, late, 1);
}

static void test_C03_the_least_mean_of_the_timed_runs_wins(void **state) {
  stage *s = *state;
  stage_act *act = stage_add(s, "copy", "64", 3, (double[]){2.5, 1.25, 1.5});
  tdt_session_tuning tuning;
  assert_run(s);
  assert_true(stage_find(s, act, &tuning));
  for (size_t i = 0; i < 3; i++) {
    const tdt_candidate *candidate = &tuning.candidates[i];
    assert_int_equal(candidate->outcome, TDT_OUTCOME_TIMED);
    assert_int_equal(candidate->n_samples, 5);
    /* Neither warm-ups nor what the outer function does in between. */
    assert_true(fabs(candidate->time_ms - act->candidates[i].cost_ms) < 1e-6);
    assert_null(candidate->error);
  }
  assert_string_equal(tuning.candidates[1].config, "{\"c\":1}");
  assert_int_equal(tuning.winner, 1);
}

static void test_C03_plans_without_warm_ups_and_with_one_run(void **state) {
  stage *s = *state;
  s->plan.n_warmup = 0;
  s->plan.n_repeat = 1;
  s->plan.statistic = TDT_STATISTIC_MEDIAN;
  stage_act *act = stage_add(s, "copy", "64", 4, (double[]){4, 3, 1, 2});
  assert_run(s);
  assert_int_equal(s->pass, 4 + 1);
  assert_winner(s, act, 2);
  assert_int_equal(stage_count(s, "event=mean", "median_ms="), 4);
}

static void test_C03_one_candidate_just_runs(void **state) {
  stage *s = *state;
  stage_act *act = stage_add(s, "copy", "64", 1, (double[]){1});
  assert_run(s);
  assert_int_equal(s->pass, 1);
  assert_int_equal(act->n_ran, 1);
  assert_winner(s, act, 0);
  assert_int_equal(s->n_mark, 0);
  assert_int_equal(s->n_decided, 0);
}

static void test_C03_equal_times_lowest_index(void **state) {
  stage *s = *state;
  s->plan.n_repeat = 2; /* sums and clock values are exact */
  stage_act *act = stage_add(s, "copy", "64", 4, (double[]){2, 1, 1, 1});
  assert_run(s);
  assert_winner(s, act, 1);
}

static void test_C04_case_X1_each_key_has_its_own_winner(void **state) {
  stage *s = *state;
  stage_act *acts[3];
  acts[0] = stage_add(s, "copy", "small", 3, (double[]){1, 2, 3});
  acts[1] = stage_add(s, "copy", "middle", 3, (double[]){3, 1, 2});
  acts[2] = stage_add(s, "copy", "large", 3, (double[]){3, 2, 1});
  assert_run(s);
  assert_int_equal(s->pass, 3 * RUNS + 1);
  for (size_t i = 0; i < 3; i++) {
    assert_winner(s, acts[i], i);
    assert_int_equal(acts[i]->n_ran, 3 * RUNS + 1); /* and its own arguments */
  }
}

/* Even and odd totals, fewer and more launches in a pass than a candidate has runs. */
static void test_C04_case_X1_one_key_many_times_in_a_pass(void **state) {
  for (unsigned n_repeat = 4; n_repeat <= 5; n_repeat++) {
    for (unsigned per_pass = 1; per_pass <= 30; per_pass++) {
      stage s;
      assert_int_equal(stage_open(&s), 0);
      s.plan.n_repeat = n_repeat;
      stage_act *act = stage_add(&s, "copy", "64", 3, (double[]){2, 3, 1});
      act->per_pass = per_pass;
      assert_run(&s);
      assert_int_equal(s.pass, stage_passes(3, 3 + n_repeat, per_pass));
      assert_int_equal(s.n_launches, s.pass * per_pass);
      assert_winner(&s, act, 2);
      assert_int_equal(s.n_mark, 2 * 3 * (3 + n_repeat)); /* spare launches are not marked */
      assert_int_equal(stage_count(&s, "event=run", "config=2 round=spare run=0"),
                       (s.pass - 1) * per_pass - 3 * (3 + n_repeat));
      stage_close(&s);
    }
  }
  (void)state;
}

static void test_case_X1_keys_at_different_paces(void **state) {
  stage *s = *state;
  stage_act *acts[3];
  for (unsigned i = 0; i < 3; i++) {
    static const char *const keys[] = {"a", "b", "c"};
    acts[i] = stage_add(s, "copy", keys[i], 3, (double[]){3, 2, 1});
    acts[i]->per_pass = i + 1;
  }
  assert_run(s);
  assert_int_equal(s->pass, stage_passes(3, RUNS, 1));
  for (size_t i = 0; i < 3; i++) {
    assert_winner(s, acts[i], 2);
    assert_int_equal(acts[i]->candidates[0].n_ran, RUNS);
  }
  assert_string_equal(s->decided, "copy/c=2@8;copy/b=2@12;copy/a=2@24;");
}

enum { MANY = 500 };

static tdt_status quick(void *user, size_t candidate, tdt_error *error) {
  (void)error;
  *(double *)user += candidate == 0 ? 2.0 : 1.0;
  return TDT_OK;
}

static tdt_status outer_many(void *user, tdt_error *error) {
  stage *s = user;
  s->pass++;
  for (int i = 0; i < MANY; i++) {
    char key[32];
    (void)snprintf(key, sizeof key, "%d", i);
    const tdt_launch launch = {
        sizeof launch, i % 2 == 0 ? "even" : "odd", key, s->acts[0].space, &s->now_ms, quick};
    tdt_status status = tdt_session_launch(s->session, &launch, error);
    if (status != TDT_OK) {
      return status;
    }
  }
  return TDT_OK;
}

static void test_C04_many_keys(void **state) {
  stage *s = *state;
  (void)stage_add(s, "unused", "", 2, (double[]){2, 1});
  s->plan.n_warmup = 1;
  s->plan.n_repeat = 1;
  assert_int_equal(stage_run_with(s, outer_many), TDT_OK);
  assert_int_equal(s->pass, 2 * 2 + 1);
  assert_int_equal(tdt_session_n_tunings(s->session), MANY);
  for (size_t i = 0; i < MANY; i++) {
    tdt_session_tuning tuning;
    assert_int_equal(tdt_session_tuning_at(s->session, i, &tuning, NULL), TDT_OK);
    assert_int_equal(tuning.winner, 1);
  }
  assert_int_equal(stage_run_with(s, outer_many), TDT_OK);
  assert_int_equal(s->pass, 1);
}

/* -- log -----------------------------------------------------------------------------------------
 */

static void test_C06_what_the_log_says(void **state) {
  stage *s = *state;
  stage_act *act = stage_add(s, "copy", "(64, \"f\")", 3, (double[]){3, 1, 2});
  act->candidates[2].fails = "line 1\nline \"2\"";
  assert_run(s);
  const char *key = "kernel=copy key=\"(64, \\\"f\\\")\" ";
  assert_int_equal(stage_count(s, "event=found", key), 1);
  assert_int_equal(stage_count(s, "event=found", "candidates=3"), 1);
  assert_int_equal(stage_count(s, "event=run", key), 2 * RUNS);
  assert_int_equal(stage_count(s, "event=run", "config=0 round=warmup run=3"), 1);
  assert_int_equal(stage_count(s, "event=run", "config=1 round=timed run=5 ms=1"), 1);
  assert_int_equal(
      stage_count(s, "event=failed", "config=2 round=warmup run=1 error=\"line 1\\nli"), 1);
  assert_int_equal(stage_count(s, "event=stand-in", "config=1 instead_of=2 round=warmup run=1"), 1);
  assert_int_equal(stage_count(s, "event=mean", "config=0 mean_ms=3 runs=5"), 1);
  assert_int_equal(stage_count(s, "event=best", "config=1 mean_ms=1 candidates=3 failed=1"), 1);
  assert_int_equal(stage_count(s, "event=best", "description=\"{\\\"c\\\":1}\""), 1);
  assert_int_equal(stage_count(s, "event=pass", "status=TDT_OK"), s->pass);
  assert_int_equal(stage_count(s, "event=pass pass=1 open=1", ""), 1);
  assert_int_equal(stage_count(s, "", ""), 1 + 2 * RUNS + 2 + 2 + 1 + s->pass);
}

static void test_C06_the_log_tells_of_a_failed_pass(void **state) {
  stage *s = *state;
  (void)stage_add(s, "copy", "64", 2, (double[]){3, 1});
  s->fail_pass = 2;
  assert_int_equal(stage_run(s), TDT_EFORMAT);
  assert_int_equal(stage_count(s, "event=run", "config=0 round=warmup run=2"), 1);
  assert_int_equal(stage_count(s, "event=pass pass=2",
                               "status=TDT_EFORMAT error=\"the outer function says no\""),
                   1);
}

static void test_C06_silent_where_nobody_listens(void **state) {
  stage *s = *state;
  stage_act *act = stage_add(s, "copy", "64", 2, (double[]){3, 1});
  s->options.log.least = TDT_LOG_WARNING;
  assert_run(s);
  assert_winner(s, act, 1);
  assert_null(s->log);
}

/* -- arguments -----------------------------------------------------------------------------------
 */

static void assert_refused(stage *s, const char *why) {
  tdt_session *session = NULL;
  assert_int_equal(tdt_session_create(&s->options, &session, &s->error), TDT_EINVAL);
  assert_contains(tdt_error_text(&s->error), why);
  assert_null(session);
}

static void test_L01_options_are_checked(void **state) {
  stage *s = *state;
  s->options.n_idle_passes = 0;
  assert_refused(s, "n_idle_passes");
  s->options.n_idle_passes = 1;
  s->plan.n_repeat = 0;
  assert_refused(s, "n_repeat");
  s->plan.n_repeat = 1;
  s->table.abi++;
  assert_refused(s, "device");
  s->table.abi--;
  tdt_group group = tdt_group_self();
  group.rank = 1;
  s->options.group = &group;
  assert_refused(s, "group");
  s->options.group = NULL;
  s->options.size = 8;
  assert_refused(s, "tdt_session_options_init");
}

static void test_L01_launches_are_checked(void **state) {
  stage *s = *state;
  stage_act *act = stage_add(s, "copy", "64", 2, (double[]){3, 1});
  assert_int_equal(tdt_session_create(&s->options, &s->session, NULL), TDT_OK);
  const tdt_launch whole = {sizeof whole, "k", "", act->space, s, quick};
  tdt_launch launch = whole;
  launch.size = 8;
  assert_int_equal(tdt_session_launch(s->session, &launch, &s->error), TDT_EINVAL);
  launch = whole;
  launch.kernel = NULL;
  assert_int_equal(tdt_session_launch(s->session, &launch, &s->error), TDT_EINVAL);
  assert_contains(tdt_error_text(&s->error), "kernel");
  launch = whole;
  launch.key = NULL;
  assert_int_equal(tdt_session_launch(s->session, &launch, NULL), TDT_EINVAL);
  launch = whole;
  launch.space = NULL;
  assert_int_equal(tdt_session_launch(s->session, &launch, NULL), TDT_EINVAL);
  launch = whole;
  launch.launch = NULL;
  assert_int_equal(tdt_session_launch(s->session, &launch, NULL), TDT_EINVAL);
  assert_int_equal(tdt_session_run(s->session, NULL, NULL, &s->error), TDT_EINVAL);
  tdt_session_tuning tuning;
  assert_int_equal(tdt_session_tuning_at(s->session, 0, &tuning, &s->error), TDT_EINVAL);
  tdt_session_destroy(NULL);
}

static tdt_status never(void *self, uint64_t round, const void *bytes, size_t size,
                        tdt_error *error) {
  (void)round;
  (void)bytes;
  (void)size;
  *(unsigned *)self += 1;
  return tdt_error_set(error, TDT_EGROUP, "nobody is there");
}

static void test_C05_one_rank_exchanges_nothing(void **state) {
  tdt_group_table table = *tdt_group_self().table;
  table.post = never;
  stage *s = *state;
  unsigned n_max = 0;
  const tdt_group group = {&table, &n_max, 0, 1, NULL, NULL};
  s->options.group = &group;
  stage_act *act = stage_add(s, "copy", "64", 3, (double[]){3, 1, 2});
  act->candidates[0].fails = "no";
  assert_run(s);
  assert_winner(s, act, 1);
  assert_int_equal(n_max, 0);
}

static void test_C03_on_the_clock_of_the_host(void **state) {
  stage *s = *state;
  s->options.device = NULL;
  s->options.plan = NULL; /* 3 + 5 */
  (void)stage_add(s, "copy", "64", 3, (double[]){3, 1, 2});
  assert_run(s);
  assert_int_equal(s->pass, 3 * RUNS + 1);
  assert_int_equal(s->n_decided, 1);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, stage_setup, stage_teardown)
  const struct CMUnitTest tests[] = {
      TEST(test_C01_runs_until_all_is_known_then_once_more),
      TEST(test_C01_tuned_kernels_just_run_in_later_calls),
      TEST(test_C01_nothing_to_tune_is_one_pass),
      TEST(test_C02_several_kernels_share_the_passes),
      TEST(test_C02_a_kernel_that_appears_late_is_tuned),
      TEST(test_C02_a_kernel_that_first_appears_in_the_last_pass_is_tuned),
      TEST(test_C03_the_least_mean_of_the_timed_runs_wins),
      TEST(test_C03_plans_without_warm_ups_and_with_one_run),
      TEST(test_C03_one_candidate_just_runs),
      TEST(test_C03_equal_times_lowest_index),
      TEST(test_C04_case_X1_each_key_has_its_own_winner),
      TEST(test_C04_case_X1_one_key_many_times_in_a_pass),
      TEST(test_case_X1_keys_at_different_paces),
      TEST(test_C04_many_keys),
      TEST(test_C06_what_the_log_says),
      TEST(test_C06_the_log_tells_of_a_failed_pass),
      TEST(test_C06_silent_where_nobody_listens),
      TEST(test_L01_options_are_checked),
      TEST(test_L01_launches_are_checked),
      TEST(test_C05_one_rank_exchanges_nothing),
      TEST(test_C03_on_the_clock_of_the_host),
  };
  return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}
