/* SPDX-License-Identifier: MIT */
/* Several threads, one context. Whatever would hang ends in SIGALRM. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

#include <tdtune/tdtune.h>

enum { N_THREADS = 8, N_CANDIDATES = 3, N_LAUNCHES = N_CANDIDATES * 15, LONGEST_S = 120 };

typedef struct world {
  tdt_context *context;
  tdt_space *space;
  tdt_tuner *tuner;
  atomic_uint n_launched;
  pthread_mutex_t mutex;
  size_t order[N_THREADS * N_LAUNCHES]; /* who launched, in order */
  size_t n_order;
  pthread_barrier_t barrier;
} world;

/* One thread's part: its own device on a clock of its own. */
typedef struct party {
  world *w;
  size_t number;
  const char *key;
  const char *device_id;
  double now_ms;
  double marks_ms[64];
  void (*during_launch)(struct party *self, size_t candidate);
  void (*during_prune)(struct party *self);
  void (*during_poll)(struct party *self);
  tdt_status poll_status;
  tdt_status launch_status;
  struct party *other; /* whose key it asks for from inside a launch */
  atomic_bool flag;
  bool asked;
  tdt_status status;
  tdt_choice choice;
  tdt_choice nested;
  tdt_error error;
} party;

static tdt_status reserve(void *self, size_t n_marks, tdt_error *error) {
  (void)self;
  (void)error;
  return n_marks <= 64 ? TDT_OK : TDT_ENOMEM;
}

static tdt_status mark(void *self, size_t index, tdt_error *error) {
  party *p = self;
  (void)error;
  p->marks_ms[index] = p->now_ms;
  return TDT_OK;
}

static tdt_status elapsed_ms(void *self, size_t start, size_t stop, double *ms, tdt_error *error) {
  party *p = self;
  (void)error;
  *ms = p->marks_ms[stop] - p->marks_ms[start];
  return TDT_OK;
}

static tdt_status synchronize(void *self, tdt_error *error) {
  (void)self;
  (void)error;
  return TDT_OK;
}

static const tdt_device_table table = {TDT_DEVICE_ABI, sizeof table, "scripted",  reserve,
                                       mark,           elapsed_ms,   synchronize, NULL};

static tdt_status launch(void *user, size_t candidate, tdt_error *error) {
  static const double cost_ms[N_CANDIDATES] = {3, 1, 2};
  party *p = user;
  atomic_fetch_add(&p->w->n_launched, 1);
  (void)pthread_mutex_lock(&p->w->mutex);
  if (p->w->n_order < N_OF(p->w->order)) {
    p->w->order[p->w->n_order++] = p->number;
  }
  (void)pthread_mutex_unlock(&p->w->mutex);
  if (p->during_launch != NULL) {
    p->during_launch(p, candidate);
  }
  p->now_ms += cost_ms[candidate];
  return p->launch_status == TDT_OK ? TDT_OK : tdt_error_set(error, p->launch_status, "no luck");
}

static tdt_status prune(void *user, size_t candidate, bool *keep, tdt_error *error) {
  party *p = user;
  (void)error;
  *keep = true;
  if (p->during_prune != NULL && candidate == 0) {
    p->during_prune(p);
  }
  return TDT_OK;
}

static tdt_status poll_thread(void *user, tdt_error *error) {
  party *p = user;
  if (p->during_poll != NULL) {
    p->during_poll(p);
  }
  return p->poll_status == TDT_OK ? TDT_OK : tdt_error_set(error, p->poll_status, "enough");
}

static tdt_status ask(party *p, const char *key, tdt_choice *choice, tdt_error *error) {
  const tdt_device device = {&table, p, "scripted", p->device_id};
  tdt_request request;
  tdt_request_init(&request);
  request.key = key;
  request.device = &device;
  request.user = p;
  request.launch = launch;
  request.prune = prune;
  request.poll = poll_thread;
  return tdt_tuner_resolve(p->w->tuner, &request, choice, error);
}

static void *take_part(void *argument) {
  party *p = argument;
  p->status = ask(p, p->key, &p->choice, &p->error);
  return NULL;
}

static void run(party *parties, size_t n) {
  pthread_t threads[N_THREADS];
  (void)alarm(LONGEST_S);
  for (size_t i = 0; i < n; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, take_part, &parties[i]), 0);
  }
  for (size_t i = 0; i < n; i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
  }
  (void)alarm(0);
}

static void set_parties(world *w, party *parties, size_t n) {
  static const char *const keys[N_THREADS] = {"k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"};
  memset(parties, 0, n * sizeof *parties);
  for (size_t i = 0; i < n; i++) {
    parties[i].w = w;
    parties[i].number = i;
    parties[i].key = keys[i];
    parties[i].device_id = "one";
    parties[i].error = (tdt_error)TDT_ERROR_INIT;
  }
}

static int setup(void **state) {
  const char *const configs[N_CANDIDATES] = {"{\"c\":0}", "{\"c\":1}", "{\"c\":2}"};
  const tdt_function function = {.name = "scale"};
  world *w = calloc(1, sizeof *w);
  if (w == NULL || pthread_mutex_init(&w->mutex, NULL) != 0 ||
      pthread_barrier_init(&w->barrier, NULL, 2) != 0 ||
      tdt_context_create(&w->context, NULL) != TDT_OK ||
      tdt_space_create(configs, N_CANDIDATES, &w->space, NULL) != TDT_OK ||
      tdt_tuner_create(w->context, &function, w->space, NULL, &w->tuner, NULL) != TDT_OK) {
    return -1;
  }
  *state = w;
  return 0;
}

static int teardown(void **state) {
  world *w = *state;
  tdt_tuner_destroy(w->tuner);
  tdt_space_destroy(w->space);
  tdt_context_destroy(w->context);
  (void)pthread_barrier_destroy(&w->barrier);
  (void)pthread_mutex_destroy(&w->mutex);
  free(w);
  return 0;
}

static void test_case_T1_one_key_is_tuned_once(void **state) {
  world *w = *state;
  party parties[N_THREADS];
  unsigned n_tuned = 0;
  set_parties(w, parties, N_THREADS);
  for (size_t i = 0; i < N_THREADS; i++) {
    parties[i].key = "k";
  }
  run(parties, N_THREADS);
  for (size_t i = 0; i < N_THREADS; i++) {
    assert_int_equal(parties[i].status, TDT_OK);
    assert_int_equal(parties[i].choice.candidate, 1);
    assert_true(parties[i].choice.remembered);
    n_tuned += parties[i].choice.origin == TDT_ORIGIN_TUNED ? 1 : 0;
  }
  assert_int_equal(n_tuned, 1);
  assert_int_equal(w->n_launched, N_LAUNCHES);
}

static void give_others_a_chance(party *self, size_t candidate) {
  (void)self;
  (void)candidate;
  (void)usleep(50);
}

static void test_case_T1_measurements_on_one_device_never_overlap(void **state) {
  world *w = *state;
  party parties[N_THREADS];
  size_t n_changes = 0;
  set_parties(w, parties, N_THREADS);
  for (size_t i = 0; i < N_THREADS; i++) {
    parties[i].during_launch = give_others_a_chance;
  }
  run(parties, N_THREADS);
  for (size_t i = 0; i < N_THREADS; i++) {
    assert_int_equal(parties[i].status, TDT_OK);
    assert_int_equal(parties[i].choice.origin, TDT_ORIGIN_TUNED);
  }
  assert_int_equal(w->n_order, N_THREADS * N_LAUNCHES);
  for (size_t i = 1; i < w->n_order; i++) {
    n_changes += w->order[i] != w->order[i - 1] ? 1 : 0;
  }
  assert_int_equal(n_changes, N_THREADS - 1); /* one tuning after another */
}

static void meet(party *self, size_t candidate) {
  (void)candidate;
  (void)pthread_barrier_wait(&self->w->barrier);
}

static void test_different_devices_measure_at_the_same_time(void **state) {
  party parties[2];
  set_parties(*state, parties, 2);
  for (size_t i = 0; i < 2; i++) {
    parties[i].during_launch = meet; /* each run of one goes together with a run of the other */
  }
  parties[1].device_id = "two";
  run(parties, 2);
  assert_int_equal(parties[0].status, TDT_OK);
  assert_int_equal(parties[1].status, TDT_OK);
}

static void set_flag(party *self) {
  atomic_store(&self->flag, true);
}

static void wait_for_flag_of_other(party *self, size_t candidate) {
  (void)candidate;
  while (!atomic_load(&self->other->flag)) {
    (void)usleep(100);
  }
}

/* The second starts only when the first is inside its tuning. */
static void set_flag_once(party *self, size_t candidate) {
  atomic_store(&self->flag, true);
  wait_for_flag_of_other(self, candidate);
}

static void *take_part_second(void *argument) {
  party *p = argument;
  wait_for_flag_of_other(p, 0);
  return take_part(p);
}

/* parties[1] waits for parties[0]'s tuning, which goes on only once the former polls. */
static void run_waiter(party *parties) {
  pthread_t threads[2];
  parties[0].other = &parties[1];
  parties[1].other = &parties[0];
  parties[1].key = parties[0].key;
  parties[0].during_launch = set_flag_once;
  parties[1].during_poll = set_flag;
  (void)alarm(LONGEST_S);
  assert_int_equal(pthread_create(&threads[0], NULL, take_part, &parties[0]), 0);
  assert_int_equal(pthread_create(&threads[1], NULL, take_part_second, &parties[1]), 0);
  assert_int_equal(pthread_join(threads[0], NULL), 0);
  assert_int_equal(pthread_join(threads[1], NULL), 0);
  (void)alarm(0);
}

static void test_a_waiting_thread_gets_the_answer_from_memory(void **state) {
  party parties[2];
  set_parties(*state, parties, 2);
  run_waiter(parties);
  assert_int_equal(parties[0].choice.origin, TDT_ORIGIN_TUNED);
  assert_int_equal(parties[1].status, TDT_OK);
  assert_int_equal(parties[1].choice.origin, TDT_ORIGIN_MEMORY);
  assert_int_equal(parties[1].choice.candidate, 1);
}

static void test_a_waiting_thread_never_sees_anothers_failure(void **state) {
  const tdt_status failures[] = {TDT_ELAUNCH, TDT_ESTOPPED};
  const tdt_status seen[] = {TDT_EFAILED, TDT_ESTOPPED};
  for (size_t i = 0; i < N_OF(failures); i++) {
    party parties[2];
    set_parties(*state, parties, 2);
    parties[0].key = i == 0 ? "a" : "b";
    parties[0].launch_status = failures[i];
    run_waiter(parties);
    assert_int_equal(parties[0].status, seen[i]);
    assert_int_equal(parties[1].status, TDT_OK);
    assert_int_equal(parties[1].choice.origin, TDT_ORIGIN_TUNED);
    assert_string_equal(tdt_error_text(&parties[1].error), "");
    tdt_error_clear(&parties[0].error);
  }
}

static void test_poll_gives_up_waiting(void **state) {
  party parties[2];
  set_parties(*state, parties, 2);
  parties[1].poll_status = TDT_ESTOPPED;
  run_waiter(parties);
  assert_int_equal(parties[0].status, TDT_OK);
  assert_int_equal(parties[1].status, TDT_ESTOPPED);
  assert_string_equal(tdt_error_text(&parties[1].error), "enough");
  tdt_error_clear(&parties[1].error);
}

static atomic_bool other_has_the_turn;

static void show_that_it_runs(party *self, size_t candidate) {
  atomic_store(&other_has_the_turn, true);
  give_others_a_chance(self, candidate);
}

static void wait_until_other_runs(party *self) {
  (void)self;
  while (!atomic_load(&other_has_the_turn)) {
    (void)usleep(100);
  }
}

static void wait_for_others_key_once(party *self, size_t candidate) {
  if (!self->asked) {
    self->asked = true;
    wait_for_flag_of_other(self, candidate);
    (void)ask(self, self->other->key, &self->nested, NULL);
  }
  give_others_a_chance(self, candidate);
}

static size_t find_launch(const world *w, size_t number, size_t from) {
  while (from < w->n_order && w->order[from] != number) {
    from++;
  }
  return from;
}

/* The first gives its turn to the second, whose answer it waits for, and has it again before it
 * goes on, though a third one wants it too. */
static void test_a_thread_that_waited_has_its_turn_again(void **state) {
  world *w = *state;
  party parties[3];
  set_parties(w, parties, 3);
  atomic_store(&other_has_the_turn, false);
  parties[0].other = &parties[1];
  parties[0].during_launch = wait_for_others_key_once;
  parties[1].during_prune = set_flag;
  parties[1].during_launch = show_that_it_runs;
  parties[2].during_prune = wait_until_other_runs;
  parties[2].during_launch = give_others_a_chance;
  run(parties, 3);
  assert_int_equal(parties[0].nested.origin, TDT_ORIGIN_MEMORY);
  assert_int_equal(w->n_order, 3 * N_LAUNCHES);
  /* Its first launch may come before the second's tuning, or right after its measurements. */
  size_t second = find_launch(w, 0, find_launch(w, 0, 0) + 1);
  for (size_t i = 0; i < N_LAUNCHES - 1; i++) {
    assert_int_equal(w->order[second + i], 0);
  }
}

/* Asks for the other's key from inside the first launch, when everybody is inside one. */
static void ask_for_other(party *self, size_t candidate) {
  (void)candidate;
  if (self->asked) {
    return;
  }
  self->asked = true;
  (void)pthread_barrier_wait(&self->w->barrier);
  assert_int_equal(ask(self, self->other->key, &self->nested, NULL), TDT_OK);
}

static void run_ring(world *w, party *parties, unsigned n) {
  static const char *const devices[] = {"one", "two", "three"};
  (void)pthread_barrier_destroy(&w->barrier);
  assert_int_equal(pthread_barrier_init(&w->barrier, NULL, n), 0);
  set_parties(w, parties, n);
  for (unsigned i = 0; i < n; i++) {
    parties[i].device_id = devices[i];
    parties[i].other = &parties[(i + 1) % n];
    parties[i].during_launch = ask_for_other;
  }
  run(parties, n);
}

static void test_F22_threads_that_would_wait_for_one_another(void **state) {
  for (unsigned n = 2; n <= 3; n++) {
    party parties[3];
    unsigned n_reentered = 0;
    assert_int_equal(teardown(state), 0);
    assert_int_equal(setup(state), 0);
    run_ring(*state, parties, n);
    for (unsigned i = 0; i < n; i++) {
      assert_int_equal(parties[i].status, TDT_OK);
      assert_int_equal(parties[i].choice.candidate, 1);
      n_reentered += parties[i].nested.origin == TDT_ORIGIN_REENTERED ? 1 : 0;
      if (parties[i].nested.origin == TDT_ORIGIN_REENTERED) {
        assert_int_equal(parties[i].nested.candidate, 0); /* the other one's in hand */
      } else {
        assert_int_equal(parties[i].nested.candidate, 1);
      }
    }
    assert_int_equal(n_reentered, 1); /* only the one that would close the ring */
  }
}

static void meet_in_prune(party *self) {
  (void)pthread_barrier_wait(&self->w->barrier);
}

/* The first has the device and waits for the second, which needs the device to go on. */
static void test_a_thread_that_waits_gives_up_its_turn(void **state) {
  party parties[2];
  set_parties(*state, parties, 2);
  parties[0].other = &parties[1];
  parties[0].during_launch = ask_for_other; /* they meet: one in a launch, one in prune */
  parties[1].during_prune = meet_in_prune;
  run(parties, 2);
  assert_int_equal(parties[0].status, TDT_OK);
  assert_int_equal(parties[1].status, TDT_OK);
  assert_int_equal(parties[0].nested.candidate, 1);
}

static void ask_on_the_other_device(party *self, size_t candidate) {
  static const char *const keys[] = {"inner 0", "inner 1"};
  (void)candidate;
  if (self->asked) {
    return;
  }
  self->asked = true;
  (void)pthread_barrier_wait(&self->w->barrier);
  const char *mine = self->device_id;
  party inner = *self;
  inner.device_id = self->other->device_id;
  assert_int_equal(ask(&inner, keys[self->number], &self->nested, NULL), TDT_OK);
  self->device_id = mine;
}

/* Each has one device and needs the other's for a tuning inside its own. */
static void test_threads_that_need_one_anothers_devices(void **state) {
  party parties[2];
  set_parties(*state, parties, 2);
  parties[0].other = &parties[1];
  parties[1].other = &parties[0];
  parties[1].device_id = "two";
  parties[0].during_launch = ask_on_the_other_device;
  parties[1].during_launch = ask_on_the_other_device;
  run(parties, 2);
  for (size_t i = 0; i < 2; i++) {
    assert_int_equal(parties[i].status, TDT_OK);
    assert_int_equal(parties[i].nested.origin, TDT_ORIGIN_TUNED);
  }
}

static void *look_up(void *argument) {
  party *p = argument;
  size_t candidate = TDT_NONE;
  while (!tdt_tuner_lookup(p->w->tuner, p->key, strlen(p->key), &candidate)) {
    (void)usleep(100);
  }
  p->choice.candidate = candidate;
  return NULL;
}

static void test_lookups_go_on_while_others_tune(void **state) {
  party parties[4];
  pthread_t readers[4];
  set_parties(*state, parties, 4);
  (void)alarm(LONGEST_S);
  for (size_t i = 0; i < 4; i++) {
    assert_int_equal(pthread_create(&readers[i], NULL, look_up, &parties[i]), 0);
  }
  party tuners[4];
  set_parties(*state, tuners, 4);
  run(tuners, 4);
  (void)alarm(LONGEST_S);
  for (size_t i = 0; i < 4; i++) {
    assert_int_equal(pthread_join(readers[i], NULL), 0);
    assert_int_equal(parties[i].choice.candidate, 1);
  }
  (void)alarm(0);
}

#define WORLD_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      WORLD_TEST(test_case_T1_one_key_is_tuned_once),
      WORLD_TEST(test_case_T1_measurements_on_one_device_never_overlap),
      WORLD_TEST(test_different_devices_measure_at_the_same_time),
      WORLD_TEST(test_a_waiting_thread_gets_the_answer_from_memory),
      WORLD_TEST(test_a_waiting_thread_never_sees_anothers_failure),
      WORLD_TEST(test_poll_gives_up_waiting),
      WORLD_TEST(test_F22_threads_that_would_wait_for_one_another),
      WORLD_TEST(test_a_thread_that_waits_gives_up_its_turn),
      WORLD_TEST(test_a_thread_that_waited_has_its_turn_again),
      WORLD_TEST(test_threads_that_need_one_anothers_devices),
      WORLD_TEST(test_lookups_go_on_while_others_tune),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
