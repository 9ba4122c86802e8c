/* SPDX-License-Identifier: MIT */
/* Preparing candidates ahead, with a scripted compiler. Whatever would hang ends in SIGALRM. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rig.h"

enum { LONGEST_S = 60 };

/* What the compiler is told to do, and what it did. The rig comes first, so that it can be had from
 * the request's user. */
typedef struct compiler {
  rig *r;
  pthread_t caller;
  atomic_uint n_compiled[RIG_MOST];
  atomic_uint n_begun;
  atomic_uint n_now; /* at work in this moment */
  atomic_uint n_on_caller;
  atomic_uint n_polls;
  atomic_uint n_launched; /* as of the last compilation */
  size_t order[RIG_MOST]; /* with one worker */
  const char *fails[RIG_MOST];
  tdt_status status; /* of those that fail */
  pthread_barrier_t *together;
  atomic_bool held;     /* compilations do not end before this is false */
  atomic_bool stopping; /* poll() is about to say stop: whatever begins now takes long */
  unsigned poll_stops_at;
  bool forks;
  int child_status;
} compiler;

static void nap(long ms) {
  (void)nanosleep(&(struct timespec){.tv_nsec = ms * 1000 * 1000}, NULL);
}

static void ask_in_child(compiler *c);

static void compile(compiler *c, size_t candidate) {
  const unsigned begun = atomic_fetch_add(&c->n_begun, 1);
  if (atomic_load(&c->stopping)) {
    nap(300);
  }
  atomic_fetch_add(&c->n_now, 1);
  atomic_store(&c->n_launched, c->r->n_launched);
  if (begun < RIG_MOST) {
    c->order[begun] = candidate;
  }
  if (pthread_equal(pthread_self(), c->caller)) {
    atomic_fetch_add(&c->n_on_caller, 1);
  }
  if (c->together != NULL) {
    (void)pthread_barrier_wait(c->together);
  }
  while (atomic_load(&c->held)) {
    nap(1);
  }
  if (c->forks && candidate == 0) {
    ask_in_child(c);
  }
  atomic_fetch_add(&c->n_compiled[candidate], 1);
  atomic_fetch_sub(&c->n_now, 1);
}

static tdt_status prepare(void *user, size_t candidate, tdt_error *error) {
  compiler *c = user;
  compile(c, candidate);
  if (c->fails[candidate] == NULL) {
    return TDT_OK;
  }
  return c->fails[candidate][0] != '\0' ? tdt_error_set(error, c->status, "%s", c->fails[candidate])
                                        : c->status;
}

static void anticipate(void *user, size_t candidate) {
  compile(user, candidate);
}

static tdt_status launch(void *user, size_t candidate, tdt_error *error) {
  const compiler *c = user;
  assert_int_equal(atomic_load(&c->n_now), 0); /* nothing compiles while something runs */
  return rig_launch(c->r, candidate, error);
}

static tdt_status poll(void *user, tdt_error *error) {
  compiler *c = user;
  assert_true(pthread_equal(pthread_self(), c->caller));
  const unsigned n = atomic_fetch_add(&c->n_polls, 1) + 1;
  if (c->poll_stops_at != 0 && n >= c->poll_stops_at) {
    atomic_store(&c->stopping, true);
    atomic_store(&c->held, false);
    return tdt_error_set(error, TDT_ESTOPPED, "the user pressed a key");
  }
  return TDT_OK;
}

static compiler *set_up(rig *r, compiler *c, unsigned n_workers, size_t n_candidates) {
  static const int values[RIG_MOST] = {9, 8, 7, 3, 4, 5, 6, 10, 11, 12, 13, 14, 15, 16, 17, 18};
  (void)alarm(LONGEST_S);
  *c = (compiler){.r = r, .caller = pthread_self(), .status = TDT_EFAILED};
  rig_offer(r, n_candidates, values);
  r->settings.n_workers = n_workers;
  r->request.user = c;
  r->request.launch = launch;
  r->request.poll = poll;
  r->request.prune = NULL;
  r->request.discard = NULL;
  r->request.progress = NULL;
  return c;
}

/* What the forked child, which has this thread only, tunes on its own. */
static void ask_in_child(compiler *c) {
  pid_t child = fork();
  if (child == 0) {
    compiler mine;
    rig *r = c->r;
#if defined(__SANITIZE_THREAD__)
    r->settings.n_workers = 1; /* it ends a forked child that makes threads */
#endif
    r->n_launched = 0;
    r->request.store = NULL;
    mine = (compiler){.r = r, .caller = pthread_self()};
    r->request.user = &mine;
    r->request.key = "of the child";
    tdt_choice choice = {0};
    tdt_status status = tdt_tuner_resolve(r->tuner, &r->request, &choice, NULL);
    if (status == TDT_OK && choice.candidate == 3 && atomic_load(&mine.n_begun) == 8) {
      (void)raise(SIGKILL); /* an exit would report as lost what threads of the parent hold */
    }
    _exit(1);
  }
  (void)waitpid(child, &c->child_status, 0);
}

static void assert_compiled(const compiler *c, size_t from, size_t n, unsigned times) {
  for (size_t i = from; i < n; i++) {
    assert_int_equal(atomic_load(&c->n_compiled[i]), times);
  }
}

/* -- prepare -------------------------------------------------------------------------------------
 */

static void test_B02_all_are_prepared_at_the_same_time_before_any_runs(void **state) {
  compiler c;
  rig *r = *state;
  pthread_barrier_t together; /* opens only when five are at work at once */
  set_up(r, &c, 16, 5)->r->request.prepare = prepare;
  assert_int_equal(pthread_barrier_init(&together, NULL, 5), 0);
  c.together = &together;
  assert_int_equal(rig_resolve(r, "k").candidate, 3);
  (void)pthread_barrier_destroy(&together);
  assert_compiled(&c, 0, 5, 1);
  assert_int_equal(atomic_load(&c.n_launched), 0);
  assert_int_equal(atomic_load(&c.n_on_caller), 0);
  assert_int_equal(r->n_launched, 5 * 15);
}

static void test_B02_more_candidates_than_workers(void **state) {
  compiler c;
  rig *r = *state;
  set_up(r, &c, 3, 16)->r->request.prepare = prepare;
  assert_int_equal(rig_resolve(r, "k").candidate, 3);
  assert_compiled(&c, 0, 16, 1);
  assert_int_equal(atomic_load(&c.n_on_caller), 0);
}

static void test_B02_only_what_takes_part_is_prepared(void **state) {
  compiler c;
  rig *r = *state;
  set_up(r, &c, 4, 4)->r->request.prepare = prepare;
  (void)rig_resolve(r, "k");
  assert_compiled(&c, 0, 4, 1);
  (void)rig_resolve(r, "k"); /* remembered */
  rig_restart(r);
  (void)rig_resolve(r, "k"); /* stored */
  assert_compiled(&c, 0, 4, 1);
}

static void test_B02_one_worker_is_the_calling_thread_in_order(void **state) {
  rig *r = *state;
  for (unsigned n_workers = 0; n_workers < 2; n_workers++) {
    compiler c;
    set_up(r, &c, n_workers, 4)->r->request.prepare = prepare;
    (void)rig_resolve(r, n_workers == 0 ? "none" : "one");
    assert_int_equal(atomic_load(&c.n_on_caller), 4);
    for (size_t i = 0; i < 4; i++) {
      assert_int_equal(c.order[i], i);
    }
    assert_int_equal(atomic_load(&c.n_polls), 4);
  }
}

static void test_B02_not_prepared_is_not_failed(void **state) {
  rig *r = *state;
  for (unsigned n_workers = 1; n_workers < 4; n_workers += 2) {
    compiler c;
    set_up(r, &c, n_workers, 4)->r->request.prepare = prepare;
    c.fails[3] = n_workers == 1 ? "ptxas" : "";
    assert_int_equal(rig_resolve(r, n_workers == 1 ? "a" : "b").candidate, 3);
    assert_int_equal(r->candidates[3].n_launched, 15);
  }
}

static void test_B02_what_could_not_be_prepared_is_told(void **state) {
  rig *r = *state;
  compiler c;
  set_up(r, &c, 3, 4)->r->request.prepare = prepare;
  (void)rig_resolve(r, "all are prepared");
  assert_null(strstr(r->log, "be prepared"));
  c.fails[3] = "";
  c.fails[1] = "no ptxas";
  (void)rig_resolve(r, "some");
  const char *some = strstr(r->log, "2 of 4 candidates could not be prepared");
  assert_non_null(some);
  assert_non_null(strstr(some, "the first, [1]"));
  assert_non_null(strstr(some, ": no ptxas\n"));
  assert_null(strstr(r->log, "\nW "));
  for (size_t i = 0; i < 4; i++) {
    c.fails[i] = "no compiler";
  }
  (void)rig_resolve(r, "all");
  const char *all = strstr(r->log, "4 of 4 candidates could not be prepared");
  assert_non_null(all);
  while (all > r->log && all[-1] != '\n') {
    all--;
  }
  assert_int_equal(all[0], 'W');
}

static void test_B02_a_preparation_may_end_the_tuning(void **state) {
  rig *r = *state;
  for (unsigned n_workers = 1; n_workers < 4; n_workers++) {
    compiler c;
    set_up(r, &c, n_workers, 16)->r->request.prepare = prepare;
    c.status = TDT_ESTOPPED;
    c.fails[0] = "out of patience";
    assert_string_equal(rig_fail(r, "k", TDT_ESTOPPED), "out of patience");
    assert_int_equal(atomic_load(&c.n_now), 0);
    assert_int_equal(r->n_launched, 0);
    if (n_workers == 1) {
      assert_int_equal(atomic_load(&c.n_begun), 1);
    }
  }
}

static void test_B02_a_stop_lets_those_at_work_finish_and_begins_no_others(void **state) {
  compiler c;
  rig *r = *state;
  set_up(r, &c, 3, 16)->r->request.prepare = prepare;
  atomic_store(&c.held, true); /* until poll() says stop */
  c.poll_stops_at = 3;
  assert_string_equal(rig_fail(r, "k", TDT_ESTOPPED), "the user pressed a key");
  assert_int_equal(atomic_load(&c.n_now), 0);
  unsigned n_compiled = 0;
  for (size_t i = 0; i < 16; i++) {
    n_compiled += atomic_load(&c.n_compiled[i]);
  }
  assert_int_equal(n_compiled, atomic_load(&c.n_begun));
  assert_true(n_compiled < 16);
  assert_int_equal(r->n_launched, 0);
  assert_null(rig_record(r, "k"));
  c.poll_stops_at = 0;
  atomic_store(&c.stopping, false);
  assert_int_equal(rig_resolve(r, "k").candidate, 3);
}

static void test_B02_S07_a_child_forked_by_a_worker_tunes_and_prepares(void **state) {
  compiler c;
  rig *r = *state;
  set_up(r, &c, 4, 8)->r->request.prepare = prepare;
  c.forks = true;
  assert_int_equal(rig_resolve(r, "k").candidate, 3);
  assert_true(WIFSIGNALED(c.child_status) && WTERMSIG(c.child_status) == SIGKILL);
}

/* -- anticipate ----------------------------------------------------------------------------------
 */

static void test_B02_the_others_are_anticipated_after_the_first_launch(void **state) {
  compiler c;
  rig *r = *state;
  pthread_barrier_t together;
  set_up(r, &c, 16, 5)->r->request.anticipate = anticipate;
  assert_int_equal(pthread_barrier_init(&together, NULL, 4), 0);
  c.together = &together;
  assert_int_equal(rig_resolve(r, "k").candidate, 3);
  (void)pthread_barrier_destroy(&together);
  assert_compiled(&c, 0, 1, 0);
  assert_compiled(&c, 1, 5, 1);
  assert_int_equal(atomic_load(&c.n_launched), 1);
  assert_int_equal(atomic_load(&c.n_on_caller), 0);
  for (size_t i = 0; i < 5; i++) {
    assert_int_equal(r->candidates[i].n_launched, 15);
  }
}

static void test_B02_the_first_that_runs_anticipates(void **state) {
  compiler c;
  rig *r = *state;
  set_up(r, &c, 2, 5)->r->request.anticipate = anticipate;
  r->candidates[0].fails = "out of resources";
  r->candidates[0].from_run = 1;
  assert_int_equal(rig_resolve(r, "k").candidate, 3);
  assert_compiled(&c, 0, 2, 0);
  assert_compiled(&c, 2, 5, 1);
  assert_int_equal(atomic_load(&c.n_launched), 2);
}

static void test_B02_without_warm_ups_it_comes_after_the_first_timed_runs(void **state) {
  compiler c;
  rig *r = *state;
  const tdt_function function = {.name = "scale", .module = "ops", .source = "abc"};
  tdt_plan plan = tdt_plan_documented();
  plan.n_warmup = 0;
  plan.n_repeat = 3;
  set_up(r, &c, 2, 4)->r->request.anticipate = anticipate;
  tdt_tuner_destroy(r->tuner);
  r->tuner = NULL;
  assert_int_equal(tdt_tuner_create(r->context, &function, r->space, &plan, &r->tuner, NULL),
                   TDT_OK);
  assert_int_equal(rig_resolve(r, "k").candidate, 3);
  assert_compiled(&c, 1, 4, 1);
  assert_int_equal(atomic_load(&c.n_launched), 3);
  assert_int_equal(r->n_launched, 12);
}

static void test_B02_nothing_is_anticipated_where_nothing_is_gained(void **state) {
  rig *r = *state;
  for (unsigned n_workers = 0; n_workers < 3; n_workers++) {
    compiler c;
    char key[16];
    (void)snprintf(key, sizeof key, "%u", n_workers);
    /* one worker with many candidates, and many workers with one candidate left */
    set_up(r, &c, n_workers, n_workers < 2 ? 4 : 2)->r->request.anticipate = anticipate;
    (void)rig_resolve(r, key);
    assert_int_equal(atomic_load(&c.n_begun), 0);
    assert_int_equal(r->candidates[1].n_launched, 15);
  }
}

static void test_B02_a_stop_while_anticipating_ends_the_tuning(void **state) {
  compiler c;
  rig *r = *state;
  set_up(r, &c, 2, 16)->r->request.anticipate = anticipate;
  atomic_store(&c.held, true);
  c.poll_stops_at = 2;
  assert_string_equal(rig_fail(r, "k", TDT_ESTOPPED), "the user pressed a key");
  assert_int_equal(atomic_load(&c.n_now), 0);
  assert_int_equal(r->n_launched, 1);
  assert_true(atomic_load(&c.n_begun) < 15);
  c.poll_stops_at = 0;
  atomic_store(&c.stopping, false);
  assert_int_equal(rig_resolve(r, "k").candidate, 3);
}

static void test_B02_both_ways_in_one_tuning(void **state) {
  compiler c;
  rig *r = *state;
  set_up(r, &c, 4, 6)->r->request.anticipate = anticipate;
  r->request.prepare = prepare;
  assert_int_equal(rig_resolve(r, "k").candidate, 3);
  assert_compiled(&c, 0, 1, 1);
  assert_compiled(&c, 1, 6, 2);
}

#define RIG_TEST(test) cmocka_unit_test_setup_teardown(test, rig_setup, rig_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      RIG_TEST(test_B02_all_are_prepared_at_the_same_time_before_any_runs),
      RIG_TEST(test_B02_more_candidates_than_workers),
      RIG_TEST(test_B02_only_what_takes_part_is_prepared),
      RIG_TEST(test_B02_one_worker_is_the_calling_thread_in_order),
      RIG_TEST(test_B02_not_prepared_is_not_failed),
      RIG_TEST(test_B02_what_could_not_be_prepared_is_told),
      RIG_TEST(test_B02_a_preparation_may_end_the_tuning),
      RIG_TEST(test_B02_a_stop_lets_those_at_work_finish_and_begins_no_others),
      RIG_TEST(test_B02_S07_a_child_forked_by_a_worker_tunes_and_prepares),
      RIG_TEST(test_B02_the_others_are_anticipated_after_the_first_launch),
      RIG_TEST(test_B02_the_first_that_runs_anticipates),
      RIG_TEST(test_B02_without_warm_ups_it_comes_after_the_first_timed_runs),
      RIG_TEST(test_B02_nothing_is_anticipated_where_nothing_is_gained),
      RIG_TEST(test_B02_a_stop_while_anticipating_ends_the_tuning),
      RIG_TEST(test_B02_both_ways_in_one_tuning),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
