/* SPDX-License-Identifier: MIT */
#include "fixture.h"
#include "scratch.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/directory.h"

static bool save(tdt_store *store, const char *key, unsigned seed) {
  tdt_identity identity = identity_of("scale", key);
  tdt_record *record = make_record(&identity, seed);
  bool saved = tdt_store_save(store, record, NULL) == TDT_OK;
  tdt_record_destroy(record);
  return saved;
}

/* The seed of the whole record that is there; 0 for anything else. */
static unsigned load(tdt_store *store, const char *key) {
  tdt_identity identity = identity_of("scale", key);
  tdt_record *record = NULL;
  if (tdt_store_load(store, &identity, &record, NULL) != TDT_OK) {
    return 0;
  }
  unsigned seed = seed_of(record);
  tdt_record_destroy(record);
  return seed;
}

static bool save_for_ever(void *argument) {
  for (unsigned seed = 2; save(argument, "", seed); seed++) {
  }
  return false;
}

/* Readers look all the while, and after the kill. */
static void test_S02_case_C1_killed_writers(void **state) {
  (void)state;
  tdt_store *store = open_store(in_folder("s"));
  assert_true(save(store, "", 1));
  unsigned chance = 12345;
  for (int round = 0; round < 50; round++) {
    uint64_t until = tdt__clock_ns() + (uint64_t)rand_r(&chance) % 4000000;
    pid_t child = start_child(save_for_ever, store);
    assert_true(child > 0);
    do {
      assert_int_not_equal(load(store, ""), 0);
    } while (tdt__clock_ns() < until);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_true(came_back(child)); /* killed, so it never failed to save */
    assert_int_not_equal(load(store, ""), 0);
  }
  assert_true(save(store, "", 77));
  assert_int_equal(load(store, ""), 77);
  tdt_store_close(store);
}

enum { N_WRITERS = 8, N_KEYS = 50 };

typedef struct writer {
  const char *root;
  unsigned number;
} writer;

/* Keys of its own, and one that all of them want. */
static bool write_keys(void *argument) {
  const writer *self = argument;
  tdt_store *store = open_store(self->root);
  bool good = true;
  for (unsigned i = 0; good && i < N_KEYS; i++) {
    char key[32];
    (void)snprintf(key, sizeof key, "%u-%u", self->number, i);
    good = save(store, key, 1 + self->number * N_KEYS + i) && save(store, "shared", i + 1) &&
           load(store, "shared") != 0;
  }
  tdt_store_close(store);
  return good;
}

static void test_case_C2_many_writers(void **state) {
  (void)state;
  writer writers[N_WRITERS];
  pid_t children[N_WRITERS];
  const char *root = in_folder("a/b/s"); /* made by all of them at once */
  for (unsigned i = 0; i < N_WRITERS; i++) {
    writers[i] = (writer){root, i};
    children[i] = start_child(write_keys, &writers[i]);
  }
  for (unsigned i = 0; i < N_WRITERS; i++) {
    assert_true(came_back(children[i]));
  }
  tdt_store *store = open_store(root);
  for (unsigned i = 0; i < N_WRITERS * N_KEYS; i++) {
    char key[32];
    (void)snprintf(key, sizeof key, "%u-%u", i / N_KEYS, i % N_KEYS);
    assert_int_equal(load(store, key), i + 1);
  }
  assert_int_not_equal(load(store, "shared"), 0);
  const char *folder = in_folder("a/b/s/scale");
  size_t n_kept = scratch_count(folder, ".json-");
  assert_int_equal(scratch_count(folder, ".json") - n_kept, N_WRITERS * N_KEYS + 1);
  assert_int_equal(scratch_count(folder, ".tmp"), 0);
  tdt_store_close(store);
}

/* AddressSanitizer's allocator does not survive a fork beside a thread that allocates. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FORKS_ALONE 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(FORKS_ALONE)
enum { N_SPEAKERS = 0 };
#else
enum { N_SPEAKERS = 2 };
#endif

typedef struct speakers {
  tdt_store *store;
  atomic_bool stop;
} speakers;

static void *speak(void *argument) {
  speakers *with = argument;
  for (unsigned i = 0; !atomic_load(&with->stop); i++) {
    char text[16];
    (void)snprintf(text, sizeof text, "%u", i % 1000);
    (void)tdt__store_first_time(with->store, text);
    (void)load(with->store, "");
  }
  return NULL;
}

static bool go_on(void *argument) {
  tdt_store *store = argument;
  (void)alarm(100); /* instead of waiting for ever, should it come to that */
  tdt_identity identity = identity_of("scale", "");
  tdt__file_lock lock = TDT__FILE_LOCK_INIT;
  bool taken = false;
  bool good = tdt__store_first_time(store, "child") && !tdt__store_first_time(store, "child") &&
              !tdt__store_first_time(store, "parent") && save(store, "child", 5) &&
              load(store, "child") == 5 && load(store, "") == 1 &&
              tdt__store_lock_try(store, &identity, &lock, &taken, NULL) == TDT_OK && taken;
  tdt__file_unlock(&lock);
  return good;
}

/* Forked while other threads are in the middle of the store. */
static void test_S07_a_forked_child_goes_on(void **state) {
  (void)state;
  speakers with = {open_store(in_folder("s")), false};
  assert_true(save(with.store, "", 1));
  assert_true(tdt__store_first_time(with.store, "parent"));
  pthread_t threads[N_SPEAKERS + 1];
  const int n_threads = N_SPEAKERS;
  for (int i = 0; i < n_threads; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, speak, &with), 0);
  }
  bool good = true;
  for (int i = 0; good && i < 20; i++) {
    good = in_child(go_on, with.store);
  }
  atomic_store(&with.stop, true);
  for (int i = 0; i < n_threads; i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
  }
  assert_true(good);
  assert_int_equal(load(with.store, "child"), 5);
  assert_true(tdt__store_first_time(with.store, "child")); /* said in the children only */
  tdt_store_close(with.store);
}

static bool hold_lock(void *argument) {
  tdt_identity identity = identity_of("scale", "");
  tdt__file_lock lock = TDT__FILE_LOCK_INIT;
  bool taken = false;
  return tdt__store_lock_try(argument, &identity, &lock, &taken, NULL) == TDT_OK && taken;
}

/* Between processes; and whoever dies lets go. */
static void test_S04_the_lock_between_processes(void **state) {
  (void)state;
  tdt_store *store = open_store(in_folder("s"));
  tdt_identity identity = identity_of("scale", "");
  tdt__file_lock lock = TDT__FILE_LOCK_INIT;
  bool taken = false;
  assert_int_equal(tdt__store_lock_try(store, &identity, &lock, &taken, NULL), TDT_OK);
  assert_true(taken);
  assert_false(in_child(hold_lock, store));
  tdt__file_unlock(&lock);
  assert_true(in_child(hold_lock, store));
  assert_int_equal(tdt__store_lock_try(store, &identity, &lock, &taken, NULL), TDT_OK);
  assert_true(taken);
  tdt__file_unlock(&lock);
  tdt_store_close(store);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_S02_case_C1_killed_writers, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_case_C2_many_writers, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_S07_a_forked_child_goes_on, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_S04_the_lock_between_processes, make_folder,
                                      remove_folder),
  };
  return cmocka_run_group_tests_name("store processes", tests, NULL, NULL);
}
