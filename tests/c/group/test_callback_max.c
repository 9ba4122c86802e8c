/* SPDX-License-Identifier: MIT */
#include "crew.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "group/message.h"

enum { WORLD = 3, N_LARGE = 300000 };

static int open_world(void **state) {
  static board_world world;
  *state = &world;
  return board_world_open(&world, WORLD) ? 0 : -1;
}

static int close_world(void **state) {
  board_world_close(*state);
  return 0;
}

static tdt_status start(const board_world *world, unsigned rank, const double *values, size_t n,
                        tdt_error *error) {
  const tdt_group *group = &world->groups[rank];
  return group->table->start_max(group->self, values, n, error);
}

static tdt_status wait(const board_world *world, unsigned rank, double *values, bool *done,
                       tdt_error *error) {
  const tdt_group *group = &world->groups[rank];
  return group->table->wait_max(group->self, 0.0, values, done, error);
}

/* Whether the result was there; `values` are left alone if not. */
static bool ended(const board_world *world, unsigned rank, double *values) {
  bool done = false;
  assert_int_equal(wait(world, rank, values, &done, NULL), TDT_OK);
  return done;
}

/* All ranks in this thread: rank r begins with values[r], each must end with `expected`. */
static void reduce(const board_world *world, size_t n, const double *const *values,
                   const double *expected) {
  double *result = malloc((n + 1) * sizeof *result);
  assert_non_null(result);
  for (unsigned r = 0; r < world->n; r++) {
    assert_int_equal(start(world, r, values[r], n, NULL), TDT_OK);
  }
  for (unsigned r = 0; r < world->n; r++) {
    result[n] = 77.0;
    assert_true(ended(world, r, result));
    assert_memory_equal(result, expected, n * sizeof *result);
    assert_true(result[n] == 77.0);
  }
  free(result);
}

static void carry(const board_world *world, uint64_t round, unsigned from, unsigned to) {
  const tdt_group *receiver = &world->groups[to];
  tdt_message message = {0};
  assert_int_equal(receiver->table->take(receiver->self, round, from, 0.0, &message, NULL), TDT_OK);
  assert_non_null(message.bytes);
  tdt__message_clear(&message);
}

static void post(const board_world *world, uint64_t round, unsigned rank) {
  const tdt_group *group = &world->groups[rank];
  assert_int_equal(group->table->post(group->self, round, "x", 1, NULL), TDT_OK);
}

static void whole_round(const board_world *world, uint64_t round) {
  for (unsigned r = 1; r < world->n; r++) {
    post(world, round, r);
    carry(world, round, r, 0);
  }
  post(world, round, 0);
  for (unsigned r = 1; r < world->n; r++) {
    carry(world, round, 0, r);
  }
}

static void test_values_by_way_of_the_store(void **state) {
  const board_world *world = *state;
  const double zero[] = {1.0, INFINITY, -INFINITY, -INFINITY, DBL_TRUE_MIN, 0.1, -1.0, 3.0};
  const double one[] = {2.0, 1.0, 5.0, -INFINITY, 0.0, nextafter(0.1, 1.0), -2.0, INFINITY};
  const double two[] = {1.5, 2.0, -INFINITY, -INFINITY, 0.0, 0.1, -DBL_MIN, INFINITY};
  const double most[] = {2.0,      INFINITY, 5.0, -INFINITY, DBL_TRUE_MIN, nextafter(0.1, 1.0),
                         -DBL_MIN, INFINITY};
  const double *values[] = {zero, one, two};
  whole_round(world, 1);
  reduce(world, N_OF(zero), values, most);
  /* Rank 0's answer and the result, which stays until the next. */
  assert_int_equal(board_count(world->at).n_alive, 2);
  whole_round(world, 2);
  assert_int_equal(board_count(world->at).n_alive, 2);
  reduce(world, N_OF(zero), values, most);
  assert_int_equal(board_count(world->at).n_alive, 2);
}

static void test_no_values(void **state) {
  const board_world *world = *state;
  const double *values[] = {NULL, NULL, NULL};
  const double nothing = 0.0;
  whole_round(world, 1);
  reduce(world, 0, values, &nothing);
}

static void test_so_many_values_that_they_come_in_pieces(void **state) {
  const board_world *world = *state;
  double *large[WORLD + 1];
  for (size_t r = 0; r <= WORLD; r++) {
    large[r] = calloc(N_LARGE, sizeof(double));
    assert_non_null(large[r]);
  }
  for (size_t i = 0; i < N_LARGE; i++) {
    large[i % WORLD][i] = (double)i;
    large[WORLD][i] = (double)i;
  }
  whole_round(world, 1);
  reduce(world, N_LARGE, (const double *const *)large, large[WORLD]);
  assert_int_equal(board_count(world->at).n_alive, 1 + 3);
  whole_round(world, 2);
  reduce(world, 1, (const double *const *)large, large[WORLD]);
  assert_int_equal(board_count(world->at).n_alive, 1 + 1);
  for (size_t r = 0; r <= WORLD; r++) {
    free(large[r]);
  }
}

/* Values as they are at round `round`. */
static void reduce_numbers(const board_world *world, uint64_t round) {
  const double zero[] = {(double)round, 0.0, 0.0};
  const double one[] = {0.0, (double)round + 1.0, 0.0};
  const double two[] = {0.0, 0.0, (double)round + 2.0};
  const double most[] = {(double)round, (double)round + 1.0, (double)round + 2.0};
  const double *values[] = {zero, one, two};
  reduce(world, 3, values, most);
}

static void test_one_after_another(void **state) {
  const board_world *world = *state;
  for (uint64_t round = 1; round <= 300; round++) {
    whole_round(world, round);
    for (uint64_t i = 0; i < round % 3; i++) {
      reduce_numbers(world, 1000 * round + i);
    }
  }
  assert_in_range(board_count(world->at).n_most_alive, WORLD, 2 * WORLD);
  assert_int_equal(board_count(world->at).n_alive, 2);
}

static void test_groups_made_anew_agree_on_the_keys(void **state) {
  board_world *world = *state;
  for (uint64_t round = 1; round <= 200; round++) {
    /* Not all of them: a rank's group may live on. */
    for (unsigned r = 0; r < WORLD; r++) {
      if ((round + r) % 2 == 0) {
        assert_int_equal(board_world_renew(world, r), TDT_OK);
      }
    }
    whole_round(world, round);
    reduce_numbers(world, round);
    assert_int_equal(board_count(world->at).n_alive, 2);
  }
}

/* A rank that was stopped as it waited takes part in other rounds before it comes back. */
static void test_R05_a_result_waits_for_all(void **state) {
  const board_world *world = *state;
  const double values[] = {1.0, 3.0, 2.0};
  double result = 0.0;
  whole_round(world, 1);
  for (unsigned r = 0; r < WORLD; r++) {
    assert_int_equal(start(world, r, &values[r], 1, NULL), TDT_OK);
  }
  assert_true(ended(world, 0, &result));
  whole_round(world, 2);
  whole_round(world, 3);
  for (unsigned r = 1; r < WORLD; r++) {
    result = 0.0;
    assert_true(ended(world, r, &result));
    assert_true(result == 3.0);
  }
}

static void test_nobody_ends_before_the_last_has_begun(void **state) {
  const board_world *world = *state;
  double value = 1.0;
  const double mine = 5.0;
  whole_round(world, 1);
  assert_int_equal(start(world, 0, &mine, 1, NULL), TDT_OK);
  assert_false(ended(world, 0, &value));
  assert_int_equal(start(world, 1, &mine, 1, NULL), TDT_OK);
  assert_false(ended(world, 0, &value));
  assert_false(ended(world, 1, &value));
  assert_int_equal(start(world, 2, &mine, 1, NULL), TDT_OK);
  assert_false(ended(world, 2, &value));
  assert_true(value == 1.0);
  assert_true(ended(world, 0, &value));
  assert_true(value == 5.0);
  assert_true(ended(world, 2, &value));
  assert_true(ended(world, 1, &value));
}

static void test_a_slice_is_waited_for(void **state) {
  const board_world *world = *state;
  for (unsigned rank = 0; rank < WORLD; rank++) {
    const double mine = (double)rank;
    board_delay(world->at, rank, 0.05);
    assert_int_equal(start(world, rank, &mine, 1, NULL), TDT_OK);
  }
  for (unsigned rank = 0; rank < WORLD; rank++) {
    const tdt_group *group = &world->groups[rank];
    double most = 0.0;
    bool done = false;
    assert_int_equal(group->table->wait_max(group->self, 3600.0, &most, &done, NULL), TDT_OK);
    assert_true(done);
    assert_true(most == 2.0);
  }
}

static void assert_never_finished(const board_world *world, unsigned rank) {
  tdt_error error = TDT_ERROR_INIT;
  double value = 1.0;
  bool done = false;
  assert_int_equal(wait(world, rank, &value, &done, &error), TDT_EGROUP);
  assert_contains(tdt_error_text(&error), "no reduction is under way");
  assert_int_equal(start(world, rank, &value, 1, &error), TDT_EGROUP);
  assert_contains(tdt_error_text(&error), "never finished");
  assert_false(done);
  tdt_error_clear(&error);
}

static void test_out_of_turn(void **state) {
  const board_world *world = *state;
  tdt_error error = TDT_ERROR_INIT;
  double value = 1.0;
  bool done = false;
  assert_int_equal(wait(world, 1, &value, &done, &error), TDT_EGROUP);
  assert_contains(tdt_error_text(&error), "no reduction is under way");
  assert_int_equal(start(world, 1, &value, 1, NULL), TDT_OK);
  assert_int_equal(start(world, 1, &value, 1, &error), TDT_EGROUP);
  assert_contains(tdt_error_text(&error), "never finished");
  /* The first goes on all the same. */
  assert_int_equal(start(world, 0, &value, 1, NULL), TDT_OK);
  assert_int_equal(start(world, 2, &value, 1, NULL), TDT_OK);
  assert_true(ended(world, 0, &value));
  assert_true(ended(world, 1, &value));
  tdt_error_clear(&error);
}

static void test_failures_are_passed_on(void **state) {
  const board_world *world = *state;
  const double value = 1.0;
  double result = 2.0;
  bool done = false;
  tdt_error error = TDT_ERROR_INIT;
  board_fail(world->at, 1, BOARD_PUT, 1, TDT_EGROUP, "no ink");
  assert_int_equal(start(world, 1, &value, 1, &error), TDT_EGROUP);
  assert_string_equal(tdt_error_text(&error), "no ink");
  assert_never_finished(world, 1);
  board_fail(world->at, 0, BOARD_GET, 1, TDT_ESTOPPED, "no light");
  assert_int_equal(start(world, 0, &value, 1, &error), TDT_OK);
  assert_int_equal(wait(world, 0, &result, &done, &error), TDT_ESTOPPED);
  assert_string_equal(tdt_error_text(&error), "no light");
  assert_never_finished(world, 0);
  assert_int_equal(start(world, 2, &value, 1, &error), TDT_OK);
  assert_false(ended(world, 2, &result));
  assert_true(result == 2.0);
  tdt_error_clear(&error);
}

/* Else rank 0 alone would have no result. */
static void test_what_cannot_be_removed_is_left_behind(void **state) {
  const board_world *world = *state;
  const double values[] = {1.0, 3.0, 2.0};
  const double *const of_ranks[] = {&values[0], &values[1], &values[2]};
  board_fail(world->at, 0, BOARD_DROP, 1, TDT_EGROUP, "stuck");
  reduce(world, 1, of_ranks, &values[1]);
  reduce(world, 1, of_ranks, &values[1]);
}

static void test_different_numbers_of_values(void **state) {
  const board_world *world = *state;
  static const unsigned numbers[] = {7, 8, 9};
  const tdt_group_callbacks callbacks = board_callbacks(world->at, 0);
  tdt_group zero;
  assert_int_equal(tdt_group_callback_create(&callbacks, 0, WORLD, numbers, world->groups[0].rounds,
                                             &zero, NULL),
                   TDT_OK);
  const double values[2] = {1.0, 2.0};
  double result[2] = {0.0, 0.0};
  bool done = false;
  tdt_error error = TDT_ERROR_INIT;
  assert_int_equal(zero.table->start_max(zero.self, values, 2, NULL), TDT_OK);
  assert_int_equal(start(world, 1, values, 1, NULL), TDT_OK);
  assert_int_equal(zero.table->wait_max(zero.self, 0.0, result, &done, &error), TDT_EGROUP);
  assert_string_equal(tdt_error_text(&error), "rank 8 reduces 1 values where rank 7 has 2");
  assert_false(done);
  tdt_error_clear(&error);
  tdt_group_callback_destroy(&zero);
}

static bool reduce_for_long(crew_member *me) {
  const tdt_group *group = me->group;
  for (unsigned i = 0; i < 300; i++) {
    const double mine[2] = {(double)((me->rank + i) % group->n_ranks), -(double)me->rank};
    double most[2] = {0.0, 0.0};
    bool done = false;
    EXPECT(me, group->table->start_max(group->self, mine, 2, &me->error) == TDT_OK);
    while (!done) {
      EXPECT(me, group->table->wait_max(group->self, 0.05, most, &done, &me->error) == TDT_OK);
    }
    EXPECT(me, most[0] == (double)(group->n_ranks - 1));
    EXPECT(me, most[1] == 0.0);
  }
  return true;
}

static void test_between_threads(void **state) {
  (void)state;
  board_world world;
  assert_true(board_world_open(&world, 4));
  crew_run(&world, reduce_for_long);
  assert_in_range(board_count(world.at).n_most_alive, 4, 2 * 4);
  assert_int_equal(board_count(world.at).n_alive, 1);
  board_world_close(&world);
}

/* A reduction of the caller's own. */
typedef struct own_max {
  size_t n_started;
  size_t n_waited;
  double first;
  tdt_status status;
} own_max;

static tdt_status no_put(void *user, const char *key, const void *bytes, size_t size,
                         tdt_error *error) {
  (void)user;
  (void)bytes;
  (void)size;
  return tdt_error_set(error, TDT_EGROUP, "put of %s", key);
}

static tdt_status no_get(void *user, const char *key, double slice_s, tdt_message *message,
                         tdt_error *error) {
  (void)user;
  (void)slice_s;
  (void)message;
  return tdt_error_set(error, TDT_EGROUP, "get of %s", key);
}

static tdt_status own_start(void *user, const double *values, size_t n, tdt_error *error) {
  own_max *me = user;
  me->n_started += n;
  me->first = values[0];
  return me->status != TDT_OK ? tdt_error_set(error, me->status, "no start") : TDT_OK;
}

static tdt_status own_wait(void *user, double slice_s, double *values, bool *done,
                           tdt_error *error) {
  own_max *me = user;
  me->n_waited++;
  if (me->status != TDT_OK) {
    return tdt_error_set(error, me->status, "no end");
  }
  if (slice_s == 0.25) {
    values[0] = me->first * 2.0;
    *done = true;
  }
  return TDT_OK;
}

static void test_the_callers_own_reduction(void **state) {
  const board_world *world = *state;
  own_max own = {0};
  const tdt_group_callbacks callbacks = {sizeof callbacks, &own,    no_put, no_get, NULL,
                                         own_start,        own_wait};
  tdt_group group;
  assert_int_equal(
      tdt_group_callback_create(&callbacks, 1, 2, NULL, world->groups[1].rounds, &group, NULL),
      TDT_OK);
  const double values[3] = {4.0, 5.0, 6.0};
  double result[3] = {0.0, 0.0, 0.0};
  bool done = false;
  tdt_error error = TDT_ERROR_INIT;
  assert_int_equal(group.table->start_max(group.self, values, 3, &error), TDT_OK);
  assert_int_equal(own.n_started, 3);
  assert_int_equal(group.table->wait_max(group.self, 0.5, result, &done, &error), TDT_OK);
  assert_false(done);
  assert_int_equal(group.table->wait_max(group.self, 0.25, result, &done, &error), TDT_OK);
  assert_true(done);
  assert_true(result[0] == 8.0);
  assert_int_equal(own.n_waited, 2);
  own.status = TDT_ESTOPPED;
  assert_int_equal(group.table->start_max(group.self, values, 3, &error), TDT_ESTOPPED);
  assert_string_equal(tdt_error_text(&error), "no start");
  assert_int_equal(group.table->wait_max(group.self, 0.0, result, &done, &error), TDT_ESTOPPED);
  assert_string_equal(tdt_error_text(&error), "no end");
  tdt_error_clear(&error);
  tdt_group_callback_destroy(&group);
}

#define WORLD_TEST(f) cmocka_unit_test_setup_teardown(f, open_world, close_world)

int main(void) {
  const struct CMUnitTest tests[] = {
      WORLD_TEST(test_values_by_way_of_the_store),
      WORLD_TEST(test_no_values),
      WORLD_TEST(test_so_many_values_that_they_come_in_pieces),
      WORLD_TEST(test_one_after_another),
      WORLD_TEST(test_groups_made_anew_agree_on_the_keys),
      WORLD_TEST(test_R05_a_result_waits_for_all),
      WORLD_TEST(test_nobody_ends_before_the_last_has_begun),
      WORLD_TEST(test_a_slice_is_waited_for),
      WORLD_TEST(test_out_of_turn),
      WORLD_TEST(test_failures_are_passed_on),
      WORLD_TEST(test_what_cannot_be_removed_is_left_behind),
      WORLD_TEST(test_different_numbers_of_values),
      cmocka_unit_test(test_between_threads),
      WORLD_TEST(test_the_callers_own_reduction),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
