/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "store/memory.h"

static tdt__memory *create(void) {
  tdt__memory *memory = NULL;
  assert_int_equal(tdt__memory_create(&memory, NULL), TDT_OK);
  return memory;
}

static void put(tdt__memory *memory, const char *key, size_t size, size_t candidate) {
  assert_int_equal(tdt__memory_put(memory, key, size, candidate, NULL), TDT_OK);
}

static void assert_holds(const tdt__memory *memory, const char *key, size_t size,
                         size_t candidate) {
  size_t found = TDT_NONE;
  assert_true(tdt__memory_get(memory, key, size, &found));
  assert_int_equal(found, candidate);
}

static void assert_lacks(const tdt__memory *memory, const char *key, size_t size) {
  size_t found = 77;
  assert_false(tdt__memory_get(memory, key, size, &found));
  assert_int_equal(found, 77);
}

static void test_what_was_put_is_found(void **state) {
  (void)state;
  tdt__memory *memory = create();
  assert_lacks(memory, "a", 1);
  put(memory, "a", 1, 3);
  assert_holds(memory, "a", 1, 3);
  assert_lacks(memory, "b", 1);
  assert_lacks(memory, "a", 0);
  assert_lacks(memory, "a", 2);
  assert_int_equal(tdt__memory_count(memory), 1);
  tdt__memory_destroy(memory);
}

static void test_a_later_put_replaces(void **state) {
  (void)state;
  tdt__memory *memory = create();
  put(memory, "a", 1, 3);
  put(memory, "a", 1, 0);
  put(memory, "a", 1, TDT_NONE - 1);
  assert_holds(memory, "a", 1, TDT_NONE - 1);
  assert_int_equal(tdt__memory_count(memory), 1);
  tdt__memory_destroy(memory);
}

/* A key is its bytes: none at all, NUL among them, one the start of another. */
static void test_keys_are_bytes(void **state) {
  (void)state;
  tdt__memory *memory = create();
  assert_lacks(memory, NULL, 0);
  put(memory, NULL, 0, 1);
  put(memory, "\0", 1, 2);
  put(memory, "\0\0", 2, 3);
  put(memory, "a\0b", 3, 4);
  put(memory, "a\0c", 3, 5);
  put(memory, "a", 1, 6);
  assert_holds(memory, "", 0, 1);
  assert_holds(memory, "\0", 1, 2);
  assert_holds(memory, "\0\0", 2, 3);
  assert_holds(memory, "a\0b", 3, 4);
  assert_holds(memory, "a\0c", 3, 5);
  assert_holds(memory, "a", 1, 6);
  assert_int_equal(tdt__memory_count(memory), 6);
  tdt__memory_destroy(memory);
}

/* The caller's copy may go. */
static void test_keys_are_copied(void **state) {
  (void)state;
  tdt__memory *memory = create();
  char key[] = "abc";
  put(memory, key, 3, 1);
  key[0] = 'x';
  assert_holds(memory, "abc", 3, 1);
  assert_lacks(memory, key, 3);
  tdt__memory_destroy(memory);
}

enum { KEY_SIZE = 48 };

static size_t key_of(size_t number, char key[KEY_SIZE]) {
  return (size_t)snprintf(key, KEY_SIZE, "((%zu,), 'float32')", number);
}

static void test_S05_a_hundred_thousand_keys(void **state) {
  (void)state;
  enum { N = 100000 };
  tdt__memory *memory = create();
  char key[KEY_SIZE];
  for (size_t i = 0; i < N; i++) {
    size_t size = key_of(i, key);
    put(memory, key, size, i % 32);
  }
  assert_int_equal(tdt__memory_count(memory), N);
  for (size_t i = 0; i < N; i++) {
    size_t size = key_of(i, key);
    assert_holds(memory, key, size, i % 32);
    size = key_of(N + i, key);
    assert_lacks(memory, key, size);
  }
  tdt__memory_destroy(memory);
}

static void test_destroying_nothing(void **state) {
  (void)state;
  tdt__memory_destroy(NULL);
}

/* One writer adds and replaces, several readers look: what was published before is found, and with
 * a candidate that it had at some time. */
enum { N_KEYS = 20000, N_READERS = 4 };

typedef struct shared {
  tdt__memory *memory;
  atomic_size_t n_published;
  atomic_bool wrong;
} shared;

static void *read_on(void *argument) {
  shared *with = argument;
  char key[KEY_SIZE];
  size_t next = 0;
  for (size_t n = 0; n < N_KEYS;) {
    n = atomic_load_explicit(&with->n_published, memory_order_relaxed);
    for (size_t i = 0; i < 100 && n > 0; i++) {
      next = (next * 7 + 13) % n;
      size_t candidate = 0;
      bool found = tdt__memory_get(with->memory, key, key_of(next, key), &candidate);
      if (found && candidate % N_KEYS != next) {
        atomic_store(&with->wrong, true);
      }
    }
    /* Seeing the number is no promise to see the table; after acquiring it, it is. */
    n = atomic_load_explicit(&with->n_published, memory_order_acquire);
    size_t candidate = 0;
    if (n > 0 && !tdt__memory_get(with->memory, key, key_of(n - 1, key), &candidate)) {
      atomic_store(&with->wrong, true);
    }
  }
  return NULL;
}

static void write_all(shared *with) {
  char key[KEY_SIZE];
  for (size_t i = 0; i < N_KEYS; i++) {
    size_t size = key_of(i, key);
    put(with->memory, key, size, i);
    put(with->memory, key, size, i + N_KEYS);
    size = key_of(i / 2, key);
    put(with->memory, key, size, i / 2 + (size_t)2 * N_KEYS);
    atomic_store_explicit(&with->n_published, i + 1, memory_order_release);
  }
}

static void test_readers_beside_a_writer(void **state) {
  (void)state;
  shared with = {create(), 0, false};
  pthread_t readers[N_READERS];
  for (size_t i = 0; i < N_READERS; i++) {
    assert_int_equal(pthread_create(&readers[i], NULL, read_on, &with), 0);
  }
  write_all(&with);
  for (size_t i = 0; i < N_READERS; i++) {
    assert_int_equal(pthread_join(readers[i], NULL), 0);
  }
  assert_false(atomic_load(&with.wrong));
  assert_int_equal(tdt__memory_count(with.memory), N_KEYS);
  tdt__memory_destroy(with.memory);
}

static bool go_on(void *argument) {
  tdt__memory *memory = argument;
  size_t candidate = 0;
  bool kept = tdt__memory_get(memory, "a", 1, &candidate) && candidate == 1;
  char key[KEY_SIZE];
  for (size_t i = 0; kept && i < 100; i++) {
    size_t size = key_of(i, key);
    kept = tdt__memory_put(memory, key, size, i, NULL) == TDT_OK &&
           tdt__memory_get(memory, key, size, &candidate) && candidate == i;
  }
  return kept;
}

static void test_S07_a_forked_child_goes_on(void **state) {
  (void)state;
  tdt__memory *memory = create();
  put(memory, "a", 1, 1);
  assert_true(in_child(go_on, memory));
  assert_int_equal(tdt__memory_count(memory), 1);
  tdt__memory_destroy(memory);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_was_put_is_found),
      cmocka_unit_test(test_a_later_put_replaces),
      cmocka_unit_test(test_keys_are_bytes),
      cmocka_unit_test(test_keys_are_copied),
      cmocka_unit_test(test_S05_a_hundred_thousand_keys),
      cmocka_unit_test(test_destroying_nothing),
      cmocka_unit_test(test_readers_beside_a_writer),
      cmocka_unit_test(test_S07_a_forked_child_goes_on),
  };
  return cmocka_run_group_tests_name("store memory", tests, NULL, NULL);
}
