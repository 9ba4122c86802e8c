/* SPDX-License-Identifier: MIT */
/* Two ranks, each a thread with a world of its own, and a scripted group between them. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "board.h"
#include "rig.h"

#include "store/directory.h"

enum { N_RANKS = 2 };

typedef struct rank {
  board_world *world;
  unsigned number;
  rig *r;
  tdt_status status;
  tdt_choice choice;
  tdt_error error;
} rank;

static int setup(void **state) {
  static rank ranks[N_RANKS];
  static board_world world;
  memset(ranks, 0, sizeof ranks);
  if (!board_world_open(&world, N_RANKS)) {
    return -1;
  }
  for (unsigned i = 0; i < N_RANKS; i++) {
    void *made = NULL;
    if (rig_setup(&made) != 0) {
      return -1;
    }
    ranks[i].world = &world;
    ranks[i].number = i;
    ranks[i].r = made;
    ranks[i].r->request.group = &world.groups[i];
    ranks[i].r->request.store = ranks[0].r->store; /* one file system */
    ranks[i].r->request.key = "k";
  }
  *state = ranks;
  return 0;
}

static int teardown(void **state) {
  rank *ranks = *state;
  for (unsigned i = N_RANKS; i-- > 0;) {
    void *made = ranks[i].r;
    tdt_error_clear(&ranks[i].error);
    (void)rig_teardown(&made);
  }
  board_world_close(ranks[0].world);
  return 0;
}

static void *take_part(void *argument) {
  rank *me = argument;
  me->status = tdt_tuner_resolve(me->r->tuner, &me->r->request, &me->choice, &me->error);
  return NULL;
}

static void run(rank *ranks) {
  pthread_t threads[N_RANKS];
  (void)alarm(120);
  for (unsigned i = 0; i < N_RANKS; i++) {
    rig_reset_counters(ranks[i].r);
    assert_int_equal(pthread_create(&threads[i], NULL, take_part, &ranks[i]), 0);
  }
  for (unsigned i = 0; i < N_RANKS; i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
  }
  (void)alarm(0);
}

static void set_costs(rank *ranks, const double costs[N_RANKS][3]) {
  for (unsigned i = 0; i < N_RANKS; i++) {
    for (size_t c = 0; c < 3; c++) {
      ranks[i].r->candidates[c].cost_ms = costs[i][c];
    }
  }
}

static void assert_winner(rank *ranks, size_t winner) {
  for (unsigned i = 0; i < N_RANKS; i++) {
    assert_int_equal(ranks[i].status, TDT_OK);
    assert_int_equal(ranks[i].choice.candidate, winner);
  }
}

static void test_R01_the_slowest_rank_counts(void **state) {
  const double opposite[N_RANKS][3] = {{1, 2, 3}, {5, 2.5, 1}};
  rank *ranks = *state;
  set_costs(ranks, opposite); /* max: 5, 2.5, 3 */
  run(ranks);
  assert_winner(ranks, 1);
  tdt_record *record = rig_record(ranks[0].r, "k");
  tdt_candidate candidate;
  char *text;
  assert_int_equal(tdt_record_candidate(record, 0, &candidate, NULL), TDT_OK);
  assert_true(candidate.time_ms == 5.0); /* of all ranks; the samples are the writer's */
  assert_true(candidate.samples_ms[0] == 1.0);
  assert_int_equal(tdt_record_json(record, &text, NULL), TDT_OK);
  assert_contains(text, "\"ranks\": 2");
  tdt_text_free(text);
  tdt_record_destroy(record);
  assert_int_equal(rig_count_files(ranks[0].r, ".json"), 1);
  assert_int_equal(rig_count_files(ranks[0].r, "-rank0"), 1);
  assert_int_equal(rig_count_files(ranks[0].r, "-rank1"), 1);
}

static void test_R01_equal_times_the_lowest_index(void **state) {
  const double ties[N_RANKS][3] = {{9, 4, 2}, {1, 3, 4}};
  rank *ranks = *state;
  set_costs(ranks, ties); /* max: 9, 4, 4 */
  run(ranks);
  assert_winner(ranks, 1);
}

static void test_R04_failed_on_one_rank_is_failed_on_all(void **state) {
  rank *ranks = *state;
  ranks[1].r->candidates[1].fails = "OutOfMemoryError";
  run(ranks);
  assert_winner(ranks, 2);
  tdt_record *record = rig_record(ranks[0].r, "k");
  tdt_candidate candidate;
  assert_int_equal(tdt_record_candidate(record, 1, &candidate, NULL), TDT_OK);
  assert_int_equal(candidate.outcome, TDT_OUTCOME_FAILED);
  assert_string_equal(candidate.error, "rank 1: OutOfMemoryError");
  tdt_record_destroy(record);
}

static void test_R04_a_useless_time_is_a_failure(void **state) {
  rank *ranks = *state;
  for (unsigned i = 0; i < N_RANKS; i++) {
    rig_offer(ranks[i].r, 3, (const int[]){3, 2, 1});
  }
  ranks[0].r->candidates[2].cost_ms = (double)NAN; /* the last, as the clock stays useless */
  run(ranks);
  assert_winner(ranks, 1);
}

static void test_R04_none_works_on_all_ranks(void **state) {
  rank *ranks = *state;
  ranks[0].r->candidates[0].fails = "zero here";
  ranks[1].r->candidates[1].fails = "one there";
  ranks[0].r->candidates[2].fails = "two here";
  run(ranks);
  for (unsigned i = 0; i < N_RANKS; i++) {
    assert_int_equal(ranks[i].status, TDT_EFAILED);
    assert_contains(tdt_error_text(&ranks[i].error), "rank 1: one there");
  }
  assert_null(rig_record(ranks[0].r, "k"));
}

static void test_a_group_that_fails_ends_the_tuning(void **state) {
  rank *ranks = *state;
  board_fail(ranks[0].world->at, 0, BOARD_GET, 1, TDT_EGROUP, "rank 1 hung up");
  assert_string_equal(rig_fail(ranks[0].r, "k", TDT_EGROUP), "rank 1 hung up");
  assert_null(rig_record(ranks[0].r, "k"));
}

static void test_a_stored_result_needs_no_exchange(void **state) {
  rank *ranks = *state;
  run(ranks);
  for (unsigned i = 0; i < N_RANKS; i++) {
    rig_restart(ranks[i].r);
  }
  run(ranks);
  for (unsigned i = 0; i < N_RANKS; i++) {
    assert_int_equal(ranks[i].choice.origin, TDT_ORIGIN_STORED);
  }
}

/* Ranks that know different records go by that of the lowest. */
static void test_R03_times_of_the_lowest_rank_are_used(void **state) {
  const double alone[N_RANKS][3] = {{3, 1, 2}, {5, 1, 2}};
  rank *ranks = *state;
  ranks[1].r->request.store = ranks[1].r->store;
  set_costs(ranks, alone);
  for (unsigned i = 0; i < N_RANKS; i++) {
    ranks[i].r->request.group = NULL;
    (void)rig_resolve(ranks[i].r, "k");
    rig_offer(ranks[i].r, 4, (const int[]){3, 1, 2, 4});
    ranks[i].r->request.group = &ranks[i].world->groups[i];
  }
  run(ranks);
  assert_winner(ranks, 1);
  assert_int_equal(ranks[0].r->candidates[0].n_launched, 0);
  tdt_record *record = rig_record(ranks[0].r, "k");
  tdt_candidate candidate;
  assert_int_equal(tdt_record_candidate(record, 0, &candidate, NULL), TDT_OK);
  assert_true(candidate.time_ms == 3.0);
  tdt_record_destroy(record);
}

static tdt_status never_wait(void *user, tdt_error *error) {
  (void)user;
  return tdt_error_set(error, TDT_ESTOPPED, "it waits");
}

/* Another process has the key's lock: a rank that waited would keep the others waiting. */
static void test_S04_ranks_wait_for_no_process(void **state) {
  rank *ranks = *state;
  const tdt_identity identity = rig_identity(ranks[0].r, "k");
  tdt__file_lock lock = TDT__FILE_LOCK_INIT;
  bool taken = false;
  assert_int_equal(tdt__store_lock_try(ranks[0].r->store, &identity, &lock, &taken, NULL), TDT_OK);
  assert_true(taken);
  ranks[0].r->request.poll = never_wait;
  ranks[1].r->request.poll = never_wait;
  run(ranks);
  assert_winner(ranks, 1);
  tdt__file_unlock(&lock);
}

#define RANKS_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      RANKS_TEST(test_R01_the_slowest_rank_counts),
      RANKS_TEST(test_R01_equal_times_the_lowest_index),
      RANKS_TEST(test_R03_times_of_the_lowest_rank_are_used),
      RANKS_TEST(test_R04_failed_on_one_rank_is_failed_on_all),
      RANKS_TEST(test_R04_a_useless_time_is_a_failure),
      RANKS_TEST(test_R04_none_works_on_all_ranks),
      RANKS_TEST(test_a_group_that_fails_ends_the_tuning),
      RANKS_TEST(test_a_stored_result_needs_no_exchange),
      RANKS_TEST(test_S04_ranks_wait_for_no_process),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
