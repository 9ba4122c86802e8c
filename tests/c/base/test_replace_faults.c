/* SPDX-License-Identifier: MIT */
#include "harness.h"
#include "scratch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

/*
 * Stand-ins for the system calls of tdt__file_replace(), put in place by the linker (--wrap).
 * Armed, call number `at` of one of them fails with `cause`, or writes only a part.
 */

typedef enum call { NO_CALL, OPEN, WRITE, FSYNC, CLOSE, LINK, RENAME } call;

static struct {
  call which;
  int at;    /* 1: the first */
  int times; /* how often from then on */
  int cause;
  int seen;
} fault;

static void arm(call which, int at, int times, int cause) {
  fault.which = which;
  fault.at = at;
  fault.times = times;
  fault.cause = cause;
  fault.seen = 0;
}

static void disarm(void) {
  arm(NO_CALL, 0, 0, 0);
}

static bool fails(call which) {
  if (which != fault.which) {
    return false;
  }
  fault.seen++;
  if (fault.seen < fault.at || fault.seen >= fault.at + fault.times) {
    return false;
  }
  errno = fault.cause;
  return true;
}

int __real_openat64(int folder, const char *name, int flags, mode_t mode);
int __wrap_openat64(int folder, const char *name, int flags, mode_t mode);
int __wrap_openat64(int folder, const char *name, int flags, mode_t mode) {
  return fails(OPEN) ? -1 : __real_openat64(folder, name, flags, mode);
}

int __real_openat(int folder, const char *name, int flags, mode_t mode);
int __wrap_openat(int folder, const char *name, int flags, mode_t mode);
int __wrap_openat(int folder, const char *name, int flags, mode_t mode) {
  return fails(OPEN) ? -1 : __real_openat(folder, name, flags, mode);
}

/* At most 7 bytes at a time, so that every write is one of several. */
ssize_t __real_write(int file, const void *data, size_t size);
ssize_t __wrap_write(int file, const void *data, size_t size);
ssize_t __wrap_write(int file, const void *data, size_t size) {
  return fails(WRITE) ? -1 : __real_write(file, data, size < 7 ? size : 7);
}

int __real_fsync(int file);
int __wrap_fsync(int file);
int __wrap_fsync(int file) {
  return fails(FSYNC) ? -1 : __real_fsync(file);
}

/* A failed close() has closed all the same. */
int __real_close(int file);
int __wrap_close(int file);
int __wrap_close(int file) {
  int result = __real_close(file);
  return fails(CLOSE) ? -1 : result;
}

int __real_linkat(int from, const char *name, int to, const char *other, int flags);
int __wrap_linkat(int from, const char *name, int to, const char *other, int flags);
int __wrap_linkat(int from, const char *name, int to, const char *other, int flags) {
  return fails(LINK) ? -1 : __real_linkat(from, name, to, other, flags);
}

int __real_renameat(int from, const char *name, int to, const char *other);
int __wrap_renameat(int from, const char *name, int to, const char *other);
int __wrap_renameat(int from, const char *name, int to, const char *other) {
  return fails(RENAME) ? -1 : __real_renameat(from, name, to, other);
}

static const char old_text[] = "what was there before";
static const char new_text[] = "what is there afterwards";

static int create_with_record(void **state) {
  disarm();
  if (scratch_create(state) != 0) {
    return -1;
  }
  const scratch *where = *state;
  return tdt__file_replace(where->folder, "record", old_text, strlen(old_text), NULL, NULL) ==
                 TDT_OK
             ? 0
             : -1;
}

static void assert_file(const scratch *where, const char *name, const char *expected) {
  char *data = NULL;
  size_t size = 0;
  assert_int_equal(tdt__file_read(where->folder, name, 1000, &data, &size, NULL), TDT_OK);
  assert_string_equal(data, expected);
  free(data);
}

static tdt_status replace(const scratch *where, const char *keep_as, tdt_error *error) {
  return tdt__file_replace(where->folder, "record", new_text, strlen(new_text), keep_as, error);
}

static const struct failure {
  const char *what;
  call which;
  int at;
  int times;
  int cause;
  const char *told;
} failures[] = {
    {"open on a full disk", OPEN, 1, 9, ENOSPC, "No space left"},
    {"open on a read-only disk", OPEN, 1, 9, EROFS, "Read-only file system"},
    {"open without permission", OPEN, 1, 9, EACCES, "Permission denied"},
    {"first write", WRITE, 1, 9, ENOSPC, "No space left"},
    {"third write", WRITE, 3, 9, ENOSPC, "No space left"},
    {"write over quota", WRITE, 2, 9, EDQUOT, "quota"},
    {"write on a broken disk", WRITE, 4, 1, EIO, "Input/output error"},
    {"flush", FSYNC, 1, 1, EIO, "Input/output error"},
    {"flush on a full disk", FSYNC, 1, 1, ENOSPC, "No space left"},
    {"close on a full disk", CLOSE, 1, 1, ENOSPC, "No space left"},
    {"rename", RENAME, 1, 1, EIO, "Input/output error"},
    {"rename of a busy file", RENAME, 1, 1, EBUSY, "busy"},
};

static void test_case_E1_failed_replace_leaves_the_old_file_alone(void **state) {
  const scratch *where = *state;
  for (size_t i = 0; i < N_OF(failures); i++) {
    const struct failure *failure = &failures[i];
    for (int keeps = 0; keeps <= 1; keeps++) {
      tdt_error error = TDT_ERROR_INIT;
      arm(failure->which, failure->at, failure->times, failure->cause);
      tdt_status status = replace(where, keeps != 0 ? "old" : NULL, &error);
      disarm();
      if (status != TDT_EIO) {
        fail_msg("%s: %s", failure->what, tdt_status_name(status));
      }
      assert_contains(tdt_error_text(&error), "record");
      assert_contains(tdt_error_text(&error), failure->told);
      tdt_error_clear(&error);
      assert_file(where, "record", old_text);
      if (scratch_count(where->path, "") != 1) {
        fail_msg("%s leaves a file", failure->what);
      }
    }
  }
  assert_int_equal(replace(where, NULL, NULL), TDT_OK);
  assert_file(where, "record", new_text);
}

static void test_case_E1_failed_keeping_leaves_the_old_file_alone(void **state) {
  const scratch *where = *state;
  static const int causes[] = {ENOSPC, EIO, EACCES, EROFS, EDQUOT};
  for (size_t i = 0; i < N_OF(causes); i++) {
    tdt_error error = TDT_ERROR_INIT;
    arm(LINK, 1, 1, causes[i]);
    assert_int_equal(replace(where, "old", &error), TDT_EIO);
    disarm();
    assert_contains(tdt_error_text(&error), "cannot keep record as old");
    tdt_error_clear(&error);
    assert_file(where, "record", old_text);
    assert_int_equal(scratch_count(where->path, ""), 1);
  }
}

/* A file that another writer replaces while it is being linked is not there any more, but its name
 * is. */
static void test_case_C2_replaced_while_it_is_being_kept(void **state) {
  const scratch *where = *state;
  arm(LINK, 1, 3, ENOENT);
  assert_int_equal(replace(where, "old", NULL), TDT_OK);
  assert_int_equal(fault.seen, 4);
  disarm();
  assert_file(where, "record", new_text);
  assert_file(where, "old", old_text);
  arm(LINK, 1, 1000000, ENOENT); /* it must not go on for ever */
  assert_int_equal(replace(where, "old", NULL), TDT_EIO);
  disarm();
  assert_int_equal(scratch_count(where->path, ""), 2);
}

static void test_interrupted_calls_go_on(void **state) {
  const scratch *where = *state;
  static const call calls[] = {OPEN, WRITE, FSYNC, CLOSE};
  for (size_t i = 0; i < N_OF(calls); i++) {
    arm(calls[i], 1, calls[i] == CLOSE ? 1 : 3, EINTR);
    assert_int_equal(replace(where, NULL, NULL), TDT_OK);
    assert_true(fault.seen > 0);
    disarm();
    assert_file(where, "record", new_text);
    assert_int_equal(scratch_count(where->path, ""), 1);
  }
}

static void test_case_C2_failures_after_the_rename_are_none(void **state) {
  const scratch *where = *state;
  arm(FSYNC, 2, 1, EIO); /* that of the folder */
  assert_int_equal(replace(where, NULL, NULL), TDT_OK);
  assert_int_equal(fault.seen, 2);
  disarm();
  assert_file(where, "record", new_text);
}

static void test_S03_old_file_is_copied_where_there_are_no_hard_links(void **state) {
  const scratch *where = *state;
  static const int causes[] = {EPERM, EOPNOTSUPP, ENOSYS, EMLINK};
  static const char *const kept[] = {"old", "old-2", "old-3", "old-4"};
  for (size_t i = 0; i < N_OF(causes); i++) {
    char text[32];
    (void)snprintf(text, sizeof text, "text %zu", i);
    assert_int_equal(tdt__file_replace(where->folder, "record", text, strlen(text), NULL, NULL),
                     TDT_OK);
    arm(LINK, 1, 9, causes[i]);
    assert_int_equal(replace(where, "old", NULL), TDT_OK);
    disarm();
    assert_file(where, "record", new_text);
    assert_file(where, kept[i], text);
    assert_int_equal(scratch_count(where->path, ""), i + 2);
  }
}

static void test_without_hard_links_nothing_there_is_nothing_to_keep(void **state) {
  const scratch *where = *state;
  arm(LINK, 1, 9, EPERM);
  assert_int_equal(tdt__file_replace(where->folder, "fresh", "x", 1, "fresh-old", NULL), TDT_OK);
  disarm();
  assert_file(where, "fresh", "x");
  assert_int_equal(scratch_count(where->path, "fresh"), 1);
}

#define with_record(test) cmocka_unit_test_setup_teardown(test, create_with_record, scratch_remove)

int main(void) {
  const struct CMUnitTest tests[] = {
      with_record(test_case_E1_failed_replace_leaves_the_old_file_alone),
      with_record(test_case_E1_failed_keeping_leaves_the_old_file_alone),
      with_record(test_case_C2_replaced_while_it_is_being_kept),
      with_record(test_interrupted_calls_go_on),
      with_record(test_case_C2_failures_after_the_rename_are_none),
      with_record(test_S03_old_file_is_copied_where_there_are_no_hard_links),
      with_record(test_without_hard_links_nothing_there_is_nothing_to_keep),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
