/* SPDX-License-Identifier: MIT */
#include "harness.h"
#include "scratch.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"

static bool try_lock(const scratch *where, unsigned long long number, tdt__file_lock *lock) {
  bool taken = false;
  assert_int_equal(tdt__file_lock_try(where->folder, number, lock, &taken, NULL), TDT_OK);
  assert_int_equal(taken, lock->descriptor >= 0);
  return taken;
}

static bool is_free(const scratch *where, unsigned long long number) {
  tdt__file_lock lock = TDT__FILE_LOCK_INIT;
  bool taken = try_lock(where, number, &lock);
  tdt__file_unlock(&lock);
  return taken;
}

/* What another process finds. */
static bool is_free_elsewhere(const scratch *where, unsigned long long number) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    tdt__file_lock lock = TDT__FILE_LOCK_INIT;
    bool taken = false;
    tdt_status status = tdt__file_lock_try(where->folder, number, &lock, &taken, NULL);
    _exit(status != TDT_OK ? 2 : taken);
  }
  int result = -1;
  assert_int_equal(waitpid(child, &result, 0), child);
  assert_true(WIFEXITED(result) && WEXITSTATUS(result) <= 1);
  return WEXITSTATUS(result) == 1;
}

static void test_lock_excludes_within_and_between_processes(void **state) {
  const scratch *where = *state;
  tdt__file_lock lock = TDT__FILE_LOCK_INIT;
  assert_true(is_free(where, 42));
  assert_true(is_free_elsewhere(where, 42));
  assert_true(try_lock(where, 42, &lock));
  assert_false(is_free(where, 42));
  assert_false(is_free_elsewhere(where, 42));
  /* Looking has not let go of it. */
  assert_false(is_free_elsewhere(where, 42));
  tdt__file_unlock(&lock);
  assert_int_equal(lock.descriptor, -1);
  assert_true(is_free(where, 42));
  assert_true(is_free_elsewhere(where, 42));
  tdt__file_unlock(&lock); /* a second time does nothing */
}

static void test_locks_of_different_numbers_are_independent(void **state) {
  const scratch *where = *state;
  static const unsigned long long numbers[] = {
      0, 1, 2, 1ULL << 31, 1ULL << 32, 1ULL << 61, (1ULL << 62) - 1};
  tdt__file_lock locks[N_OF(numbers)];
  for (size_t i = 0; i < N_OF(numbers); i++) {
    locks[i] = (tdt__file_lock)TDT__FILE_LOCK_INIT;
    assert_true(try_lock(where, numbers[i], &locks[i]));
  }
  for (size_t i = 0; i < N_OF(numbers); i++) {
    assert_false(is_free_elsewhere(where, numbers[i]));
    tdt__file_unlock(&locks[i]);
    assert_true(is_free_elsewhere(where, numbers[i]));
  }
  /* All of them live in one file, which stays empty. */
  struct stat facts;
  assert_int_equal(fstatat(where->folder, ".lock", &facts, AT_SYMLINK_NOFOLLOW), 0);
  assert_int_equal(facts.st_size, 0);
  assert_int_equal(facts.st_mode & 07777, 0600);
  assert_int_equal(scratch_count(where->path, ""), 1);
}

static void test_lock_of_any_number_works(void **state) {
  const scratch *where = *state;
  tdt__file_lock lock = TDT__FILE_LOCK_INIT;
  assert_true(try_lock(where, ~0ULL, &lock));
  assert_false(is_free_elsewhere(where, ~0ULL));
  tdt__file_unlock(&lock);
}

/* A child that holds the lock until it is killed. */
static pid_t start_holder(const scratch *where, unsigned long long number) {
  int ready[2];
  assert_int_equal(pipe(ready), 0);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    tdt__file_lock lock = TDT__FILE_LOCK_INIT;
    bool taken = false;
    (void)tdt__file_lock_try(where->folder, number, &lock, &taken, NULL);
    (void)!write(ready[1], taken ? "y" : "n", 1);
    for (;;) {
      (void)pause();
    }
  }
  char answer = '?';
  assert_int_equal(read(ready[0], &answer, 1), 1);
  assert_int_equal(answer, 'y');
  (void)close(ready[0]);
  (void)close(ready[1]);
  return child;
}

static void test_death_lets_go_of_a_lock(void **state) {
  const scratch *where = *state;
  pid_t holder = start_holder(where, 7);
  assert_false(is_free(where, 7));
  assert_int_equal(kill(holder, SIGKILL), 0);
  assert_int_equal(waitpid(holder, NULL, 0), holder);
  assert_true(is_free(where, 7));
}

static void test_S07_forked_child_forgets_but_the_parent_keeps(void **state) {
  const scratch *where = *state;
  tdt__file_lock lock = TDT__FILE_LOCK_INIT;
  assert_true(try_lock(where, 7, &lock));
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    tdt__file_lock_forget(&lock);
    _exit(lock.descriptor == -1 ? 0 : 1);
  }
  int result = -1;
  assert_int_equal(waitpid(child, &result, 0), child);
  assert_int_equal(result, 0);
  assert_false(is_free(where, 7));
  tdt__file_unlock(&lock);
  assert_true(is_free(where, 7));
}

static void test_S07_unlock_works_while_a_child_has_a_copy(void **state) {
  const scratch *where = *state;
  tdt__file_lock lock = TDT__FILE_LOCK_INIT;
  assert_true(try_lock(where, 7, &lock));
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    for (;;) {
      (void)pause();
    }
  }
  tdt__file_unlock(&lock);
  bool is_free_now = is_free(where, 7);
  assert_int_equal(kill(child, SIGKILL), 0);
  assert_int_equal(waitpid(child, NULL, 0), child);
  assert_true(is_free_now);
}

static void test_S02_lock_file_that_is_a_link_is_refused(void **state) {
  const scratch *where = *state;
  tdt_error error = TDT_ERROR_INIT;
  tdt__file_lock lock = TDT__FILE_LOCK_INIT;
  bool taken = false;
  assert_int_equal(symlinkat("elsewhere", where->folder, ".lock"), 0);
  assert_int_equal(tdt__file_lock_try(where->folder, 1, &lock, &taken, &error), TDT_EIO);
  assert_contains(tdt_error_text(&error), ".lock");
  assert_int_equal(scratch_count(where->path, "elsewhere"), 0);

  assert_int_equal(unlinkat(where->folder, ".lock", 0), 0);
  assert_int_equal(mkfifoat(where->folder, ".lock", 0600), 0);
  assert_int_equal(tdt__file_lock_try(where->folder, 1, &lock, &taken, &error), TDT_EIO);
  assert_false(taken);
  assert_int_equal(lock.descriptor, -1);
  tdt_error_clear(&error);
}

#define with_scratch(test) cmocka_unit_test_setup_teardown(test, scratch_create, scratch_remove)

int main(void) {
  const struct CMUnitTest tests[] = {
      with_scratch(test_lock_excludes_within_and_between_processes),
      with_scratch(test_locks_of_different_numbers_are_independent),
      with_scratch(test_lock_of_any_number_works),
      with_scratch(test_death_lets_go_of_a_lock),
      with_scratch(test_S07_forked_child_forgets_but_the_parent_keeps),
      with_scratch(test_S07_unlock_works_while_a_child_has_a_copy),
      with_scratch(test_S02_lock_file_that_is_a_link_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
