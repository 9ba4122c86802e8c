/* SPDX-License-Identifier: MIT */
/* R03, R06: what the ranks' stores know, and who writes. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ranks_rig.h"

/* What a later process of each rank sees. */
static void restart(ranks *all) {
  for (unsigned i = 0; i < all->n; i++) {
    rig_restart(all->at[i].r);
  }
}

static void assert_rounds(const ranks *all, unsigned n) {
  for (unsigned i = 0; i < all->n; i++) {
    assert_int_equal(all->at[i].n_posts, n);
  }
}

/* The next start finds the same on all ranks: nothing is handed over, nothing written. */
static void assert_settled(ranks *all, const char *key, size_t winner) {
  restart(all);
  ranks_run(all, key);
  ranks_assert_winner(all, winner, TDT_ORIGIN_STORED);
  assert_int_equal(ranks_count_launched(all), 0);
  assert_rounds(all, 1);
}

static size_t stored_winner(const rank *me, const char *key) {
  tdt_record *record = rig_record(me->r, key);
  assert_non_null(record);
  assert_true(tdt_record_complete(record));
  const size_t best = tdt_record_best(record);
  tdt_record_destroy(record);
  return best;
}

/* -- R03 -----------------------------------------------------------------------------------------
 */

static void test_R03_case_R1_a_hit_on_one_rank(void **state) {
  static const char *const keys[] = {"a", "b", "c", "d"};
  ranks *all = *state;
  ranks_part_stores(all);
  for (unsigned knows = 0; knows < all->n; knows++) {
    const char *key = keys[knows];
    ranks_set_costs(&all->at[knows], (const double[]){2, 3, 1}); /* its winner is its own */
    ranks_warm(all, knows, key);
    ranks_run(all, key);
    ranks_assert_winner(all, 2, TDT_ORIGIN_STORED);
    assert_int_equal(ranks_count_launched(all), 0);
    assert_rounds(all, 2);
    assert_int_equal(all->at[0].n_max, 0);
    for (unsigned i = 0; i < all->n; i++) {
      assert_int_equal(stored_winner(&all->at[i], key), 2);
    }
    assert_settled(all, key, 2);
    ranks_set_costs(&all->at[knows], (const double[]){3, 1, 2});
  }
}

static void test_R03_hits_with_different_winners(void **state) {
  ranks *all = *state;
  ranks_part_stores(all);
  ranks_set_costs(&all->at[1], (const double[]){1, 2, 3});
  ranks_set_costs(&all->at[2], (const double[]){3, 2, 1});
  ranks_warm(all, 1, "k");
  ranks_warm(all, 2, "k");
  ranks_run(all, "k");
  ranks_assert_winner(all, 0, TDT_ORIGIN_STORED); /* of rank 1, the lowest that knows */
  assert_int_equal(ranks_count_launched(all), 0);
  for (unsigned i = 0; i < all->n; i++) {
    assert_int_equal(stored_winner(&all->at[i], "k"), 0);
  }
  assert_settled(all, "k", 0);
}

/* Each has times of its own, but they agree on what matters. */
static void test_R03_different_records_of_one_winner(void **state) {
  ranks *all = *state;
  ranks_part_stores(all);
  for (unsigned i = 0; i < all->n; i++) {
    const double costs_ms[] = {3, 1 + 0.1 * i, 2};
    ranks_set_costs(&all->at[i], costs_ms);
    ranks_warm(all, i, "k");
  }
  assert_settled(all, "k", 1);
}

/* One rank knows some candidates, another knows all. */
static void test_R03_a_partial_record_gives_way(void **state) {
  ranks *all = *state;
  ranks_part_stores(all);
  ranks_warm(all, 0, "k");
  for (unsigned i = 0; i < all->n; i++) {
    rig_offer(all->at[i].r, 4, (const int[]){3, 1, 2, 4});
  }
  ranks_warm(all, 1, "k");
  ranks_run(all, "k");
  ranks_assert_winner(all, 1, TDT_ORIGIN_STORED);
  assert_int_equal(ranks_count_launched(all), 0);
  assert_settled(all, "k", 1);
}

/* Only the new candidate is measured, beside the winner that is known. */
static void test_R03_F19_a_partial_record_on_one_rank(void **state) {
  ranks *all = *state;
  for (unsigned knows = 0; knows < all->n; knows++) {
    char key[2] = {(char)('a' + knows), '\0'};
    ranks_restore(all);
    ranks_part_stores(all);
    ranks_warm(all, knows, key);
    for (unsigned i = 0; i < all->n; i++) {
      rig_offer(all->at[i].r, 4, (const int[]){3, 2, 4, 1});
    }
    ranks_run(all, key);
    ranks_assert_winner(all, 3, TDT_ORIGIN_TUNED);
    for (unsigned i = 0; i < all->n; i++) {
      const rig *r = all->at[i].r;
      assert_int_equal(r->candidates[0].n_launched, 0);
      assert_int_equal(r->candidates[1].n_launched, 0);
      assert_true(r->candidates[2].n_launched > 0);
      assert_true(r->candidates[3].n_launched > 0);
    }
    assert_settled(all, key, 3);
  }
}

/* Times that go on are those of the rank by which all go. */
static void test_R03_times_of_the_lowest_rank_are_used(void **state) {
  ranks *all = *state;
  ranks_part_stores(all);
  ranks_set_costs(&all->at[0], (const double[]){3, 1, 2});
  ranks_set_costs(&all->at[1], (const double[]){5, 1, 2});
  ranks_warm(all, 0, "k");
  ranks_warm(all, 1, "k");
  for (unsigned i = 0; i < all->n; i++) {
    rig_offer(all->at[i].r, 4, (const int[]){3, 1, 2, 4});
  }
  ranks_run(all, "k");
  ranks_assert_winner(all, 1, TDT_ORIGIN_TUNED);
  for (unsigned i = 0; i < all->n; i++) {
    tdt_record *record = rig_record(all->at[i].r, "k");
    tdt_candidate candidate;
    assert_int_equal(all->at[i].r->candidates[0].n_launched, 0);
    assert_int_equal(tdt_record_candidate(record, 0, &candidate, NULL), TDT_OK);
    assert_true(candidate.time_ms == 3.0);
    tdt_record_destroy(record);
  }
}

static void test_R03_a_stopped_tuning_of_one_rank(void **state) {
  ranks *all = *state;
  ranks_part_stores(all);
  rank *me = &all->at[1];
  me->r->stop_at = 20; /* the first candidate is done */
  me->r->request.group = NULL;
  (void)rig_fail(me->r, "k", TDT_ESTOPPED);
  me->r->request.group = &me->group;
  me->r->stop_at = 0;
  ranks_run(all, "k");
  ranks_assert_winner(all, 1, TDT_ORIGIN_TUNED);
  assert_settled(all, "k", 1);
}

enum { LONG_SIZE = 400000, N_LONG = 5 };

static void test_R03_a_record_of_megabytes(void **state) {
  static char reasons[N_LONG][LONG_SIZE + 1];
  int values[N_LONG + 1];
  ranks *all = *state;
  ranks_part_stores(all);
  for (int i = 0; i < N_LONG; i++) {
    memset(reasons[i], 'a' + i, LONG_SIZE);
    values[i] = i;
  }
  values[N_LONG] = N_LONG;
  for (unsigned i = 0; i < all->n; i++) {
    rig_offer(all->at[i].r, N_LONG + 1, values);
  }
  for (int i = 0; i < N_LONG; i++) {
    all->at[0].r->candidates[i].fails = reasons[i];
  }
  ranks_warm(all, 0, "k");
  ranks_run(all, "k");
  ranks_assert_winner(all, N_LONG, TDT_ORIGIN_STORED);
  tdt_record *record = rig_record(all->at[1].r, "k");
  tdt_candidate candidate;
  assert_int_equal(tdt_record_candidate(record, N_LONG - 1, &candidate, NULL), TDT_OK);
  assert_string_equal(candidate.error, reasons[N_LONG - 1]);
  tdt_record_destroy(record);
  assert_settled(all, "k", N_LONG);
}

/* Ranks may run on different hardware; what one found is used by all, and each stores it as its
 * own. */
static void test_R03_other_hardware(void **state) {
  static const char *const hardware[] = {"{\"gpu\":\"a\"}", "{\"gpu\":\"b\"}"};
  ranks *all = *state;
  ranks_part_stores(all);
  for (unsigned i = 0; i < all->n; i++) {
    all->at[i].r->request.hardware = hardware[i];
  }
  ranks_warm(all, 0, "k");
  ranks_run(all, "k");
  ranks_assert_winner(all, 1, TDT_ORIGIN_STORED);
  tdt_identity identity = rig_identity(all->at[1].r, "k");
  identity.hardware = hardware[1];
  tdt_record *record = NULL;
  assert_int_equal(tdt_store_load(all->at[1].r->store, &identity, &record, NULL), TDT_OK);
  assert_int_equal(tdt_record_best(record), 1);
  tdt_record_destroy(record);
  identity.hardware = hardware[0];
  assert_int_equal(tdt_store_load(all->at[1].r->store, &identity, &record, NULL), TDT_ENOENT);
  assert_settled(all, "k", 1);
}

static void test_R03_F18_a_record_of_other_software(void **state) {
  ranks *all = *state;
  ranks_part_stores(all);
  all->at[0].r->request.dependencies = "{\"lib\":\"1\"}";
  ranks_warm(all, 0, "k");
  for (unsigned i = 0; i < all->n; i++) {
    all->at[i].r->request.dependencies = "{\"lib\":\"2\"}";
  }
  ranks_run(all, "k");
  ranks_assert_winner(all, 1, TDT_ORIGIN_STORED);
  for (unsigned i = 0; i < all->n; i++) {
    assert_contains(all->at[i].r->log, "lib");
    assert_int_equal(all->at[i].r->n_warnings, 1);
  }
  assert_settled(all, "k", 1);
}

/* -- R06 -----------------------------------------------------------------------------------------
 */

static unsigned count_writers(const ranks *all) {
  unsigned n = 0;
  for (unsigned i = 0; i < all->n; i++) {
    n += all->at[i].r->log != NULL && strstr(all->at[i].r->log, "stored in ") != NULL ? 1 : 0;
  }
  return n;
}

static void test_R06_one_root_one_writer(void **state) {
  ranks *all = *state;
  ranks_run(all, "k");
  ranks_assert_winner(all, 1, TDT_ORIGIN_TUNED);
  assert_int_equal(count_writers(all), 1);
  assert_contains(all->at[0].r->log, "stored in ");
  assert_int_equal(rig_count_files(all->at[0].r, ".json"), 1);
  assert_settled(all, "k", 1);
}

static void test_R06_case_R6_a_writer_for_each_root(void **state) {
  ranks *all = *state;
  all->at[2].r->request.store = all->at[2].r->store;
  all->at[3].r->request.store = all->at[2].r->store;
  ranks_run(all, "k");
  ranks_assert_winner(all, 1, TDT_ORIGIN_TUNED);
  assert_int_equal(count_writers(all), 2);
  assert_contains(all->at[0].r->log, "stored in ");
  assert_contains(all->at[2].r->log, "stored in ");
  assert_settled(all, "k", 1);
}

/* Each kind of hardware has a record of its own, also in a store that all share. */
static void test_R06_one_root_and_other_hardware(void **state) {
  static const char *const hardware[] = {"{\"gpu\":\"a\"}", "{\"gpu\":\"b\"}"};
  ranks *all = *state;
  for (unsigned i = 0; i < all->n; i++) {
    all->at[i].r->request.hardware = hardware[i % 2];
  }
  ranks_run(all, "k");
  ranks_assert_winner(all, 1, TDT_ORIGIN_TUNED);
  assert_int_equal(count_writers(all), 2);
  assert_settled(all, "k", 1);
}

static void test_R06_no_store_on_one_rank(void **state) {
  ranks *all = *state;
  for (unsigned without = 0; without < all->n; without++) {
    char key[2] = {(char)('a' + without), '\0'};
    tdt_store *store = all->at[without].r->request.store;
    all->at[without].r->request.store = NULL;
    ranks_run(all, key);
    ranks_assert_winner(all, 1, TDT_ORIGIN_TUNED);
    assert_int_equal(count_writers(all), 1);
    restart(all);
    ranks_run(all, key); /* the one without is told again and again */
    ranks_assert_winner(all, 1, TDT_ORIGIN_STORED);
    assert_rounds(all, 2);
    assert_int_equal(ranks_count_launched(all), 0);
    all->at[without].r->request.store = store;
  }
}

/* A record of other software, and nowhere to remember that this was said. */
static void test_R06_F18_no_store_and_other_software(void **state) {
  ranks *all = *state;
  all->at[0].r->request.dependencies = "{\"lib\":\"1\"}";
  ranks_warm(all, 0, "k");
  all->at[1].r->request.store = NULL;
  all->at[1].r->request.dependencies = "{\"lib\":\"2\"}";
  ranks_run(all, "k");
  ranks_assert_winner(all, 1, TDT_ORIGIN_STORED);
}

static void test_no_store_at_all(void **state) {
  ranks *all = *state;
  for (unsigned i = 0; i < all->n; i++) {
    all->at[i].r->request.store = NULL;
  }
  ranks_run(all, "k");
  ranks_assert_winner(all, 1, TDT_ORIGIN_TUNED);
  restart(all);
  ranks_run(all, "k");
  ranks_assert_winner(all, 1, TDT_ORIGIN_TUNED);
}

/* A root below a file can be made by nobody, not even by root. */
static tdt_store *open_unusable(const rank *me) {
  char file[300];
  char root[320];
  tdt_store *store = NULL;
  (void)snprintf(file, sizeof file, "%s/file", me->r->root);
  (void)snprintf(root, sizeof root, "%s/below", file);
  FILE *made = fopen(file, "w");
  assert_non_null(made);
  (void)fclose(made);
  assert_int_equal(tdt_store_open(root, &store, NULL), TDT_OK);
  return store;
}

static void test_R06_F15_an_unusable_root_on_one_rank(void **state) {
  ranks *all = *state;
  for (unsigned odd = 0; odd < all->n; odd++) {
    char key[2] = {(char)('a' + odd), '\0'};
    rank *me = &all->at[odd];
    tdt_store *store = open_unusable(me);
    tdt_store *usual = me->r->request.store;
    me->r->request.store = store;
    ranks_run(all, key);
    ranks_assert_winner(all, 1, TDT_ORIGIN_TUNED);
    for (unsigned i = 0; i < all->n; i++) {
      assert_int_equal(all->at[i].r->n_warnings, i == odd ? 1 : 0);
    }
    assert_contains(me->r->log, "results are kept in memory only");
    assert_int_equal(count_writers(all), 1);
    restart(all);
    ranks_run(all, key);
    ranks_assert_winner(all, 1, TDT_ORIGIN_STORED);
    me->r->request.store = usual;
    tdt_store_close(store);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      RANKS_TEST(4, test_R03_case_R1_a_hit_on_one_rank),
      RANKS_TEST(3, test_R03_hits_with_different_winners),
      RANKS_TEST(3, test_R03_different_records_of_one_winner),
      RANKS_TEST(2, test_R03_a_partial_record_gives_way),
      RANKS_TEST(3, test_R03_F19_a_partial_record_on_one_rank),
      RANKS_TEST(2, test_R03_times_of_the_lowest_rank_are_used),
      RANKS_TEST(3, test_R03_a_stopped_tuning_of_one_rank),
      RANKS_TEST(2, test_R03_a_record_of_megabytes),
      RANKS_TEST(2, test_R03_other_hardware),
      RANKS_TEST(2, test_R03_F18_a_record_of_other_software),
      RANKS_TEST(4, test_R06_one_root_one_writer),
      RANKS_TEST(4, test_R06_case_R6_a_writer_for_each_root),
      RANKS_TEST(4, test_R06_one_root_and_other_hardware),
      RANKS_TEST(3, test_R06_no_store_on_one_rank),
      RANKS_TEST(2, test_R06_F18_no_store_and_other_software),
      RANKS_TEST(2, test_no_store_at_all),
      RANKS_TEST(3, test_R06_F15_an_unusable_root_on_one_rank),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
