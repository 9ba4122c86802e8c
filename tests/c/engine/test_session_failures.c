/* SPDX-License-Identifier: MIT */
/* A session of one rank: candidates and devices that fail. */
#include "session_stage.h"

#include <math.h>

static void test_C10_case_X3_a_failing_candidate_anywhere_in_the_list(void **state) {
  for (size_t bad = 0; bad < 3; bad++) {
    for (unsigned from_run = 1; from_run <= RUNS; from_run++) {
      stage s;
      tdt_session_tuning tuning;
      assert_int_equal(stage_open(&s), 0);
      stage_act *act = stage_add(&s, "copy", "64", 3, (double[]){1, 1, 1});
      act->candidates[bad].fails = "out of resources";
      act->candidates[bad].from_run = from_run;
      act->candidates[bad].cost_ms = 0.5; /* it would have won */
      assert_run(&s);
      assert_int_equal(s.pass, 2 * RUNS + from_run + 1);
      assert_int_equal(s.n_launches, s.pass); /* the outer function was never cut short */
      assert_int_equal(act->candidates[bad].n_tried, from_run);
      assert_winner(&s, act, bad == 0 ? 1 : 0);
      assert_true(stage_find(&s, act, &tuning));
      assert_int_equal(tuning.candidates[bad].outcome, TDT_OUTCOME_FAILED);
      assert_string_equal(tuning.candidates[bad].error, "out of resources");
      assert_int_equal(stage_count(&s, "event=failed", "error=\"out of resources\""), 1);
      assert_int_equal(stage_count(&s, "event=stand-in", "instead_of="), 1);
      stage_close(&s);
    }
  }
  (void)state;
}

/* Its slots of the pass are used up by others, then it has no more. */
static void test_C10_a_failed_candidate_has_slots_until_the_end_of_the_pass(void **state) {
  static const struct {
    unsigned per_pass, n_passes;
  } table[] = {
      {4, 1 + 2 * RUNS / 4 + 1}, /* pass 1 is lost */
      {8, 3 + 1},                /* the candidate's slots are just that pass */
      {10, 3 + 1},               /* the rest of pass 1 goes to the next candidate */
      {24, 1 + 1},
  };
  for (size_t i = 0; i < N_OF(table); i++) {
    stage s;
    assert_int_equal(stage_open(&s), 0);
    stage_act *act = stage_add(&s, "copy", "64", 3, (double[]){1, 3, 2});
    act->per_pass = table[i].per_pass;
    act->candidates[0].fails = "no";
    assert_run(&s);
    assert_int_equal(s.pass, table[i].n_passes);
    assert_int_equal(act->candidates[0].n_tried, 1);
    assert_int_equal(s.n_launches, s.pass * table[i].per_pass);
    assert_winner(&s, act, 2);
    tdt_session_tuning tuning;
    assert_true(stage_find(&s, act, &tuning));
    assert_int_equal(tuning.candidates[1].n_samples, 5);
    assert_int_equal(tuning.candidates[2].n_samples, 5);
    stage_close(&s);
  }
  (void)state;
}

static void test_C10_all_but_the_last_fail(void **state) {
  stage *s = *state;
  stage_act *act = stage_add(s, "copy", "64", 4, (double[]){1, 1, 1, 9});
  for (size_t i = 0; i < 3; i++) {
    act->candidates[i].fails = "no";
  }
  assert_run(s);
  /* All three are found out in the first call; one pass for the first, then the last one's. */
  assert_int_equal(s->pass, 1 + RUNS + 1);
  assert_int_equal(stage_count(s, "event=failed", "round=warmup run=1"), 3);
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(act->candidates[i].n_tried, 1);
  }
  assert_winner(s, act, 3);
}

/* The first was measured already and then fails as a stand-in for the second. */
static void test_C10_a_stand_in_that_fails_is_a_failed_candidate(void **state) {
  stage *s = *state;
  stage_act *act = stage_add(s, "copy", "64", 3, (double[]){1, 1, 9});
  act->candidates[0].fails = "worn out";
  act->candidates[0].from_run = RUNS + 1;
  act->candidates[1].fails = "no";
  assert_run(s);
  assert_winner(s, act, 2);
  assert_int_equal(s->pass, RUNS + 1 + RUNS + 1);
  tdt_session_tuning tuning;
  assert_true(stage_find(s, act, &tuning));
  assert_int_equal(tuning.candidates[0].outcome, TDT_OUTCOME_FAILED);
  assert_string_equal(tuning.candidates[0].error, "worn out");
}

static void test_C07_all_candidates_fail(void **state) {
  stage *s = *state;
  stage_act *other = stage_add(s, "other", "1", 2, (double[]){1, 2});
  stage_act *act = stage_add(s, "copy", "(64, 64)", 3, (double[]){1, 1, 1});
  act->from_pass = 4;
  act->candidates[0].fails = "out of registers";
  act->candidates[1].fails = "out of memory";
  act->candidates[1].status = TDT_ENOMEM; /* the candidate's, not ours */
  act->candidates[2].fails = "unsupported";
  for (int i = 0; i < 2; i++) { /* repeatably */
    assert_int_equal(stage_run(s), TDT_EFAILED);
    const char *text = tdt_error_text(&s->error);
    assert_contains(text, "cannot find valid config");
    assert_contains(text, "kernel copy, key (64, 64)");
    assert_contains(text, "[0] {\"c\":0}: out of registers");
    assert_contains(text, "[1] {\"c\":1}: out of memory");
    assert_contains(text, "[2] {\"c\":2}: unsupported");
    assert_int_equal(s->pass, 4);
    assert_int_equal(tdt_session_n_tunings(s->session), 0);
  }
  act->candidates[1].fails = NULL;
  act->from_pass = 1;
  assert_run(s);
  assert_winner(s, act, 1);
  assert_winner(s, other, 0);
}

static void test_C07_the_last_that_worked_fails_at_the_end(void **state) {
  stage *s = *state;
  stage_act *act = stage_add(s, "copy", "64", 2, (double[]){1, 1});
  act->candidates[0].fails = "no";
  act->candidates[1].fails = "worn out";
  act->candidates[1].from_run = 5;
  assert_int_equal(stage_run(s), TDT_EFAILED);
  assert_contains(tdt_error_text(&s->error), "worn out");
  assert_int_equal(s->pass, 5);
}

static void test_F13_a_ruined_device_ends_it_at_once(void **state) {
  stage *s = *state;
  stage_act *act = stage_add(s, "copy", "64", 3, (double[]){1, 1, 1});
  act->candidates[1].fails = "illegal address";
  act->candidates[1].ruins = true;
  assert_int_equal(stage_run(s), TDT_EDEVICE);
  const char *text = tdt_error_text(&s->error);
  assert_contains(text, "candidate [1] {\"c\":1} of kernel copy, key 64 ruined the device");
  assert_int_equal(s->pass, RUNS + 1);
  assert_int_equal(act->candidates[1].n_tried, 1);
  assert_int_equal(act->candidates[2].n_tried, 0);
}

static void test_F13_the_device_fails_when_times_are_read(void **state) {
  stage *s = *state;
  stage_act *act = stage_add(s, "copy", "64", 2, (double[]){1, 2});
  s->elapsed_fails = 2;
  assert_run(s);
  assert_winner(s, act, 1);
  assert_int_equal(s->pass, 3 + 2 + RUNS + 1);
  assert_int_equal(stage_count(s, "event=failed", "error=\"the clock stood still\""), 1);
}

static void test_F13_a_failed_candidate_is_not_read_again(void **state) {
  stage *s = *state;
  stage_act *act = stage_add(s, "copy", "64", 2, (double[]){1, 2});
  act->per_pass = RUNS;
  s->elapsed_fails = 1;
  assert_run(s);
  assert_winner(s, act, 1);
  assert_int_equal(s->n_elapsed, 1 + 5);
}

static void test_F13_a_time_that_is_none_makes_the_candidate_fail(void **state) {
  static const double useless[] = {(double)NAN, (double)INFINITY, -1.0};
  for (size_t i = 0; i < N_OF(useless); i++) {
    stage s;
    assert_int_equal(stage_open(&s), 0);
    stage_act *act = stage_add(&s, "copy", "64", 2, (double[]){1, 2});
    s.elapsed_fails = 1;
    s.elapsed_gives = useless[i];
    assert_run(&s);
    assert_winner(&s, act, 1);
    assert_int_equal(stage_count(&s, "event=failed", "round=timed run=1 error=\"timed run 1"), 1);
    stage_close(&s);
  }
  (void)state;
}

/* A start that cannot be marked is like a launch that fails; where only the end is missing, the
 * kernel did its work and must not do it twice. */
static void assert_mark_fails(size_t n_runs_before, size_t which) {
  stage s;
  assert_int_equal(stage_open(&s), 0);
  stage_act *act = stage_add(&s, "copy", "64", 2, (double[]){1, 2});
  s.mark_fails = 2 * n_runs_before + which;
  assert_run(&s); /* which fails if a launch runs two candidates */
  assert_winner(&s, act, 1);
  assert_int_equal(s.pass, n_runs_before + 1 + RUNS + 1);
  assert_int_equal(stage_count(&s, "event=stand-in", ""), which == 1 ? 1 : 0);
  stage_close(&s);
}

static void test_C10_marks_that_fail(void **state) {
  for (size_t n_runs_before = 0; n_runs_before < RUNS; n_runs_before++) {
    assert_mark_fails(n_runs_before, 1);
    assert_mark_fails(n_runs_before, 2);
  }
  (void)state;
}

static tdt_status no_room(void *self, size_t n_marks, tdt_error *error) {
  (void)self;
  return tdt_error_set(error, TDT_ELAUNCH, "no room for %zu marks", n_marks);
}

static void test_F13_a_device_without_marks_ends_it(void **state) {
  stage *s = *state;
  stage_act *act = stage_add(s, "copy", "64", 2, (double[]){1, 2});
  s->table.reserve = no_room;
  assert_int_equal(stage_run(s), TDT_EDEVICE);
  assert_contains(tdt_error_text(&s->error), "no room for");
  assert_int_equal(s->pass, 1);
  assert_int_equal(act->n_ran, 0);
  assert_int_equal(stage_count(s, "event=run", ""), 0); /* what did not run is not told */
}

static void test_F13_stopped_at_once(void **state) {
  for (int swallows = 0; swallows < 2; swallows++) {
    stage s;
    assert_int_equal(stage_open(&s), 0);
    stage_act *act = stage_add(&s, "copy", "64", 3, (double[]){1, 1, 1});
    stage_act *next = stage_add(&s, "next", "64", 2, (double[]){1, 1});
    act->candidates[1].fails = "interrupted";
    act->candidates[1].status = TDT_ESTOPPED;
    act->candidates[1].from_run = 2;
    s.swallows = swallows != 0;
    assert_int_equal(stage_run(&s), TDT_ESTOPPED);
    assert_string_equal(tdt_error_text(&s.error), "interrupted");
    assert_int_equal(s.pass, RUNS + 2);
    assert_int_equal(act->n_ran, RUNS + 1);
    assert_int_equal(next->n_ran, RUNS + 1);
    assert_int_equal(s.n_after_failure, swallows);
    assert_int_equal(tdt_session_n_tunings(s.session), 0);
    stage_close(&s);
  }
  (void)state;
}

static void test_C07_an_outer_function_cannot_hide_a_failure(void **state) {
  stage *s = *state;
  stage_act *act = stage_add(s, "copy", "64", 2, (double[]){1, 1});
  act->candidates[0].fails = "no";
  act->candidates[1].fails = "no";
  s->swallows = true;
  assert_int_equal(stage_run(s), TDT_EFAILED);
  assert_int_equal(s->pass, 1);
}

static void test_a_winner_that_fails_is_the_outer_functions_matter(void **state) {
  stage *s = *state;
  stage_act *act = stage_add(s, "copy", "64", 2, (double[]){1, 2});
  assert_run(s);
  act->candidates[0].fails = "not with these arguments";
  act->candidates[0].status = TDT_EIO;
  assert_int_equal(stage_run(s), TDT_EIO);
  assert_string_equal(tdt_error_text(&s->error), "not with these arguments");
  assert_int_equal(act->candidates[1].n_ran, RUNS); /* nothing took its place */
  s->swallows = true;
  assert_run(s);
  act->candidates[0].fails = NULL;
  assert_run(s);
  assert_winner(s, act, 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, stage_setup, stage_teardown)
  const struct CMUnitTest tests[] = {
      TEST(test_C10_case_X3_a_failing_candidate_anywhere_in_the_list),
      TEST(test_C10_a_failed_candidate_has_slots_until_the_end_of_the_pass),
      TEST(test_C10_all_but_the_last_fail),
      TEST(test_C10_a_stand_in_that_fails_is_a_failed_candidate),
      TEST(test_C07_all_candidates_fail),
      TEST(test_C07_the_last_that_worked_fails_at_the_end),
      TEST(test_F13_a_ruined_device_ends_it_at_once),
      TEST(test_F13_the_device_fails_when_times_are_read),
      TEST(test_F13_a_failed_candidate_is_not_read_again),
      TEST(test_F13_a_time_that_is_none_makes_the_candidate_fail),
      TEST(test_C10_marks_that_fail),
      TEST(test_F13_a_device_without_marks_ends_it),
      TEST(test_F13_stopped_at_once),
      TEST(test_C07_an_outer_function_cannot_hide_a_failure),
      TEST(test_a_winner_that_fails_is_the_outer_functions_matter),
  };
  return cmocka_run_group_tests_name("session failures", tests, NULL, NULL);
}
