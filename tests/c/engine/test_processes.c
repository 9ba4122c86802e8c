/* SPDX-License-Identifier: MIT */
/* Processes that share a store, and children that are forked in the middle of things. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rig.h"
#include "store/directory.h"

enum { N_PROCESSES = 32, LONGEST_S = 120 };

/* What a child found, sent through a pipe in one piece. */
typedef struct report {
  tdt_status status;
  tdt_choice choice;
  unsigned n_launched;
} report;

static unsigned n_launched; /* in this process */

static tdt_status launch_slowly(void *user, size_t candidate, tdt_error *error) {
  (void)user;
  (void)error;
  n_launched++;
  (void)usleep(100 * (unsigned)(3 - candidate));
  return TDT_OK;
}

/* Everything is the child's own: context, tuner, store, the host's clock. */
static report resolve_alone(const char *root) {
  const char *const configs[] = {"{\"c\":0}", "{\"c\":1}", "{\"c\":2}"};
  const tdt_function function = {.name = "scale"};
  tdt_context *context = NULL;
  tdt_space *space = NULL;
  tdt_tuner *tuner = NULL;
  tdt_store *store = NULL;
  report told = {.status = TDT_ENOMEM};
  if (tdt_context_create(&context, NULL) == TDT_OK &&
      tdt_space_create(configs, 3, &space, NULL) == TDT_OK &&
      tdt_tuner_create(context, &function, space, NULL, &tuner, NULL) == TDT_OK &&
      tdt_store_open(root, &store, NULL) == TDT_OK) {
    tdt_request request;
    tdt_request_init(&request);
    request.key = "shared";
    request.store = store;
    request.launch = launch_slowly;
    told.status = tdt_tuner_resolve(tuner, &request, &told.choice, NULL);
    told.n_launched = n_launched;
  }
  tdt_tuner_destroy(tuner);
  tdt_space_destroy(space);
  tdt_context_destroy(context);
  tdt_store_close(store);
  return told;
}

static pid_t start_child(const char *root, int gun, int answers) {
  pid_t child = fork();
  if (child == 0) {
    char shot;
    (void)alarm(LONGEST_S);
    while (read(gun, &shot, 1) < 0 && errno == EINTR) {
    }
    report told = resolve_alone(root);
    _exit(write(answers, &told, sizeof told) == (ssize_t)sizeof told ? 0 : 1);
  }
  return child;
}

static void test_S04_one_process_tunes_and_all_agree(void **state) {
  rig *r = *state;
  int gun[2], answers[2];
  size_t n_tuned = 0, winner = TDT_NONE;
  pid_t children[N_PROCESSES];
  assert_int_equal(pipe(gun), 0);
  assert_int_equal(pipe(answers), 0);
  for (size_t i = 0; i < N_PROCESSES; i++) {
    children[i] = start_child(r->root, gun[0], answers[1]);
    assert_true(children[i] > 0);
  }
  char shots[N_PROCESSES] = {0};
  assert_int_equal(write(gun[1], shots, sizeof shots), sizeof shots);
  for (size_t i = 0; i < N_PROCESSES; i++) {
    report told;
    assert_int_equal(read(answers[0], &told, sizeof told), sizeof told);
    assert_int_equal(told.status, TDT_OK);
    assert_true(winner == TDT_NONE || told.choice.candidate == winner);
    winner = told.choice.candidate;
    n_tuned += told.choice.origin == TDT_ORIGIN_TUNED ? 1 : 0;
    assert_int_equal(told.n_launched, told.choice.origin == TDT_ORIGIN_TUNED ? 45 : 0);
  }
  for (size_t i = 0; i < N_PROCESSES; i++) {
    int status;
    assert_int_equal(waitpid(children[i], &status, 0), children[i]);
    assert_int_equal(status, 0);
  }
  assert_int_equal(n_tuned, 1);
  assert_int_equal(rig_count_files(r, ".json-"), 0); /* none was replaced */
  (void)close(gun[0]);
  (void)close(gun[1]);
  (void)close(answers[0]);
  (void)close(answers[1]);
}

/* What `body` returns in a forked child. Not by its exit status: a tool that looks for leaks ends
 * the child with one of its own, as the memory of the parent's other threads is out of reach. */
static int in_child(int (*body)(rig *r), rig *r) {
  int answers[2];
  int told = -1;
  assert_int_equal(pipe(answers), 0);
  pid_t child = fork();
  if (child == 0) {
    (void)alarm(LONGEST_S);
    told = body(r);
    _exit(write(answers[1], &told, sizeof told) == (ssize_t)sizeof told ? 0 : 1);
  }
  (void)close(answers[1]);
  ssize_t size = read(answers[0], &told, sizeof told);
  (void)close(answers[0]);
  assert_int_equal(waitpid(child, NULL, 0), child);
  return size == (ssize_t)sizeof told ? told : -1;
}

static void hold_lock(rig *r, const char *key, tdt__file_lock *lock) {
  tdt_identity identity = rig_identity(r, key);
  bool taken = false;
  assert_int_equal(tdt__store_lock_try(r->store, &identity, lock, &taken, NULL), TDT_OK);
  assert_true(taken);
}

static void test_S04_the_wait_is_bounded(void **state) {
  rig *r = *state;
  tdt__file_lock lock = TDT__FILE_LOCK_INIT;
  hold_lock(r, "k", &lock);
  const double timeouts_s[] = {0.0, 0.05};
  for (size_t i = 0; i < N_OF(timeouts_s); i++) {
    r->settings.lock_timeout_s = timeouts_s[i];
    rig_restart(r);
    r->settings.always_tune = true;
    assert_int_equal(rig_resolve(r, "k").origin, TDT_ORIGIN_TUNED);
  }
  tdt__file_unlock(&lock);
}

static tdt_status stop_waiting(void *user, tdt_error *error) {
  (void)user;
  return tdt_error_set(error, TDT_ESTOPPED, "no patience");
}

static void test_poll_ends_the_wait_for_another_process(void **state) {
  rig *r = *state;
  tdt__file_lock lock = TDT__FILE_LOCK_INIT;
  hold_lock(r, "k", &lock);
  r->request.poll = stop_waiting;
  assert_string_equal(rig_fail(r, "k", TDT_ESTOPPED), "no patience");
  assert_int_equal(r->n_launched, 0);
  tdt__file_unlock(&lock);
  assert_int_equal(rig_resolve(r, "k").origin, TDT_ORIGIN_TUNED);
}

/* Waits four slices long. */
static tdt_status stop_in_the_end(void *user, tdt_error *error) {
  rig *r = user;
  return ++r->n_progress < 4 ? TDT_OK : tdt_error_set(error, TDT_ESTOPPED, "no patience");
}

static void test_F18_a_wait_says_once_what_is_ignored(void **state) {
  rig *r = *state;
  tdt__file_lock lock = TDT__FILE_LOCK_INIT;
  r->request.dependencies = "{\"torch\":\"2.12\"}";
  (void)rig_resolve(r, "k");
  rig_restart(r);
  r->request.dependencies = "{\"torch\":\"2.13\"}";
  r->settings.check_dependencies = true;
  hold_lock(r, "k", &lock);
  r->request.poll = stop_in_the_end;
  (void)rig_fail(r, "k", TDT_ESTOPPED);
  const char *first = strstr(r->log, "is ignored");
  assert_non_null(first);
  assert_null(strstr(first + 1, "is ignored"));
  tdt__file_unlock(&lock);
}

/* A network disk without locks keeps records well enough. */
static void test_S04_a_store_that_cannot_lock_is_used_without(void **state) {
  rig *r = *state;
  char path[300];
  (void)snprintf(path, sizeof path, "%s/scale", r->root);
  assert_int_equal(mkdir(path, 0700), 0);
  (void)snprintf(path, sizeof path, "%s/scale/.lock", r->root);
  assert_int_equal(mkdir(path, 0700), 0);
  assert_int_equal(rig_resolve(r, "k").origin, TDT_ORIGIN_TUNED);
  assert_contains(r->log, "other processes may tune it at the same time");
  assert_int_equal(r->n_warnings, 0);
  rig_restart(r);
  assert_int_equal(rig_resolve(r, "k").origin, TDT_ORIGIN_STORED);
}

/* The other process stores its result and dies without letting go in an orderly way. */
static tdt_status store_meanwhile(void *user, tdt_error *error) {
  rig *r = user;
  (void)error;
  tdt_record *record = rig_record(r, "other");
  assert_non_null(record);
  tdt_record_destroy(record);
  if (r->n_progress == 0) {
    char command[1200];
    tdt_identity from = rig_identity(r, "other"), to = rig_identity(r, "k");
    char *from_path, *to_path;
    assert_int_equal(tdt_store_path(r->store, &from, &from_path, NULL), TDT_OK);
    assert_int_equal(tdt_store_path(r->store, &to, &to_path, NULL), TDT_OK);
    (void)snprintf(command, sizeof command,
                   "sed 's/\"key\": \"other\"/\"key\": \"k\"/' '%s' > '%s'", from_path, to_path);
    assert_int_equal(system(command), 0);
    tdt_text_free(from_path);
    tdt_text_free(to_path);
    r->n_progress = 1;
  }
  return TDT_OK;
}

static void test_S04_a_result_that_appears_ends_the_wait(void **state) {
  rig *r = *state;
  tdt__file_lock lock = TDT__FILE_LOCK_INIT;
  (void)rig_resolve(r, "other");
  hold_lock(r, "k", &lock);
  r->request.poll = store_meanwhile;
  (void)alarm(LONGEST_S);
  tdt_choice choice = rig_resolve(r, "k");
  (void)alarm(0);
  assert_int_equal(choice.origin, TDT_ORIGIN_STORED);
  assert_int_equal(choice.candidate, 1);
  assert_int_equal(r->n_launched, 0);
  tdt__file_unlock(&lock);
}

/* A thread of the parent that stays inside its tuning until it is let go. */
typedef struct tuning_thread {
  rig *r;
  atomic_bool inside, let_go, waits;
  tdt_request request;
  tdt_status status;
  tdt_choice choice;
} tuning_thread;

static tdt_status launch_and_stay(void *user, size_t candidate, tdt_error *error) {
  tuning_thread *t = user;
  (void)error;
  atomic_store(&t->inside, true);
  while (!atomic_load(&t->let_go)) {
    (void)usleep(200);
  }
  t->r->now_ms += t->r->candidates[candidate].cost_ms;
  return TDT_OK;
}

static tdt_status tell_that_it_waits(void *user, tdt_error *error) {
  tuning_thread *t = user;
  (void)error;
  atomic_store(&t->waits, true);
  return TDT_OK;
}

static void *tune_in_thread(void *argument) {
  tuning_thread *t = argument;
  t->status = tdt_tuner_resolve(t->r->tuner, &t->request, &t->choice, NULL);
  return NULL;
}

/* In the child: what was remembered is there, the thread's key can be tuned, and the parent's lock
 * is not the child's to let go. */
static int use_in_child(rig *r) {
  size_t candidate;
  tdt_choice choice;
  if (!tdt_tuner_lookup(r->tuner, "old", 3, &candidate) || candidate != 1) {
    return 1;
  }
  r->request.key = "new";
  r->settings.lock_timeout_s = 0;
  r->n_launched = 0;
  if (tdt_tuner_resolve(r->tuner, &r->request, &choice, NULL) != TDT_OK) {
    return 2;
  }
  if (choice.origin != TDT_ORIGIN_TUNED || choice.candidate != 1 || r->n_launched != 45) {
    return 3;
  }
  tdt_tuner_destroy(r->tuner); /* nobody of the parent's threads is waited for */
  tdt_context_destroy(r->context);
  return 0;
}

static void start_thread(pthread_t *thread, tuning_thread *t) {
  t->request = t->r->request;
  t->request.key = "new";
  t->request.user = t;
  t->request.launch = launch_and_stay;
  t->request.prune = NULL;
  t->request.discard = NULL;
  t->request.poll = tell_that_it_waits;
  t->request.progress = NULL;
  t->request.log.write = NULL;
  assert_int_equal(pthread_create(thread, NULL, tune_in_thread, t), 0);
}

static void wait_for(const atomic_bool *flag) {
  while (!atomic_load(flag)) {
    (void)usleep(200);
  }
}

static void test_S07_a_child_forked_while_other_threads_tune_and_wait(void **state) {
  rig *r = *state;
  pthread_t tuning, waiting;
  tuning_thread t = {.r = r}, waiter = {.r = r};
  (void)rig_resolve(r, "old");
  (void)alarm(LONGEST_S);
  start_thread(&tuning, &t);
  wait_for(&t.inside);
  start_thread(&waiting, &waiter);
  wait_for(&waiter.waits);
  assert_int_equal(in_child(use_in_child, r), 0);

  /* The child's end let go of no lock of the parent's. */
  tdt_identity identity = rig_identity(r, "new");
  tdt__file_lock lock = TDT__FILE_LOCK_INIT;
  bool taken = true;
  assert_int_equal(tdt__store_lock_try(r->store, &identity, &lock, &taken, NULL), TDT_OK);
  assert_false(taken);

  atomic_store(&t.let_go, true);
  assert_int_equal(pthread_join(tuning, NULL), 0);
  assert_int_equal(pthread_join(waiting, NULL), 0);
  (void)alarm(0);
  assert_int_equal(t.status, TDT_OK);
  assert_int_equal(t.choice.candidate, 1);
  assert_int_equal(waiter.choice.origin, TDT_ORIGIN_MEMORY);
}

/* In a child forked by the first launch of candidate 0. */
static int re_enter_in_child(rig *r) {
  size_t remembered;
  tdt_choice choice;
  if (!tdt_tuner_lookup(r->tuner, "old", 3, &remembered) ||
      tdt_tuner_resolve(r->tuner, &r->request, &choice, NULL) != TDT_OK) {
    return 1;
  }
  return choice.origin == TDT_ORIGIN_REENTERED && choice.candidate == 0 ? 0 : 2;
}

static tdt_status launch_and_fork(void *user, size_t candidate, tdt_error *error) {
  rig *r = user;
  (void)error;
  r->now_ms += r->candidates[candidate].cost_ms;
  if (r->n_launched++ == 0) {
    assert_int_equal(in_child(re_enter_in_child, r), 0);
  }
  return TDT_OK;
}

static void test_S07_a_child_forked_inside_a_tuning(void **state) {
  rig *r = *state;
  (void)rig_resolve(r, "old");
  r->request.launch = launch_and_fork;
  assert_int_equal(rig_resolve(r, "k").candidate, 1);
}

#define RIG_TEST(test) cmocka_unit_test_setup_teardown(test, rig_setup, rig_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      RIG_TEST(test_S04_one_process_tunes_and_all_agree),
      RIG_TEST(test_S04_the_wait_is_bounded),
      RIG_TEST(test_poll_ends_the_wait_for_another_process),
      RIG_TEST(test_S04_a_result_that_appears_ends_the_wait),
      RIG_TEST(test_S04_a_store_that_cannot_lock_is_used_without),
      RIG_TEST(test_F18_a_wait_says_once_what_is_ignored),
      RIG_TEST(test_S07_a_child_forked_while_other_threads_tune_and_wait),
      RIG_TEST(test_S07_a_child_forked_inside_a_tuning),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
