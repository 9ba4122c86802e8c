/* SPDX-License-Identifier: MIT */
/* Several ranks and plans that decide on the way, or results that are checked: all decide the same.
 */
#include "ranks_rig.h"

static tdt_plan plan;

static void use(ranks *all, tdt_plan chosen, size_t n) {
  int values[RIG_MOST];
  plan = chosen;
  for (size_t i = 0; i < n; i++) {
    values[i] = 1 + (int)i;
  }
  for (unsigned i = 0; i < all->n; i++) {
    rig *r = all->at[i].r;
    r->plan = &plan;
    rig_offer(r, n, values);
    r->settings.always_tune = true;
  }
}

static void assert_alike(const ranks *all) {
  for (unsigned i = 1; i < all->n; i++) {
    assert_int_equal(all->at[i].n_posts, all->at[0].n_posts);
    assert_int_equal(all->at[i].n_max, all->at[0].n_max);
    for (size_t c = 0; c < all->at[0].r->n_candidates; c++) {
      assert_int_equal(all->at[i].r->candidates[c].n_launched,
                       all->at[0].r->candidates[c].n_launched);
    }
  }
}

static void assert_launched(const ranks *all, size_t n, const unsigned *expected) {
  assert_alike(all);
  for (size_t c = 0; c < n; c++) {
    assert_int_equal(all->at[0].r->candidates[c].n_launched, expected[c]);
  }
}

/* Each rank by itself would go on with others: [0] and [1], [1] and [2], [1] alone. */
static void test_R01_ranks_go_on_with_the_same_candidates(void **state) {
  static const double costs_ms[3][4] = {
      {1.0, 1.01, 3.0, 9.0}, {3.0, 1.01, 1.0, 9.0}, {3.0, 1.0, 3.0, 9.0}};
  ranks *all = *state;
  use(all, tdt_plan_race(), 4);
  for (unsigned i = 0; i < all->n; i++) {
    ranks_set_costs(&all->at[i], costs_ms[i]);
  }
  ranks_run(all, "k");
  ranks_assert_winner(all, 1, TDT_ORIGIN_TUNED);
  assert_launched(all, 4, (const unsigned[]){3, 3, 3, 3}); /* by the greatest [1] is far ahead */
}

static void test_R01_a_race_over_ranks(void **state) {
  static const double costs_ms[3][4] = {
      {1.0, 1.01, 3.0, 9.0}, {1.02, 1.0, 1.0, 9.0}, {0.5, 0.6, 1.0, 9.0}};
  ranks *all = *state;
  use(all, tdt_plan_race(), 4);
  for (unsigned i = 0; i < all->n; i++) {
    ranks_set_costs(&all->at[i], costs_ms[i]);
  }
  ranks_run(all, "k");
  ranks_assert_winner(all, 1, TDT_ORIGIN_TUNED);
  assert_launched(all, 4, (const unsigned[]){11, 11, 3, 3});
  assert_int_equal(all->at[0].n_max, 5 + 1);
}

static void test_R01_equals_are_equal_on_all_ranks(void **state) {
  ranks *all = *state;
  use(all, tdt_plan_careful(), 3);
  for (unsigned i = 0; i < all->n; i++) {
    /* The second is the fastest on every rank, by less than can be told. */
    ranks_set_costs(&all->at[i], (const double[]){1.00001, 1.0, 2.0 + i});
  }
  ranks_run(all, "k");
  ranks_assert_winner(all, 0, TDT_ORIGIN_TUNED);
  assert_launched(all, 3, (const unsigned[]){105, 105, 15});
}

/* R07: comparisons do not grow with the candidates. */
static void test_R07_reductions_of_a_race_are_bounded(void **state) {
  ranks *all = *state;
  unsigned n_max[2];
  for (unsigned turn = 0; turn < 2; turn++) {
    const size_t n = turn == 0 ? 2 : RIG_MOST;
    double costs_ms[RIG_MOST];
    for (size_t c = 0; c < RIG_MOST; c++) {
      costs_ms[c] = 1.0; /* nobody is ever out */
    }
    use(all, tdt_plan_race(), n);
    for (unsigned i = 0; i < all->n; i++) {
      ranks_set_costs(&all->at[i], costs_ms);
    }
    ranks_run(all, "k");
    ranks_assert_winner(all, 0, TDT_ORIGIN_TUNED);
    assert_alike(all);
    n_max[turn] = all->at[0].n_max;
  }
  assert_int_equal(n_max[0], n_max[1]);
  assert_in_range(n_max[0], 1, 9);
}

/* R04: wherever it fails, in a warm-up, in the first runs or when it is measured on. */
static void test_R04_a_leader_that_fails_on_one_rank(void **state) {
  ranks *all = *state;
  for (unsigned from_run = 1; from_run <= 11; from_run++) {
    use(all, tdt_plan_race(), 3);
    for (unsigned i = 0; i < all->n; i++) {
      ranks_set_costs(&all->at[i], (const double[]){1.0, 1.01, 1.02});
    }
    all->at[1].r->candidates[0].fails = "no";
    all->at[1].r->candidates[0].from_run = from_run;
    ranks_run(all, "k");
    ranks_assert_winner(all, 1, TDT_ORIGIN_TUNED);
    tdt_record *record = rig_record(all->at[0].r, "k");
    tdt_candidate candidate;
    assert_int_equal(tdt_record_candidate(record, 0, &candidate, NULL), TDT_OK);
    assert_string_equal(candidate.error, "rank 1: no");
    tdt_record_destroy(record);
  }
}

static void test_R04_all_that_is_left_fails(void **state) {
  ranks *all = *state;
  use(all, tdt_plan_race(), 3);
  for (size_t c = 0; c < 3; c++) {
    rig *r = all->at[c % all->n].r;
    r->candidates[c].fails = "no";
    r->candidates[c].from_run = 2;
  }
  ranks_run(all, "k");
  (void)ranks_assert_failed(all, TDT_EFAILED);
}

static tdt_status stop_late(rank *me, size_t candidate, tdt_error *error) {
  return candidate == 1 && me->r->candidates[1].n_launched == 6
             ? tdt_error_set(error, TDT_ESTOPPED, "a key was pressed")
             : TDT_OK;
}

static void test_R04_a_rank_that_stops_when_leaders_are_measured_on(void **state) {
  ranks *all = *state;
  use(all, tdt_plan_race(), 3);
  for (unsigned i = 0; i < all->n; i++) {
    ranks_set_costs(&all->at[i], (const double[]){1.0, 1.01, 3.0});
  }
  all->at[2].on_launch = stop_late;
  ranks_run(all, "k");
  for (unsigned i = 0; i < all->n; i++) {
    assert_int_equal(all->at[i].status, i == 2 ? TDT_ESTOPPED : TDT_EGROUP);
  }
  for (unsigned i = 0; i < all->n; i++) {
    all->at[i].r->plan = NULL;
  }
  ranks_restore(all);
  ranks_assert_in_step(all, "k");
}

static tdt_status wrong_on_rank_1(void *user, size_t candidate, bool *right, tdt_error *error) {
  const rank *me = user;
  (void)error;
  *right = me->number != 1 || candidate != 1;
  return TDT_OK;
}

static void test_B03_a_result_that_is_wrong_on_one_rank(void **state) {
  ranks *all = *state;
  for (unsigned i = 0; i < all->n; i++) {
    all->at[i].r->request.check = wrong_on_rank_1;
  }
  ranks_run(all, "k");
  ranks_assert_winner(all, 2, TDT_ORIGIN_TUNED);
  tdt_record *record = rig_record(all->at[0].r, "k");
  tdt_candidate candidate;
  assert_int_equal(tdt_record_candidate(record, 1, &candidate, NULL), TDT_OK);
  assert_string_equal(candidate.error, "rank 1: wrong result");
  tdt_record_destroy(record);
  ranks_restore(all);
  ranks_assert_in_step(all, "l");
}

static void be_careful(rank *me) {
  static tdt_plan careful;
  careful = tdt_plan_careful();
  careful.n_warmup = 1;
  careful.name = "race";
  me->r->plan = &careful;
  rig_restart(me->r);
}

static void test_R02_ranks_with_different_plans(void **state) {
  ranks *all = *state;
  use(all, tdt_plan_race(), 3);
  be_careful(&all->at[1]);
  ranks_run(all, "k");
  assert_contains(ranks_assert_failed(all, TDT_EGROUP), "plan: ");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      RANKS_TEST(3, test_R01_ranks_go_on_with_the_same_candidates),
      RANKS_TEST(3, test_R01_a_race_over_ranks),
      RANKS_TEST(3, test_R01_equals_are_equal_on_all_ranks),
      RANKS_TEST(2, test_R07_reductions_of_a_race_are_bounded),
      RANKS_TEST(3, test_R04_a_leader_that_fails_on_one_rank),
      RANKS_TEST(2, test_R04_all_that_is_left_fails),
      RANKS_TEST(3, test_R04_a_rank_that_stops_when_leaders_are_measured_on),
      RANKS_TEST(3, test_B03_a_result_that_is_wrong_on_one_rank),
      RANKS_TEST(2, test_R02_ranks_with_different_plans),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
