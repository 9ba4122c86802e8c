/* SPDX-License-Identifier: MIT */
/* Started by an MPI launcher with 2 ranks or more. Every rank runs every test, in step. */
#include "harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <tdtune/mpi.h>

#include "group/message.h"
#include "mpi_world.h"

/* Within this everything comes that comes at all. */
#define PATIENCE_S 60.0
#define SLICE_S    0.02
#define HINT       (UINT64_C(1) << 63)

static double now_s(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void create(tdt_group *group, const void *communicator) {
  tdt_error error = TDT_ERROR_INIT;
  const tdt_group_mpi_options options = {.size = sizeof options, .communicator = communicator};
  const tdt_status status = tdt_group_mpi_create(&options, group, &error);
  if (status != TDT_OK) {
    fail_msg("tdt_group_mpi_create: %s", tdt_error_text(&error));
  }
}

/* Bytes that tell rank, round and place. */
static unsigned char byte_at(unsigned rank, uint64_t round, size_t i) {
  return (unsigned char)(rank + round * 17U + i * 7U + i / 251U);
}

static void post(const tdt_group *group, uint64_t round, size_t size) {
  unsigned char *bytes = malloc(size + 1);
  assert_non_null(bytes);
  for (size_t i = 0; i < size; i++) {
    bytes[i] = byte_at(group->rank, round, i);
  }
  tdt_error error = TDT_ERROR_INIT;
  if (group->table->post(group->self, round, bytes, size, &error) != TDT_OK) {
    fail_msg("post in round %llu: %s", (unsigned long long)round, tdt_error_text(&error));
  }
  memset(bytes, 0, size); /* it was copied */
  free(bytes);
}

/* Whether the message is there within the slice; it is what that rank posts. */
static bool take_within(const tdt_group *group, uint64_t round, unsigned from, size_t size,
                        double slice_s) {
  tdt_error error = TDT_ERROR_INIT;
  tdt_message message = {0};
  if (group->table->take(group->self, round, from, slice_s, &message, &error) != TDT_OK) {
    fail_msg("take in round %llu: %s", (unsigned long long)round, tdt_error_text(&error));
  }
  if (message.bytes == NULL) {
    return false;
  }
  assert_int_equal(message.size, size);
  for (size_t i = 0; i < size; i++) {
    if ((unsigned char)message.bytes[i] != byte_at(from, round, i)) {
      fail_msg("byte %zu of %zu from rank %u is wrong", i, size, from);
    }
  }
  assert_int_equal(message.bytes[size], '\0');
  tdt__message_clear(&message);
  return true;
}

static void take(const tdt_group *group, uint64_t round, unsigned from, size_t size) {
  const double until = now_s() + PATIENCE_S;
  while (!take_within(group, round, from, size, SLICE_S)) {
    if (now_s() > until) {
      fail_msg("round %llu: nothing came from rank %u", (unsigned long long)round, from);
    }
  }
}

/* What a round is: all to rank 0, and its answer to all. */
static void play_round(const tdt_group *group, uint64_t round, size_t size, size_t answer_size) {
  if (group->rank != 0) {
    post(group, round, size);
    take(group, round, 0, answer_size);
    return;
  }
  for (unsigned from = 1; from < group->n_ranks; from++) {
    take(group, round, from, size);
  }
  post(group, round, answer_size);
}

static bool wait_max(const tdt_group *group, double *values, double patience_s) {
  const double until = now_s() + patience_s;
  bool done = false;
  while (!done && now_s() < until) {
    assert_int_equal(group->table->wait_max(group->self, SLICE_S, values, &done, NULL), TDT_OK);
  }
  return done;
}

/* -- one group for all the world --------------------------------------------------------------- */

static tdt_group all;

static void test_group_is_the_world(void **state) {
  (void)state;
  assert_int_equal(all.rank, world.rank);
  assert_int_equal(all.n_ranks, world.n_ranks);
  assert_int_equal(all.table->abi, TDT_GROUP_ABI);
  assert_int_equal(all.table->size, sizeof(tdt_group_table));
  assert_non_null(all.rounds);
  for (unsigned i = 0; i < all.n_ranks; i++) {
    assert_int_equal(all.numbers[i], i);
  }
}

static void test_rounds_of_all_sizes(void **state) {
  (void)state;
  static const size_t sizes[] = {0, 1, 1000, 4096, 70000, (size_t)4 << 20, 3, 0};
  for (size_t i = 0; i < N_OF(sizes); i++) {
    play_round(&all, 1 + i, sizes[i], sizes[N_OF(sizes) - 1 - i]);
  }
}

/* A message's round counts whole, not its last bits. */
static void test_many_rounds(void **state) {
  (void)state;
  for (uint64_t i = 0; i < 300; i++) {
    play_round(&all, 1000 + i * 32768, 20, 30);
  }
}

/* The last rank leaves three rounds in a row with a note and never takes their answers. */
static void test_notes_ahead(void **state) {
  (void)state;
  const uint64_t round = UINT64_C(1) << 40;
  const unsigned last = all.n_ranks - 1;
  if (all.rank == last) {
    for (uint64_t i = 0; i < 4; i++) {
      post(&all, round + i, 50);
    }
    take(&all, round + 3, 0, 60);
    return;
  }
  for (uint64_t i = 0; i < 4; i++) {
    play_round(&all, round + i, 50, 60);
  }
}

/* Rank 0 fails in the middle of a round; what the others posted in it is not in the way later. */
static void test_messages_never_taken(void **state) {
  (void)state;
  const uint64_t round = UINT64_C(1) << 41;
  if (all.rank != 0) {
    post(&all, round, 100000);
    take(&all, round, 0, 5);
  } else {
    post(&all, round, 5);
  }
  play_round(&all, round + 1, 10, 10);
}

static void test_a_later_message_waits(void **state) {
  (void)state;
  const uint64_t round = UINT64_C(1) << 42;
  if (all.rank != 0) {
    post(&all, round, 8);
    take(&all, round, 0, 9);
    return;
  }
  for (unsigned from = 1; from < all.n_ranks; from++) {
    /* Asked for in vain first: this round's is no answer to the one before. */
    assert_false(take_within(&all, round - 1, from, 8, 5 * SLICE_S));
    take(&all, round, from, 8);
    assert_false(take_within(&all, round, from, 8, 0.0)); /* each once */
  }
  post(&all, round, 9);
}

static void test_hints(void **state) {
  (void)state;
  const uint64_t round = UINT64_C(1) << 43;
  if (all.rank == 0) {
    post(&all, (round - 1) | HINT, 11); /* nobody wants it */
    post(&all, round | HINT, 12);
  } else {
    const double until = now_s() + PATIENCE_S;
    while (!take_within(&all, round | HINT, 0, 12, 0.0)) {
      assert_true(now_s() < until);
    }
    assert_false(take_within(&all, round, 0, 12, 0.0));
  }
  play_round(&all, round, 13, 14);
  if (all.rank == 0) {
    post(&all, (round + 1) | HINT, 15); /* nor this, before its round is over */
  }
  play_round(&all, round + 1, 16, 17);
}

/* Slices pass while a rank is absent, and nobody hangs. */
static void test_absent_rank(void **state) {
  (void)state;
  const uint64_t round = UINT64_C(1) << 44;
  if (all.rank != 0) {
    take(&all, round, 0, 1); /* it is absent until rank 0 has seen that it is */
    post(&all, round, 2);
    return;
  }
  const double start = now_s();
  for (int i = 0; i < 5; i++) {
    assert_false(take_within(&all, round, all.n_ranks - 1, 2, SLICE_S));
  }
  assert_true(now_s() - start >= 5 * SLICE_S);
  post(&all, round, 1);
  for (unsigned from = 1; from < all.n_ranks; from++) {
    take(&all, round, from, 2);
  }
}

static void test_nothing_from_where_nothing_comes(void **state) {
  (void)state;
  tdt_error error = TDT_ERROR_INIT;
  tdt_message message = {0};
  const unsigned from = all.rank == 0 ? 0 : 1;
  assert_int_equal(all.table->take(all.self, 1, from, 0.0, &message, &error), TDT_EGROUP);
  assert_contains(tdt_error_text(&error), "nothing to take");
  assert_int_equal(all.table->take(all.self, 1, all.n_ranks, 0.0, &message, NULL), TDT_EGROUP);
  tdt_error_clear(&error);
}

static void test_R01_max_with_infinities(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    double values[4] = {all.rank, -(double)all.rank - i, all.rank == 0 ? (double)INFINITY : 1.0, i};
    assert_int_equal(all.table->start_max(all.self, values, 4, NULL), TDT_OK);
    memset(values, 0, sizeof values); /* they were copied */
    assert_true(wait_max(&all, values, PATIENCE_S));
    const double expected[4] = {all.n_ranks - 1, -(double)i, (double)INFINITY, i};
    assert_memory_equal(values, expected, sizeof values);
  }
  assert_int_equal(all.table->start_max(all.self, NULL, 0, NULL), TDT_OK);
  assert_true(wait_max(&all, NULL, PATIENCE_S));
}

static void test_no_max_is_under_way(void **state) {
  (void)state;
  double value = 1.0;
  bool done = false;
  assert_int_equal(all.table->wait_max(all.self, 0.0, &value, &done, NULL), TDT_EGROUP);
  assert_false(done);
}

/* -- others ------------------------------------------------------------------------------------ */

/* Even and odd ranks, in falling order, at the same time; and all of them after that. */
static void test_case_R6_subgroups(void **state) {
  (void)state;
  const tdt__mpi_handle part = mpi_world_split(world.rank % 2, -world.rank);
  tdt_group group = {0};
  create(&group, mpi_world_comm(&part));
  assert_int_equal(group.n_ranks, (world.n_ranks + 1 - world.rank % 2) / 2);
  assert_int_equal(group.numbers[group.rank], world.rank);
  for (unsigned i = 1; i < group.n_ranks; i++) {
    assert_int_equal(group.numbers[i - 1], group.numbers[i] + 2);
  }
  for (uint64_t round = 1; round < 5; round++) {
    play_round(&group, round, 100, 200);
  }
  double value = world.rank;
  assert_int_equal(group.table->start_max(group.self, &value, 1, NULL), TDT_OK);
  assert_true(wait_max(&group, &value, PATIENCE_S));
  assert_true(value == (double)group.numbers[0]);
  play_round(&all, UINT64_C(1) << 45, 1, 2);
  tdt_group_mpi_destroy(&group);
  assert_null(group.self);
}

/* Two groups over one communicator know nothing of each other. */
static void test_two_groups(void **state) {
  (void)state;
  tdt_group first = {0};
  tdt_group second = {0};
  create(&first, NULL);
  create(&second, NULL);
  if (world.rank != 0) {
    post(&first, 1, 5);
    post(&second, 1, 6);
  } else {
    for (unsigned from = 1; from < second.n_ranks; from++) {
      take(&second, 1, from, 6);
      take(&first, 1, from, 5);
    }
  }
  tdt_group_mpi_destroy(&second);
  tdt_group_mpi_destroy(&first);
}

/* One that is destroyed while a message that is long is on its way does not wait for ever, and one
 * that is never taken is no harm. */
static void test_destroyed_with_messages_left(void **state) {
  (void)state;
  tdt_group group = {0};
  create(&group, NULL);
  post(&group, 1, (size_t)4 << 20);
  tdt_group_mpi_destroy(&group);
  mpi_world_barrier();
}

/* All but the last rank begin. It ends for them with their patience, and the group as well. */
static void test_R05_unfinished_max(void **state) {
  (void)state;
  tdt_group group = {0};
  create(&group, NULL);
  double value = 7.0;
  if (world.rank != world.n_ranks - 1) {
    tdt_error error = TDT_ERROR_INIT;
    assert_int_equal(group.table->start_max(group.self, &value, 1, NULL), TDT_OK);
    assert_false(wait_max(&group, &value, 5 * SLICE_S));
    assert_true(value == 7.0);
    assert_int_equal(group.table->start_max(group.self, &value, 1, &error), TDT_EGROUP);
    assert_contains(tdt_error_text(&error), "never finished");
    tdt_error_clear(&error);
  }
  mpi_world_barrier(); /* messages still get through */
  play_round(&group, 1, 3, 4);
  tdt_group_mpi_destroy(&group);
}

static void test_refused_communicators(void **state) {
  (void)state;
  tdt_error error = TDT_ERROR_INIT;
  tdt_group group = {0};
  tdt_group_mpi_options options = {
      .size = sizeof options,
      .communicator = mpi_world_comm(&world.mpi.constants.comm_null),
  };
  assert_int_equal(tdt_group_mpi_create(&options, &group, &error), TDT_EINVAL);
  assert_contains(tdt_error_text(&error), "MPI_COMM_NULL");
  const tdt__mpi_handle bridge = mpi_world_bridge();
  options.communicator = mpi_world_comm(&bridge);
  assert_int_equal(tdt_group_mpi_create(&options, &group, &error), TDT_EINVAL);
  assert_contains(tdt_error_text(&error), "intercommunicator");
  options = (tdt_group_mpi_options){.size = 1};
  assert_int_equal(tdt_group_mpi_create(&options, &group, &error), TDT_EINVAL);
  assert_null(group.self);
  tdt_error_clear(&error);
}

/* -- before and after -------------------------------------------------------------------------- */

static void assert_refused(const char *why) {
  tdt_error error = TDT_ERROR_INIT;
  tdt_group group = {0};
  assert_int_equal(tdt_group_mpi_create(NULL, &group, &error), TDT_EGROUP);
  assert_contains(tdt_error_text(&error), why);
  assert_null(group.self);
  tdt_error_clear(&error);
}

static void test_not_initialised(void **state) {
  (void)state;
  assert_refused("not initialised");
}

static void test_finalized(void **state) {
  (void)state;
  assert_refused("finalized");
  tdt_group_mpi_destroy(&all); /* too late, and no harm */
  assert_null(all.self);
}

static int in_step(void **state) {
  (void)state;
  mpi_world_barrier();
  return 0;
}

static int run_all(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_group_is_the_world, in_step),
      cmocka_unit_test_setup(test_rounds_of_all_sizes, in_step),
      cmocka_unit_test_setup(test_many_rounds, in_step),
      cmocka_unit_test_setup(test_notes_ahead, in_step),
      cmocka_unit_test_setup(test_messages_never_taken, in_step),
      cmocka_unit_test_setup(test_a_later_message_waits, in_step),
      cmocka_unit_test_setup(test_hints, in_step),
      cmocka_unit_test_setup(test_absent_rank, in_step),
      cmocka_unit_test_setup(test_nothing_from_where_nothing_comes, in_step),
      cmocka_unit_test_setup(test_R01_max_with_infinities, in_step),
      cmocka_unit_test_setup(test_no_max_is_under_way, in_step),
      cmocka_unit_test_setup(test_case_R6_subgroups, in_step),
      cmocka_unit_test_setup(test_two_groups, in_step),
      cmocka_unit_test_setup(test_destroyed_with_messages_left, in_step),
      cmocka_unit_test_setup(test_R05_unfinished_max, in_step),
      cmocka_unit_test_setup(test_refused_communicators, in_step),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) {
  const struct CMUnitTest before[] = {cmocka_unit_test(test_not_initialised)};
  const struct CMUnitTest after[] = {cmocka_unit_test(test_finalized)};
  if (!mpi_world_open()) {
    (void)fprintf(stderr, "mpi_ranks: to be started by an MPI launcher\n");
    return 77;
  }
  int n_failed = cmocka_run_group_tests(before, NULL, NULL);
  mpi_world_init();
  if (tdt_group_mpi_create(NULL, &all, NULL) != TDT_OK) {
    mpi_world_close(1);
  }
  n_failed += run_all();
  mpi_world_close(n_failed);
  n_failed += cmocka_run_group_tests(after, NULL, NULL);
  return n_failed == 0 ? 0 : 1;
}
