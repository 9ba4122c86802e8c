/* SPDX-License-Identifier: MIT */
/* A session of one rank: what outer functions and launches may do, and what ends it. */
#include "session_stage.h"

#include <math.h>

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
  unsigned n_marked;
  bool out_of_order;
  size_t ready;      /* the candidate that was prepared, TDT_NONE: none */
  tdt_status status; /* of candidate 1, which cannot be */
} prepared;

static tdt_status before(void *user, size_t candidate, bool marked, tdt_error *error) {
  prepared *p = user;
  p->out_of_order = p->out_of_order || p->ready != TDT_NONE;
  p->n_before++;
  p->n_marked += marked ? 1 : 0;
  p->s->now_ms += 1000.0;
  if (candidate == 1) {
    return tdt_error_set(error, p->status, "cannot be prepared");
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
  prepared p = {.s = s, .ready = TDT_NONE, .status = TDT_EIO};
  stage_act *act = stage_add(s, "copy", "k", 3, (double[]){0, 0, 0});
  assert_int_equal(tdt_session_create(&s->options, &s->session, NULL), TDT_OK);
  assert_int_equal(tdt_session_run(s->session, outer_prepared, &p, &s->error), TDT_OK);
  assert_int_equal(s->pass, 2 * RUNS + 1 + 1);
  assert_int_equal(p.n_before, s->pass + 1);  /* the one that failed was replaced */
  assert_int_equal(p.n_marked, 2 * RUNS + 1); /* warm-ups, too */
  assert_false(p.out_of_order);
  tdt_session_tuning tuning;
  assert_true(stage_find(s, act, &tuning));
  assert_int_equal(tuning.winner, 2);
  assert_true(fabs(tuning.candidates[0].time_ms - 2.0) < 1e-6);
  assert_string_equal(tuning.candidates[1].error, "cannot be prepared");
}

static void test_F13_stopped_while_it_prepares(void **state) {
  stage *s = *state;
  prepared p = {.s = s, .ready = TDT_NONE, .status = TDT_ESTOPPED};
  (void)stage_add(s, "copy", "k", 3, (double[]){0, 0, 0});
  assert_int_equal(tdt_session_create(&s->options, &s->session, NULL), TDT_OK);
  assert_int_equal(tdt_session_run(s->session, outer_prepared, &p, &s->error), TDT_ESTOPPED);
  assert_string_equal(tdt_error_text(&s->error), "cannot be prepared");
  assert_int_equal(s->pass, RUNS + 1);
  assert_int_equal(p.n_before, RUNS + 1); /* nothing took its place */
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, stage_setup, stage_teardown)
  const struct CMUnitTest tests[] = {
      TEST(test_C11_case_X2_an_outer_function_that_fails_in_any_pass),
      TEST(test_C12_a_kernel_that_is_no_longer_reached),
      TEST(test_C12_decided_tunings_survive),
      TEST(test_C12_seldom_is_not_never),
      TEST(test_C09_not_inside_itself),
      TEST(test_a_launch_outside_runs_what_is_known),
      TEST(test_a_launch_inside_a_launch),
      TEST(test_a_failure_inside_a_launch_is_told_once),
      TEST(test_C08_candidates_are_prepared_outside_of_the_timed_part),
      TEST(test_F13_stopped_while_it_prepares),
  };
  return cmocka_run_group_tests_name("session outer function", tests, NULL, NULL);
}
