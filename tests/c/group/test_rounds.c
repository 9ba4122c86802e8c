/* SPDX-License-Identifier: MIT */
#include "harness.h"

#include <pthread.h>
#include <stdatomic.h>

#include "group/rounds.h"

enum { N_THREADS = 6, N_TURNS = 2000 };

static int open_rounds(void **state) {
  tdt_group_rounds *rounds = NULL;
  const tdt_status status = tdt_group_rounds_create(&rounds, NULL);
  *state = rounds;
  return status == TDT_OK ? 0 : -1;
}

static int close_rounds(void **state) {
  tdt_group_rounds_destroy(*state);
  return 0;
}

static void test_rounds_are_numbered_from_1(void **state) {
  tdt_group_rounds *rounds = *state;
  assert_true(tdt__rounds_enter(rounds, 0.0));
  for (uint64_t i = 1; i <= 100; i++) {
    assert_int_equal(tdt__rounds_next(rounds), i);
  }
  tdt__rounds_leave(rounds);
  assert_true(tdt__rounds_enter(rounds, 0.0));
  assert_int_equal(tdt__rounds_next(rounds), 101);
  tdt__rounds_leave(rounds);
}

static void test_failures_are_counted(void **state) {
  tdt_group_rounds *rounds = *state;
  assert_true(tdt__rounds_enter(rounds, 0.0));
  assert_int_equal(tdt__rounds_n_failed(rounds), 0);
  tdt__rounds_fail(rounds);
  tdt__rounds_fail(rounds);
  assert_int_equal(tdt__rounds_n_failed(rounds), 2);
  assert_int_equal(tdt__rounds_next(rounds), 1);
  tdt__rounds_leave(rounds);
}

static void *try_once(void *argument) {
  tdt_group_rounds *rounds = argument;
  const bool entered = tdt__rounds_enter(rounds, 0.0);
  if (entered) {
    tdt__rounds_leave(rounds);
  }
  return entered ? argument : NULL;
}

/* Whether another thread could have the floor now. */
static bool is_free(tdt_group_rounds *rounds) {
  pthread_t other;
  void *got = NULL;
  assert_int_equal(pthread_create(&other, NULL, try_once, rounds), 0);
  assert_int_equal(pthread_join(other, &got), 0);
  return got != NULL;
}

static void test_the_floor_is_let_go_as_often_as_it_was_had(void **state) {
  tdt_group_rounds *rounds = *state;
  assert_true(is_free(rounds));
  for (unsigned i = 0; i < 3; i++) {
    assert_true(tdt__rounds_enter(rounds, 0.0));
    assert_false(is_free(rounds));
  }
  for (unsigned i = 0; i < 2; i++) {
    tdt__rounds_leave(rounds);
    assert_false(is_free(rounds));
  }
  tdt__rounds_leave(rounds);
  assert_true(is_free(rounds));
}

/* A thread that wants the floor while another has it. */
typedef struct waiter {
  tdt_group_rounds *rounds;
  atomic_uint n_slices;
  uint64_t round;
} waiter;

static void *wait_in_slices(void *argument) {
  waiter *me = argument;
  while (!tdt__rounds_enter(me->rounds, 0.01)) {
    me->n_slices++;
  }
  me->round = tdt__rounds_next(me->rounds);
  tdt__rounds_leave(me->rounds);
  return NULL;
}

static void test_a_slice_ends_and_the_next_may_bring_the_floor(void **state) {
  tdt_group_rounds *rounds = *state;
  waiter other = {.rounds = rounds};
  pthread_t thread;
  assert_true(tdt__rounds_enter(rounds, 0.0));
  assert_int_equal(pthread_create(&thread, NULL, wait_in_slices, &other), 0);
  while (other.n_slices < 3) {
    (void)sched_yield();
  }
  assert_int_equal(tdt__rounds_next(rounds), 1);
  tdt__rounds_leave(rounds);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(other.round, 2);
}

static void *wait_for_ever(void *argument) {
  tdt_group_rounds *rounds = argument;
  const bool entered = tdt__rounds_enter(rounds, 3600.0);
  if (entered) {
    tdt__rounds_leave(rounds);
  }
  return entered ? argument : NULL;
}

/* One that sleeps is woken: this test would take an hour otherwise. */
static void test_leaving_wakes_who_waits(void **state) {
  tdt_group_rounds *rounds = *state;
  pthread_t threads[N_THREADS];
  assert_true(tdt__rounds_enter(rounds, 0.0));
  for (size_t i = 0; i < N_THREADS; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, wait_for_ever, rounds), 0);
  }
  assert_false(is_free(rounds));
  tdt__rounds_leave(rounds);
  for (size_t i = 0; i < N_THREADS; i++) {
    void *got = NULL;
    assert_int_equal(pthread_join(threads[i], &got), 0);
    assert_non_null(got);
  }
}

/* Takes turns with the others; `argument` counts under the floor alone. */
typedef struct shared {
  tdt_group_rounds *rounds;
  unsigned n_inside;
  unsigned n_overlaps;
} shared;

static void *take_turns(void *argument) {
  shared *all = argument;
  for (unsigned i = 0; i < N_TURNS; i++) {
    while (!tdt__rounds_enter(all->rounds, 0.05)) {
    }
    all->n_overlaps += all->n_inside != 0;
    all->n_inside++;
    (void)tdt__rounds_enter(all->rounds, 0.0);
    (void)tdt__rounds_next(all->rounds);
    tdt__rounds_leave(all->rounds);
    all->n_inside--;
    tdt__rounds_leave(all->rounds);
  }
  return NULL;
}

static void test_one_thread_at_a_time(void **state) {
  shared all = {.rounds = *state};
  pthread_t threads[N_THREADS];
  for (size_t i = 0; i < N_THREADS; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, take_turns, &all), 0);
  }
  for (size_t i = 0; i < N_THREADS; i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
  }
  assert_int_equal(all.n_overlaps, 0);
  assert_true(tdt__rounds_enter(all.rounds, 0.0));
  assert_int_equal(tdt__rounds_next(all.rounds), N_THREADS * N_TURNS + 1);
  tdt__rounds_leave(all.rounds);
}

static void test_nothing_is_destroyed(void **state) {
  (void)state;
  tdt_group_rounds_destroy(NULL);
}

#define ROUNDS_TEST(f) cmocka_unit_test_setup_teardown(f, open_rounds, close_rounds)

int main(void) {
  const struct CMUnitTest tests[] = {
      ROUNDS_TEST(test_rounds_are_numbered_from_1),
      ROUNDS_TEST(test_failures_are_counted),
      ROUNDS_TEST(test_the_floor_is_let_go_as_often_as_it_was_had),
      ROUNDS_TEST(test_a_slice_ends_and_the_next_may_bring_the_floor),
      ROUNDS_TEST(test_leaving_wakes_who_waits),
      ROUNDS_TEST(test_one_thread_at_a_time),
      cmocka_unit_test(test_nothing_is_destroyed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
