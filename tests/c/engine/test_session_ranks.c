/* SPDX-License-Identifier: MIT */
/* Sessions of two and three ranks. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "session_world.h"

/* Whose turn each launch was, one a line: equal texts, equal slots. To be freed. */
static char *turns_of(const stage *s) {
  char *turns = calloc(1, s->log_size + 1);
  assert_non_null(turns);
  size_t size = 0;
  for (const char *line = s->log; line != NULL && *line != '\0'; line = strchr(line, '\n') + 1) {
    char event[16];
    char kernel[32];
    size_t config;
    int at = 0;
    if (sscanf(line, "event=%15s kernel=%31s key=%*s config=%zu%n", event, kernel, &config, &at) <
            3 ||
        (strcmp(event, "run") != 0 && strcmp(event, "stand-in") != 0)) {
      continue;
    }
    const char *end = strchr(line, '\n');
    const char *turn = strstr(line, "instead_of=");
    if (turn != NULL && turn < end) {
      assert_int_equal(sscanf(turn, "instead_of=%zu", &config), 1);
    }
    const char *round = strstr(line, "round=");
    const char *rest = strstr(round, " ms=");
    size = size + (size_t)sprintf(turns + size, "%s %zu %.*s\n", kernel, config,
                                  (int)((rest != NULL && rest < end ? rest : end) - round), round);
  }
  return turns;
}

static void assert_in_step(const world *w) {
  char *first = turns_of(&w->ranks[0].s);
  for (unsigned i = 0; i < w->n; i++) {
    char *turns = turns_of(&w->ranks[i].s);
    assert_string_equal(turns, first);
    free(turns);
    assert_int_equal(w->ranks[i].s.pass, w->ranks[0].s.pass);
    assert_int_equal(w->ranks[i].s.n_launches, w->ranks[0].s.n_launches);
  }
  free(first);
}

static void test_C05_R01_the_slowest_rank_counts(void **state) {
  world *w = *state;
  world_add(w, "copy", "64", 3, (double[]){1, 2, 3});
  w->ranks[1].s.acts[0].candidates[0].cost_ms = 5;
  w->ranks[1].s.acts[0].candidates[1].cost_ms = 2.5;
  w->ranks[1].s.acts[0].candidates[2].cost_ms = 1; /* MAX: 5, 2.5, 3 */
  world_run(w);
  world_assert_all(w, TDT_OK);
  world_assert_winners(w, 0, 1);
  assert_in_step(w);
  for (unsigned i = 0; i < w->n; i++) {
    tdt_session_tuning tuning;
    world_find(w, i, 0, &tuning);
    assert_true(fabs(tuning.candidates[0].time_ms - 5) < 1e-6);
    assert_true(fabs(tuning.candidates[1].time_ms - 2.5) < 1e-6);
    assert_true(fabs(tuning.candidates[2].time_ms - 3) < 1e-6);
    assert_int_equal(w->ranks[i].s.pass, 3 * RUNS + 1);
  }
}

static void test_C05_case_R3_equal_times_lowest_index(void **state) {
  world *w = *state;
  world_add(w, "copy", "64", 4, (double[]){2, 1, 2, 1});
  for (size_t c = 0; c < 4; c++) {
    for (unsigned i = 0; i < w->n; i++) {
      w->ranks[i].s.plan.n_repeat = 2; /* so that sums are exact */
    }
    w->ranks[1].s.acts[0].candidates[c].cost_ms = c < 2 ? 1 : 2; /* MAX: 2, 1, 2, 2 */
  }
  w->ranks[0].s.acts[0].candidates[1].cost_ms = 2; /* all 2 */
  world_run(w);
  world_assert_all(w, TDT_OK);
  world_assert_winners(w, 0, 0);
}

/* How many messages the last run of a world posted, a round being n of them. */
static size_t count_rounds(world *w, size_t before) {
  const size_t n_puts = board_count(w->between.at).n_puts - before;
  assert_int_equal(n_puts % w->n, 0);
  return n_puts / w->n;
}

/* One round after each pass; where tunings end three more, and a reduction, which by way of the
 * board is one as well. */
static void test_C05_R07_exchanges_do_not_grow_with_candidates(void **state) {
  world *w = *state;
  world_add(w, "a", "", 5, (double[]){1, 2, 3, 4, 5});
  world_add(w, "b", "", 2, (double[]){1, 2});
  world_run(w);
  world_assert_all(w, TDT_OK);
  const rank *r = &w->ranks[0];
  const size_t n_puts = board_count(w->between.at).n_puts;
  assert_int_equal(r->s.pass, 5 * RUNS + 1);
  assert_int_equal(count_rounds(w, 0), r->s.pass + 2 * 4);
  world_run(w); /* all is known */
  assert_int_equal(count_rounds(w, n_puts), 1);
}

static void test_C05_case_R2_one_rank_fails_one_candidate(void **state) {
  for (unsigned per_pass = 1; per_pass <= 5; per_pass += 2) {
    for (size_t bad = 0; bad < 3; bad++) {
      for (unsigned from_run = 1; from_run <= RUNS; from_run++) {
        void *made = NULL;
        assert_int_equal(world_open(&made, 3), 0);
        world *w = made;
        world_add(w, "copy", "64", 3, (double[]){3, 3, 3});
        world_add(w, "other", "64", 2, (double[]){2, 1});
        for (unsigned i = 0; i < w->n; i++) {
          w->ranks[i].s.acts[0].candidates[bad].cost_ms = 1;
          w->ranks[i].s.acts[0].per_pass = per_pass;
        }
        w->ranks[1].s.acts[0].candidates[bad].fails = "only here";
        w->ranks[1].s.acts[0].candidates[bad].from_run = from_run;
        world_run(w);
        world_assert_all(w, TDT_OK);
        world_assert_winners(w, 0, bad == 0 ? 1 : 0);
        world_assert_winners(w, 1, 1);
        assert_in_step(w);
        if (per_pass == 1) {
          assert_int_equal(w->ranks[0].s.pass, 2 * RUNS + from_run + 1);
        }
        for (unsigned i = 0; i < w->n; i++) {
          tdt_session_tuning tuning;
          world_find(w, i, 0, &tuning);
          assert_int_equal(tuning.candidates[bad].outcome, TDT_OUTCOME_FAILED);
          assert_string_equal(tuning.candidates[bad].error, "rank 1: only here");
          assert_int_equal(stage_count(&w->ranks[i].s, "event=dropped", ""), i == 1 ? 0 : 1);
        }
        (void)world_close(&made);
      }
    }
  }
  (void)state;
}

static void test_C05_ranks_fail_different_candidates(void **state) {
  world *w = *state;
  world_add(w, "copy", "64", 4, (double[]){1, 2, 3, 4});
  for (unsigned i = 0; i < 3; i++) { /* each rank another one; the last is left */
    w->ranks[i].s.acts[0].candidates[i].fails = "no";
    w->ranks[i].s.acts[0].candidates[i].from_run = 2 * i + 1;
  }
  world_run(w);
  world_assert_all(w, TDT_OK);
  world_assert_winners(w, 0, 3);
  assert_in_step(w);
}

static void test_C07_nothing_works_on_all_ranks(void **state) {
  world *w = *state;
  world_add(w, "fine", "64", 1 + 1, (double[]){1, 2});
  world_add(w, "copy", "64", 2, (double[]){1, 2});
  w->ranks[0].s.acts[1].candidates[0].fails = "not on rank 0";
  w->ranks[1].s.acts[1].candidates[1].fails = "not on rank 1";
  world_run(w);
  world_assert_all(w, TDT_EFAILED);
  assert_int_equal(w->ranks[0].s.pass, 1 + 1);
  for (unsigned i = 0; i < w->n; i++) {
    const char *text = tdt_error_text(&w->ranks[i].s.error);
    assert_contains(text, "cannot find valid config for kernel copy, key 64");
    assert_contains(text, "[0] {\"c\":0}: rank 0: not on rank 0");
    assert_contains(text, "[1] {\"c\":1}: rank 1: not on rank 1");
  }
  w->ranks[1].s.acts[1].candidates[1].fails = NULL;
  world_run(w);
  world_assert_all(w, TDT_OK);
  world_assert_winners(w, 1, 1);
}

static void test_R04_nothing_works_on_one_rank(void **state) {
  world *w = *state;
  world_add(w, "copy", "64", 2, (double[]){1, 2});
  w->ranks[1].s.acts[0].candidates[0].fails = "no";
  w->ranks[1].s.acts[0].candidates[1].fails = "no";
  world_run(w);
  assert_int_equal(w->ranks[1].status, TDT_EFAILED);
  assert_int_equal(w->ranks[0].status, TDT_EGROUP);
  assert_contains(tdt_error_text(&w->ranks[0].s.error), "rank 1 gave up");
}

/* All ranks must end with TDT_EGROUP after the first pass, saying the same. */
static void assert_refused(world *w, const char *why) {
  const size_t n_puts = board_count(w->between.at).n_puts;
  world_run(w);
  world_assert_all(w, TDT_EGROUP);
  assert_int_equal(count_rounds(w, n_puts), 1);
  for (unsigned i = 0; i < w->n; i++) {
    const char *text = tdt_error_text(&w->ranks[i].s.error);
    assert_contains(text,
                    "outer function, pass 1: launches: the ranks are not about to do the same");
    assert_contains(text, why);
    assert_string_equal(text, tdt_error_text(&w->ranks[0].s.error));
    assert_int_equal(tdt_session_n_tunings(w->ranks[i].s.session), 0);
  }
}

static void test_R02_case_R5_different_kernels(void **state) {
  world *w = *state;
  world_add(w, "a", "", 2, (double[]){1, 2});
  w->ranks[1].s.acts[0].kernel = "b";
  assert_refused(w, "being tuned: a[] on rank 0; b[] on rank 1");
  w->ranks[1].s.acts[0].kernel = "a";
  w->ranks[1].s.acts[0].key = "k";
  assert_refused(w, "being tuned: a[] on rank 0; a[k] on rank 1");
  w->ranks[1].s.acts[0].key = "";
  world_run(w);
  world_assert_all(w, TDT_OK);
  world_assert_winners(w, 0, 0);
}

static void test_R02_kernels_in_another_order(void **state) {
  world *w = *state;
  world_add(w, "a", "", 2, (double[]){1, 2});
  world_add(w, "b", "", 2, (double[]){1, 2});
  w->ranks[0].s.acts[0].kernel = "b";
  w->ranks[0].s.acts[1].kernel = "a";
  assert_refused(w, "b[], a[] on rank 0; a[], b[] on rank 1");
}

static void test_R02_different_numbers_of_kernels(void **state) {
  world *w = *state;
  world_add(w, "a", "", 2, (double[]){1, 2});
  world_add(w, "b", "", 2, (double[]){1, 2});
  w->ranks[1].s.n_acts = 1;
  assert_refused(w, "a[], b[] on rank 0; a[] on rank 1");
  w->ranks[1].s.n_acts = 2;
}

static void test_R02_different_candidates(void **state) {
  world *w = *state;
  (void)stage_add(&w->ranks[0].s, "a", "", 2, (double[]){1, 2});
  (void)stage_add(&w->ranks[1].s, "a", "", 3, (double[]){1, 2, 3});
  assert_refused(w, "candidates: 2 of a");
}

static void test_R02_different_plans(void **state) {
  world *w = *state;
  world_add(w, "a", "", 2, (double[]){1, 2});
  w->ranks[1].s.plan.n_repeat = 4;
  assert_refused(w, "4 timed runs");
}

static void test_R02_different_numbers_of_launches(void **state) {
  world *w = *state;
  world_add(w, "a", "", 2, (double[]){1, 2});
  w->ranks[1].s.acts[0].per_pass = 2;
  assert_refused(w, "launches: a is at candidate 0");
}

static void test_R02_a_rank_that_knows_the_winner_already(void **state) {
  world *w = *state;
  world_add(w, "a", "", 2, (double[]){1, 2});
  world_run(w);
  tdt_session_destroy(w->ranks[1].s.session);
  w->ranks[1].s.session = NULL;
  world_run(w);
  world_assert_all(w, TDT_EGROUP);
  assert_contains(tdt_error_text(&w->ranks[1].s.error),
                  "being tuned: none on rank 0; a[] on rank 1");
}

static void test_R04_an_outer_function_fails_on_one_rank(void **state) {
  world *w = *state;
  world_add(w, "done", "", 2, (double[]){1, 2});
  world_run(w);
  world_add(w, "copy", "", 2, (double[]){2, 1});
  for (unsigned pass = 1; pass <= 2 * RUNS + 1; pass++) {
    w->ranks[2].s.fail_pass = pass;
    world_run(w);
    assert_int_equal(w->ranks[2].status, TDT_EFORMAT);
    assert_string_equal(tdt_error_text(&w->ranks[2].s.error), "the outer function says no");
    for (unsigned i = 0; i < 2; i++) {
      char blame[64];
      (void)snprintf(blame, sizeof blame, "rank 2 gave up at outer function, pass %u:", pass);
      assert_int_equal(w->ranks[i].status, TDT_EGROUP);
      assert_contains(tdt_error_text(&w->ranks[i].s.error), blame);
      assert_int_equal(w->ranks[i].s.pass, pass);
    }
  }
  w->ranks[2].s.fail_pass = 0;
  world_run(w);
  world_assert_all(w, TDT_OK);
  world_assert_winners(w, 0, 0);
  world_assert_winners(w, 1, 1);
}

static void test_R04_stopped_or_ruined_on_one_rank(void **state) {
  world *w = *state;
  world_add(w, "copy", "", 2, (double[]){2, 1});
  stage_candidate *bad = &w->ranks[0].s.acts[0].candidates[1];
  bad->fails = "interrupted";
  bad->status = TDT_ESTOPPED;
  world_run(w);
  assert_int_equal(w->ranks[0].status, TDT_ESTOPPED);
  assert_int_equal(w->ranks[1].status, TDT_EGROUP);
  assert_contains(tdt_error_text(&w->ranks[1].s.error),
                  "rank 0 gave up at outer function, pass 9: interrupted");
  bad->status = TDT_OK;
  bad->ruins = true;
  world_run(w);
  assert_int_equal(w->ranks[0].status, TDT_EDEVICE);
  assert_int_equal(w->ranks[1].status, TDT_EGROUP);
}

static void test_C05_a_time_that_cannot_be_read_on_one_rank(void **state) {
  world *w = *state;
  world_add(w, "copy", "", 3, (double[]){1, 2, 3});
  w->ranks[1].s.elapsed_fails = 4;
  world_run(w);
  world_assert_all(w, TDT_OK);
  world_assert_winners(w, 0, 1);
  assert_int_equal(w->ranks[0].s.pass, 3 + 4 + 2 * RUNS + 1);
  assert_int_equal(w->ranks[1].s.pass, w->ranks[0].s.pass);
  assert_int_equal(stage_count(&w->ranks[1].s, "event=failed", "round=timed run=4"), 1);
}

static void test_C02_a_late_kernel_on_all_ranks(void **state) {
  world *w = *state;
  world_add(w, "early", "", 2, (double[]){1, 2});
  world_add(w, "late", "", 3, (double[]){3, 2, 1});
  for (unsigned i = 0; i < w->n; i++) {
    w->ranks[i].s.acts[1].from_pass = 7;
  }
  world_run(w);
  world_assert_all(w, TDT_OK);
  world_assert_winners(w, 1, 2);
  assert_in_step(w);
  assert_int_equal(w->ranks[0].s.pass, 6 + 3 * RUNS + 1);
}

static void test_C02_a_late_kernel_on_one_rank_only(void **state) {
  world *w = *state;
  world_add(w, "early", "", 2, (double[]){1, 2});
  world_add(w, "late", "", 3, (double[]){3, 2, 1});
  w->ranks[0].s.n_acts = 1;
  w->ranks[1].s.acts[1].from_pass = 2 * RUNS + 1; /* in the pass that is the last for rank 0 */
  world_run(w);
  world_assert_all(w, TDT_EGROUP);
  w->ranks[0].s.n_acts = 2; /* to be freed */
}

static void test_C12_ranks_give_up_together(void **state) {
  world *w = *state;
  world_add(w, "stays", "", 3, (double[]){1, 2, 3});
  world_add(w, "goes", "", 3, (double[]){3, 2, 1});
  for (unsigned i = 0; i < w->n; i++) {
    w->ranks[i].s.acts[1].to_pass = 4;
  }
  world_run(w);
  world_assert_all(w, TDT_ESTALLED);
  assert_in_step(w);
  assert_int_equal(w->ranks[0].s.pass, 7);
}

static void test_R04_a_group_that_fails(void **state) {
  world *w = *state;
  world_add(w, "copy", "", 2, (double[]){1, 2});
  for (size_t call = 1; call <= 6; call++) {
    board_fail(w->between.at, 1, BOARD_GET, call, TDT_EGROUP, "the line is dead");
    world_run(w);
    board_fail(w->between.at, 1, BOARD_GET, 0, TDT_OK, NULL);
    world_assert_all(w, TDT_EGROUP);
    assert_contains(tdt_error_text(&w->ranks[0].s.error), "rank 1 gave up");
    assert_contains(tdt_error_text(&w->ranks[0].s.error), "the line is dead");
    assert_contains(tdt_error_text(&w->ranks[1].s.error), "the line is dead");
  }
  world_run(w);
  world_assert_all(w, TDT_OK);
  world_assert_winners(w, 0, 0);
}

int main(void) {
#define TEST(name, setup) cmocka_unit_test_setup_teardown(name, setup, world_close)
  const struct CMUnitTest tests[] = {
      TEST(test_C05_R01_the_slowest_rank_counts, world_two),
      TEST(test_C05_case_R3_equal_times_lowest_index, world_two),
      TEST(test_C05_R07_exchanges_do_not_grow_with_candidates, world_three),
      cmocka_unit_test(test_C05_case_R2_one_rank_fails_one_candidate),
      TEST(test_C05_ranks_fail_different_candidates, world_three),
      TEST(test_C05_a_time_that_cannot_be_read_on_one_rank, world_two),
      TEST(test_C07_nothing_works_on_all_ranks, world_two),
      TEST(test_R04_nothing_works_on_one_rank, world_two),
      TEST(test_R02_case_R5_different_kernels, world_two),
      TEST(test_R02_kernels_in_another_order, world_two),
      TEST(test_R02_different_numbers_of_kernels, world_two),
      TEST(test_R02_different_candidates, world_two),
      TEST(test_R02_different_plans, world_two),
      TEST(test_R02_different_numbers_of_launches, world_two),
      TEST(test_R02_a_rank_that_knows_the_winner_already, world_two),
      TEST(test_R04_an_outer_function_fails_on_one_rank, world_three),
      TEST(test_R04_stopped_or_ruined_on_one_rank, world_two),
      TEST(test_R04_a_group_that_fails, world_two),
      TEST(test_C02_a_late_kernel_on_all_ranks, world_three),
      TEST(test_C02_a_late_kernel_on_one_rank_only, world_two),
      TEST(test_C12_ranks_give_up_together, world_two),
  };
  return cmocka_run_group_tests_name("session-ranks", tests, NULL, NULL);
}
