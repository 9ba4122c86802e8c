/* SPDX-License-Identifier: MIT */
/* Tuning over ranks where nothing goes wrong: one winner, how much is said, what settings do. */
#include <math.h>

#include "ranks_rig.h"

#include "store/directory.h"

/* -- one winner ----------------------------------------------------------------------------------
 */

static void test_R01_the_slowest_rank_counts(void **state) {
  ranks *all = *state;
  ranks_set_costs(&all->at[0], (const double[]){1, 2, 3});
  ranks_set_costs(&all->at[1], (const double[]){5, 2.5, 1}); /* max: 5, 2.5, 3 */
  ranks_run(all, "k");
  ranks_assert_winner(all, 1, TDT_ORIGIN_TUNED);
  tdt_record *record = rig_record(all->at[0].r, "k");
  tdt_candidate candidate;
  char *text;
  assert_int_equal(tdt_record_candidate(record, 0, &candidate, NULL), TDT_OK);
  assert_true(candidate.time_ms == 5.0); /* of all ranks; the samples are the writer's */
  assert_true(candidate.samples_ms[0] == 1.0);
  assert_int_equal(tdt_record_json(record, &text, NULL), TDT_OK);
  assert_contains(text, "\"ranks\": 2");
  tdt_text_free(text);
  tdt_record_destroy(record);
  assert_int_equal(rig_count_files(all->at[0].r, ".json"), 1);
  assert_int_equal(rig_count_files(all->at[0].r, "-rank0"), 1);
  assert_int_equal(rig_count_files(all->at[0].r, "-rank1"), 1);
}

static void test_R01_equal_times_the_lowest_index(void **state) {
  ranks *all = *state;
  ranks_set_costs(&all->at[0], (const double[]){9, 4, 2});
  ranks_set_costs(&all->at[1], (const double[]){1, 3, 4}); /* max: 9, 4, 4 */
  ranks_run(all, "k");
  ranks_assert_winner(all, 1, TDT_ORIGIN_TUNED);
}

/* Times from a fixed sequence: many clocks that disagree, many ties. */
static unsigned next(unsigned *seed) {
  *seed = *seed * 1664525U + 1013904223U;
  return *seed >> 24;
}

static size_t find_least_max(double costs_ms[RANKS_MOST][8], unsigned n_ranks) {
  size_t least = 0;
  double least_ms = (double)INFINITY;
  for (size_t c = 0; c < 8; c++) {
    double max_ms = 0.0;
    for (unsigned i = 0; i < n_ranks; i++) {
      max_ms = fmax(max_ms, costs_ms[i][c]);
    }
    if (max_ms < least_ms) {
      least_ms = max_ms;
      least = c;
    }
  }
  return least;
}

static void test_case_R3_the_least_of_the_maxima(void **state) {
  ranks *all = *state;
  unsigned seed = 7;
  for (unsigned turn = 0; turn < 20; turn++) {
    double costs_ms[RANKS_MOST][8];
    for (unsigned i = 0; i < all->n; i++) {
      rig_offer(all->at[i].r, 8, (const int[]){1, 2, 3, 4, 5, 6, 7, 8});
      for (size_t c = 0; c < 8; c++) {
        costs_ms[i][c] = 1 + next(&seed) % 6;
      }
      ranks_set_costs(&all->at[i], costs_ms[i]);
      all->at[i].r->settings.always_tune = true;
    }
    ranks_run(all, "k");
    ranks_assert_winner(all, find_least_max(costs_ms, all->n), TDT_ORIGIN_TUNED);
  }
}

static void test_case_R3_a_useless_time_is_a_failure(void **state) {
  ranks *all = *state;
  for (unsigned odd = 0; odd < all->n; odd++) {
    ranks_restore(all);
    for (unsigned i = 0; i < all->n; i++) {
      rig_offer(all->at[i].r, 3, (const int[]){3, 2, 1});
      all->at[i].r->settings.always_tune = true;
    }
    /* The last candidate, as the clock stays useless. */
    all->at[odd].r->candidates[2].cost_ms = (double)NAN;
    ranks_run(all, "k");
    ranks_assert_winner(all, 1, TDT_ORIGIN_TUNED);
    all->at[odd].r->now_ms = 0.0;
    tdt_record *record = rig_record(all->at[0].r, "k");
    tdt_candidate candidate;
    assert_int_equal(tdt_record_candidate(record, 2, &candidate, NULL), TDT_OK);
    assert_int_equal(candidate.outcome, TDT_OUTCOME_FAILED);
    assert_contains(candidate.error, odd == 0 ? "rank 0: " : odd == 1 ? "rank 1: " : "rank 2: ");
    tdt_record_destroy(record);
  }
}

static void test_ranks_are_called_by_their_numbers(void **state) {
  static const unsigned numbers[] = {4, 7};
  ranks *all = *state;
  for (unsigned i = 0; i < all->n; i++) {
    all->at[i].group.numbers = numbers;
  }
  all->at[1].r->candidates[0].fails = "no memory";
  ranks_run(all, "k");
  ranks_assert_winner(all, 1, TDT_ORIGIN_TUNED);
  tdt_record *record = rig_record(all->at[0].r, "k");
  tdt_candidate candidate;
  assert_int_equal(tdt_record_candidate(record, 0, &candidate, NULL), TDT_OK);
  assert_string_equal(candidate.error, "rank 7: no memory");
  tdt_record_destroy(record);
  assert_int_equal(rig_count_files(all->at[0].r, "-rank4"), 1);
  assert_int_equal(rig_count_files(all->at[0].r, "-rank7"), 1);
}

/* -- how much is said ----------------------------------------------------------------------------
 */

typedef struct talked {
  unsigned n_rounds;
  unsigned n_max;
  size_t n_puts;
  size_t n_drops;
  size_t n_hits;
} talked;

/* What a tuning of n candidates takes, the same on all ranks. */
static talked count_tuning(ranks *all, size_t n) {
  int values[RIG_MOST];
  for (size_t i = 0; i < n; i++) {
    values[i] = 1 + (int)i;
  }
  for (unsigned i = 0; i < all->n; i++) {
    rig_offer(all->at[i].r, n, values);
    all->at[i].r->settings.always_tune = true;
  }
  const board_counts before = board_count(all->world.at);
  ranks_run(all, "k");
  ranks_assert_winner(all, 0, TDT_ORIGIN_TUNED);
  const board_counts after = board_count(all->world.at);
  for (unsigned i = 0; i < all->n; i++) {
    assert_int_equal(all->at[i].n_posts, all->at[0].n_posts);
    assert_int_equal(all->at[i].n_max, all->at[0].n_max);
  }
  return (talked){all->at[0].n_posts, all->at[0].n_max, after.n_puts - before.n_puts,
                  after.n_drops - before.n_drops, after.n_hits - before.n_hits};
}

static void test_R07_exchanges_do_not_grow_with_candidates(void **state) {
  ranks *all = *state;
  (void)count_tuning(all, 2); /* the group's own beginning */
  const talked few = count_tuning(all, 2);
  const talked many = count_tuning(all, RIG_MOST);
  const unsigned n_more = 2 * (RIG_MOST - 2); /* rounds: the barriers */
  assert_int_equal(few.n_max, 1);
  assert_int_equal(many.n_max, 1);
  assert_int_equal(many.n_rounds, few.n_rounds + n_more);
  /* A barrier: a message of each rank but 0, an answer that those read; all are dropped. */
  assert_int_equal(many.n_puts, few.n_puts + n_more * all->n);
  assert_int_equal(many.n_hits, few.n_hits + n_more * 2 * (all->n - 1));
  assert_int_equal(many.n_drops, few.n_drops + n_more * all->n);
}

static void test_R07_a_hit_is_one_round_and_no_reduction(void **state) {
  ranks *all = *state;
  ranks_run(all, "k");
  ranks_assert_winner(all, 1, TDT_ORIGIN_TUNED);
  for (unsigned i = 0; i < all->n; i++) {
    rig_restart(all->at[i].r);
  }
  ranks_run(all, "k");
  ranks_assert_winner(all, 1, TDT_ORIGIN_STORED);
  assert_int_equal(ranks_count_launched(all), 0);
  for (unsigned i = 0; i < all->n; i++) {
    assert_int_equal(all->at[i].n_posts, 1);
    assert_int_equal(all->at[i].n_max, 0);
  }
  ranks_run(all, "k");
  ranks_assert_winner(all, 1, TDT_ORIGIN_MEMORY);
  assert_int_equal(all->at[0].n_posts, 0);
}

static void test_R07_a_failing_candidate_changes_no_count(void **state) {
  ranks *all = *state;
  (void)count_tuning(all, 4);
  const talked good = count_tuning(all, 4);
  for (unsigned from_run = 1; from_run <= 7; from_run += 3) {
    for (unsigned i = 0; i < all->n; i++) {
      rig_offer(all->at[i].r, 4, (const int[]){1, 2, 3, 4});
    }
    all->at[1].r->candidates[2].fails = "no";
    all->at[1].r->candidates[2].from_run = from_run;
    ranks_run(all, "k");
    ranks_assert_winner(all, 0, TDT_ORIGIN_TUNED);
    for (unsigned i = 0; i < all->n; i++) {
      assert_int_equal(all->at[i].n_posts, good.n_rounds);
      assert_int_equal(all->at[i].n_max, 1);
    }
  }
}

/* -- what settings do ----------------------------------------------------------------------------
 */

static void test_F24_on_a_miss_all_use_the_first(void **state) {
  ranks *all = *state;
  for (unsigned i = 0; i < all->n; i++) {
    all->at[i].r->settings.on_miss = TDT_ON_MISS_FIRST;
  }
  ranks_run(all, "k");
  ranks_assert_winner(all, 0, TDT_ORIGIN_FIRST);
  assert_int_equal(ranks_count_launched(all), 0);
}

static void test_F24_on_a_miss_all_fail(void **state) {
  ranks *all = *state;
  for (unsigned i = 0; i < all->n; i++) {
    all->at[i].r->settings.on_miss = TDT_ON_MISS_ERROR;
  }
  ranks_run(all, "k");
  (void)ranks_assert_failed(all, TDT_EMISS);
  assert_int_equal(ranks_count_launched(all), 0);
  ranks_restore(all);
  ranks_assert_in_step(all, "k");
}

/* What one rank knows is no miss for the others. */
static void test_F24_a_hit_elsewhere_is_no_miss(void **state) {
  ranks *all = *state;
  ranks_part_stores(all);
  ranks_warm(all, 1, "k");
  for (unsigned i = 0; i < all->n; i++) {
    all->at[i].r->settings.on_miss = TDT_ON_MISS_ERROR;
  }
  ranks_run(all, "k");
  ranks_assert_winner(all, 1, TDT_ORIGIN_STORED);
}

static void test_F23_all_capture(void **state) {
  ranks *all = *state;
  for (unsigned i = 0; i < all->n; i++) {
    all->at[i].r->is_capturing = true;
  }
  ranks_run(all, "k");
  ranks_assert_winner(all, 0, TDT_ORIGIN_CAPTURING);
  assert_int_equal(ranks_count_launched(all), 0);
  for (unsigned i = 0; i < all->n; i++) {
    all->at[i].choice.candidate = 77;
    ranks_assert_forgotten(&all->at[i]);
  }
  ranks_restore(all);
  ranks_assert_in_step(all, "k");
}

static void test_F07_all_pruned(void **state) {
  ranks *all = *state;
  for (unsigned i = 0; i < all->n; i++) {
    for (size_t c = 0; c < 3; c++) {
      all->at[i].r->candidates[c].pruned = true;
    }
  }
  ranks_run(all, "k");
  assert_contains(ranks_assert_failed(all, TDT_EPRUNED), "all 3 candidates");
  ranks_restore(all);
  ranks_assert_in_step(all, "k");
}

/* Another process has the key's lock: a rank that waited would keep the others waiting. */
static tdt_status never_wait(rank *me, size_t candidate, tdt_error *error) {
  (void)me;
  (void)candidate;
  return tdt_error_set(error, TDT_ESTOPPED, "it waits");
}

static void test_S04_ranks_wait_for_no_process(void **state) {
  ranks *all = *state;
  const tdt_identity identity = rig_identity(all->at[0].r, "k");
  tdt__file_lock lock = TDT__FILE_LOCK_INIT;
  bool taken = false;
  assert_int_equal(tdt__store_lock_try(all->at[0].r->store, &identity, &lock, &taken, NULL),
                   TDT_OK);
  assert_true(taken);
  all->at[0].on_poll = never_wait;
  ranks_run(all, "k");
  ranks_assert_winner(all, 1, TDT_ORIGIN_TUNED);
  tdt__file_unlock(&lock);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      RANKS_TEST(2, test_R01_the_slowest_rank_counts),
      RANKS_TEST(2, test_R01_equal_times_the_lowest_index),
      RANKS_TEST(3, test_case_R3_the_least_of_the_maxima),
      RANKS_TEST(3, test_case_R3_a_useless_time_is_a_failure),
      RANKS_TEST(2, test_ranks_are_called_by_their_numbers),
      RANKS_TEST(3, test_R07_exchanges_do_not_grow_with_candidates),
      RANKS_TEST(3, test_R07_a_hit_is_one_round_and_no_reduction),
      RANKS_TEST(2, test_R07_a_failing_candidate_changes_no_count),
      RANKS_TEST(3, test_F24_on_a_miss_all_use_the_first),
      RANKS_TEST(3, test_F24_on_a_miss_all_fail),
      RANKS_TEST(2, test_F24_a_hit_elsewhere_is_no_miss),
      RANKS_TEST(3, test_F23_all_capture),
      RANKS_TEST(3, test_F07_all_pruned),
      RANKS_TEST(2, test_S04_ranks_wait_for_no_process),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
