/* SPDX-License-Identifier: MIT */
/* A session of one rank: which pass runs what, how many passes there are, and what ends it. */
#include "session_stage.h"

#include <math.h>
#include <stdio.h>

enum { RUNS = 3 + 5 }; /* of one candidate under the default plan */

static void assert_run(stage *s) {
  tdt_status status = stage_run(s);
  if (status != TDT_OK) {
    fail_msg("%s: %s", tdt_status_name(status), tdt_error_text(&s->error));
  }
}

static void assert_winner(const stage *s, const stage_act *act, size_t winner) {
  tdt_session_tuning tuning;
  assert_true(stage_find(s, act, &tuning));
  assert_int_equal(tuning.n_candidates, act->n_candidates);
  assert_int_equal(tuning.winner, winner);
  assert_int_equal(act->last_ran, winner); /* the last pass ran with it */
}

/* Passes that `n` candidates of `runs` runs each take at `per_pass` launches, the last one too. */
static unsigned passes_for(size_t n, unsigned runs, unsigned per_pass) {
  return (unsigned)(n * runs + per_pass - 1) / per_pass + 1;
}

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
      assert_int_equal(s.pass, passes_for(3, 3 + n_repeat, per_pass));
      assert_int_equal(s.n_launches, s.pass * per_pass);
      assert_winner(&s, act, 2);
      assert_int_equal(s.n_mark, 2 * 3 * n_repeat); /* spare launches are not timed */
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
  assert_int_equal(s->pass, passes_for(3, RUNS, 1));
  for (size_t i = 0; i < 3; i++) {
    assert_winner(s, acts[i], 2);
    assert_int_equal(acts[i]->candidates[0].n_ran, RUNS);
  }
  assert_string_equal(s->decided, "copy/c=2@8;copy/b=2@12;copy/a=2@24;");
}

/* -- candidates that fail ------------------------------------------------------------------------
 */

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
static void test_C10_marks_that_fail(void **state) {
  for (size_t call = 1; call <= 2; call++) {
    stage s;
    assert_int_equal(stage_open(&s), 0);
    stage_act *act = stage_add(&s, "copy", "64", 2, (double[]){1, 2});
    s.mark_fails = call;
    assert_run(&s); /* which fails if a launch runs two candidates */
    assert_winner(&s, act, 1);
    assert_int_equal(s.pass, 3 + 1 + RUNS + 1);
    assert_int_equal(stage_count(&s, "event=stand-in", ""), call == 1 ? 1 : 0);
    stage_close(&s);
  }
  (void)state;
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

/* -- the outer function --------------------------------------------------------------------------
 */

static void test_C11_case_X2_an_outer_function_that_fails_in_any_pass(void **state) {
  for (unsigned pass = 1; pass <= 2 * RUNS + 1; pass++) {
    stage s;
    assert_int_equal(stage_open(&s), 0);
    stage_act *first = stage_add(&s, "copy", "first", 1 + 1, (double[]){1, 2});
    assert_run(&s);
    stage_act *second = stage_add(&s, "copy", "second", 2, (double[]){2, 1});
    s.fail_pass = pass;
    assert_int_equal(stage_run(&s), TDT_EFORMAT);
    assert_string_equal(tdt_error_text(&s.error), "the outer function says no");
    assert_int_equal(s.pass, pass);
    assert_winner(&s, first, 0);

    second->key = "third";
    s.fail_pass = 0;
    const unsigned ran = second->n_ran;
    assert_run(&s);
    assert_int_equal(s.pass, 2 * RUNS + 1); /* it starts from the beginning */
    assert_int_equal(second->n_ran, ran + 2 * RUNS + 1);
    assert_winner(&s, second, 1);
    second->key = "second";
    tdt_session_tuning tuning;
    assert_int_equal(stage_find(&s, second, &tuning), pass == 2 * RUNS + 1);
    assert_int_equal(tdt_session_n_tunings(s.session), pass == 2 * RUNS + 1 ? 3 : 2);
    stage_close(&s);
  }
  (void)state;
}

static void test_C12_a_kernel_that_is_no_longer_reached(void **state) {
  stage *s = *state;
  stage_act *stays = stage_add(s, "stays", "1", 2, (double[]){2, 1});
  stage_act *goes = stage_add(s, "goes", "(3, 4)", 3, (double[]){1, 2, 3});
  goes->to_pass = RUNS + 3;
  for (int i = 0; i < 2; i++) { /* repeatably */
    assert_int_equal(stage_run(s), TDT_ESTALLED);
    assert_int_equal(s->pass, goes->to_pass + 3);
    const char *text = tdt_error_text(&s->error);
    assert_contains(text, "kernel goes, key (3, 4), in 3 passes");
    assert_contains(text, "candidate 2 of 3");
    assert_int_equal(tdt_session_n_tunings(s->session), 0);
  }
  goes->to_pass = 0;
  assert_run(s);
  assert_winner(s, stays, 1);
  assert_winner(s, goes, 0);
}

static void test_C12_decided_tunings_survive(void **state) {
  stage *s = *state;
  stage_act *stays = stage_add(s, "stays", "1", 2, (double[]){2, 1});
  stage_act *goes = stage_add(s, "goes", "1", 4, (double[]){1, 2, 3, 4});
  goes->to_pass = 2 * RUNS;
  s->options.n_idle_passes = 1;
  assert_int_equal(stage_run(s), TDT_ESTALLED);
  assert_int_equal(s->pass, goes->to_pass + 1);
  assert_winner(s, stays, 1);
  assert_int_equal(tdt_session_n_tunings(s->session), 1);
}

static void test_C12_seldom_is_not_never(void **state) {
  stage *s = *state;
  stage_act *act = stage_add(s, "copy", "64", 2, (double[]){2, 1});
  act->every = 3; /* two passes in a row without it */
  assert_run(s);
  assert_int_equal(s->pass, 1 + 3 * (2 * RUNS - 1) + 1);
  tdt_session_tuning tuning;
  assert_true(stage_find(s, act, &tuning));
  assert_int_equal(tuning.winner, 1);
}

static tdt_status run_again(void *user, tdt_error *error) {
  (void)error;
  return stage_run_with(user, run_again);
}

static tdt_status run_inside(void *user, tdt_error *error) {
  stage *s = user;
  tdt_error told = TDT_ERROR_INIT;
  tdt_status status = tdt_session_run(s->session, run_again, s, &told);
  if (status != TDT_EINVAL || strstr(tdt_error_text(&told), "running already") == NULL) {
    return tdt_error_set(error, TDT_EIO, "it may run inside itself");
  }
  tdt_error_clear(&told);
  s->pass++;
  return stage_launch(&s->acts[0], error);
}

static void test_C09_not_inside_itself(void **state) {
  stage *s = *state;
  stage_act *act = stage_add(s, "copy", "64", 2, (double[]){2, 1});
  assert_int_equal(stage_run_with(s, run_inside), TDT_OK);
  assert_int_equal(s->pass, 2 * RUNS + 1);
  assert_winner(s, act, 1);
}

static void test_a_launch_outside_runs_what_is_known(void **state) {
  stage *s = *state;
  stage_act *act = stage_add(s, "copy", "64", 3, (double[]){3, 2, 1});
  assert_int_equal(tdt_session_create(&s->options, &s->session, NULL), TDT_OK);
  assert_int_equal(stage_launch(act, NULL), TDT_OK);
  assert_int_equal(act->last_ran, 0);
  assert_int_equal(tdt_session_n_tunings(s->session), 0);
  assert_run(s);
  assert_int_equal(stage_launch(act, NULL), TDT_OK);
  assert_int_equal(act->last_ran, 2);
  act->candidates[2].fails = "no";
  assert_int_equal(stage_launch(act, &s->error), TDT_ELAUNCH);
  assert_string_equal(tdt_error_text(&s->error), "no");
}

/* A kernel whose launch launches another. */
static tdt_status launch_both(void *user, size_t candidate, tdt_error *error) {
  stage *s = user;
  s->now_ms += candidate == 0 ? 10.0 : 20.0;
  s->n_launches++;
  return stage_launch(&s->acts[0], error);
}

static tdt_status outer_nested(void *user, tdt_error *error) {
  stage *s = user;
  s->pass++;
  const tdt_launch launch = {sizeof launch, "around", "k", s->acts[0].space, s, launch_both};
  return tdt_session_launch(s->session, &launch, error);
}

static void test_a_launch_inside_a_launch(void **state) {
  stage *s = *state;
  stage_act *inner = stage_add(s, "inner", "k", 2, (double[]){2, 1});
  assert_int_equal(stage_run_with(s, outer_nested), TDT_OK);
  assert_int_equal(s->pass, 2 * RUNS + 1);
  assert_string_equal(s->decided, "around/k=0@16;inner/k=1@16;");
  assert_winner(s, inner, 1);
}

static void test_a_failure_inside_a_launch_is_told_once(void **state) {
  stage *s = *state;
  stage_act *inner = stage_add(s, "inner", "k", 2, (double[]){2, 1});
  inner->candidates[0].fails = "no";
  inner->candidates[1].fails = "no";
  assert_int_equal(stage_run_with(s, outer_nested), TDT_EFAILED);
  assert_contains(tdt_error_text(&s->error), "kernel inner");
  assert_int_equal(s->n_launches, 1); /* no candidate of the outer kernel is to blame */
  assert_int_equal(inner->candidates[0].n_tried, 1);
}

/* A kernel whose candidates prepare what they work on. */
typedef struct prepared {
  stage *s;
  unsigned n_before;
  unsigned n_timed;
  bool out_of_order;
  size_t ready; /* the candidate that was prepared, TDT_NONE: none */
} prepared;

static tdt_status before(void *user, size_t candidate, bool timed, tdt_error *error) {
  prepared *p = user;
  p->out_of_order = p->out_of_order || p->ready != TDT_NONE;
  p->n_before++;
  p->n_timed += timed ? 1 : 0;
  p->s->now_ms += 1000.0;
  if (candidate == 1) {
    return tdt_error_set(error, TDT_EIO, "cannot be prepared");
  }
  p->ready = candidate;
  return TDT_OK;
}

static tdt_status launch_prepared(void *user, size_t candidate, tdt_error *error) {
  prepared *p = user;
  (void)error;
  p->out_of_order = p->out_of_order || p->ready != candidate;
  p->ready = TDT_NONE;
  p->s->now_ms += candidate == 0 ? 2.0 : 1.0;
  return TDT_OK;
}

static tdt_status outer_prepared(void *user, tdt_error *error) {
  prepared *p = user;
  const tdt_launch launch = {sizeof launch,   "copy", "k", p->s->acts[0].space, p,
                             launch_prepared, before};
  p->s->pass++;
  return tdt_session_launch(p->s->session, &launch, error);
}

static void test_C08_candidates_are_prepared_outside_of_the_timed_part(void **state) {
  stage *s = *state;
  prepared p = {.s = s, .ready = TDT_NONE};
  stage_act *act = stage_add(s, "copy", "k", 3, (double[]){0, 0, 0});
  assert_int_equal(tdt_session_create(&s->options, &s->session, NULL), TDT_OK);
  assert_int_equal(tdt_session_run(s->session, outer_prepared, &p, &s->error), TDT_OK);
  assert_int_equal(s->pass, 2 * RUNS + 1 + 1);
  assert_int_equal(p.n_before, s->pass + 1); /* the one that failed was replaced */
  assert_int_equal(p.n_timed, 2 * 5);
  assert_false(p.out_of_order);
  tdt_session_tuning tuning;
  assert_true(stage_find(s, act, &tuning));
  assert_int_equal(tuning.winner, 2);
  assert_true(fabs(tuning.candidates[0].time_ms - 2.0) < 1e-6);
  assert_string_equal(tuning.candidates[1].error, "cannot be prepared");
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

static tdt_status never(void *self, double *values, size_t n, tdt_error *error) {
  (void)values;
  (void)n;
  *(unsigned *)self += 1;
  return tdt_error_set(error, TDT_EGROUP, "nobody is there");
}

static void test_C05_one_rank_exchanges_nothing(void **state) {
  static const tdt_group_table table = {TDT_GROUP_ABI, sizeof table, "empty", never};
  stage *s = *state;
  unsigned n_max = 0;
  const tdt_group group = {&table, &n_max, 0, 1};
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
      TEST(test_C03_on_the_clock_of_the_host),
      TEST(test_C04_case_X1_each_key_has_its_own_winner),
      TEST(test_C04_case_X1_one_key_many_times_in_a_pass),
      TEST(test_case_X1_keys_at_different_paces),
      TEST(test_C04_many_keys),
      TEST(test_C05_one_rank_exchanges_nothing),
      TEST(test_C06_what_the_log_says),
      TEST(test_C06_the_log_tells_of_a_failed_pass),
      TEST(test_C06_silent_where_nobody_listens),
      TEST(test_C07_all_candidates_fail),
      TEST(test_C07_the_last_that_worked_fails_at_the_end),
      TEST(test_C07_an_outer_function_cannot_hide_a_failure),
      TEST(test_C08_candidates_are_prepared_outside_of_the_timed_part),
      TEST(test_C09_not_inside_itself),
      TEST(test_C10_case_X3_a_failing_candidate_anywhere_in_the_list),
      TEST(test_C10_a_failed_candidate_has_slots_until_the_end_of_the_pass),
      TEST(test_C10_all_but_the_last_fail),
      TEST(test_C10_a_stand_in_that_fails_is_a_failed_candidate),
      TEST(test_C10_marks_that_fail),
      TEST(test_C11_case_X2_an_outer_function_that_fails_in_any_pass),
      TEST(test_C12_a_kernel_that_is_no_longer_reached),
      TEST(test_C12_decided_tunings_survive),
      TEST(test_C12_seldom_is_not_never),
      TEST(test_F13_a_ruined_device_ends_it_at_once),
      TEST(test_F13_the_device_fails_when_times_are_read),
      TEST(test_F13_a_failed_candidate_is_not_read_again),
      TEST(test_F13_a_time_that_is_none_makes_the_candidate_fail),
      TEST(test_F13_stopped_at_once),
      TEST(test_a_winner_that_fails_is_the_outer_functions_matter),
      TEST(test_a_launch_outside_runs_what_is_known),
      TEST(test_a_launch_inside_a_launch),
      TEST(test_a_failure_inside_a_launch_is_told_once),
      TEST(test_L01_options_are_checked),
      TEST(test_L01_launches_are_checked),
  };
  return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}
