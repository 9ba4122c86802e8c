/* SPDX-License-Identifier: MIT */
#include "harness.h"
#include "scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"

static void assert_file(const scratch *where, const char *name, const char *expected) {
  char *data = NULL;
  size_t size = 0;
  assert_int_equal(tdt__file_read(where->folder, name, 1U << 20, &data, &size, NULL), TDT_OK);
  assert_int_equal(size, strlen(expected));
  assert_string_equal(data, expected);
  free(data);
}

static tdt_status replace(const scratch *where, const char *name, const char *text,
                          const char *keep_as) {
  return tdt__file_replace(where->folder, name, text, strlen(text), keep_as, NULL);
}

static void test_S02_replaced_file_is_private_and_whole(void **state) {
  const scratch *where = *state;
  mode_t before = umask(0);
  assert_int_equal(replace(where, "record", "one", NULL), TDT_OK);
  (void)umask(before);
  assert_file(where, "record", "one");
  struct stat facts;
  assert_int_equal(fstatat(where->folder, "record", &facts, AT_SYMLINK_NOFOLLOW), 0);
  assert_int_equal(facts.st_mode & 07777, 0600);

  assert_int_equal(replace(where, "record", "two!", NULL), TDT_OK);
  assert_file(where, "record", "two!");
  assert_int_equal(replace(where, "record", "", NULL), TDT_OK);
  assert_file(where, "record", "");
  assert_int_equal(scratch_count(where->path, ""), 1);
}

static void test_S03_replaced_file_is_kept(void **state) {
  const scratch *where = *state;
  assert_int_equal(replace(where, "record", "one", "record-old"), TDT_OK);
  assert_int_equal(scratch_count(where->path, ""), 1); /* there was nothing to keep */
  assert_int_equal(replace(where, "record", "two", "record-old"), TDT_OK);
  assert_file(where, "record-old", "one");
  /* A name that is taken gets a number. */
  assert_int_equal(replace(where, "record", "three", "record-old"), TDT_OK);
  assert_int_equal(replace(where, "record", "four", "record-old"), TDT_OK);
  assert_file(where, "record", "four");
  assert_file(where, "record-old", "one");
  assert_file(where, "record-old-2", "two");
  assert_file(where, "record-old-3", "three");
  assert_int_equal(scratch_count(where->path, ""), 4);
}

static void test_S02_replace_puts_a_file_in_the_place_of_a_link(void **state) {
  const scratch *where = *state;
  assert_int_equal(replace(where, "target", "not mine", NULL), TDT_OK);
  assert_int_equal(symlinkat("target", where->folder, "record"), 0);
  assert_int_equal(replace(where, "record", "mine", "record-old"), TDT_OK);
  assert_file(where, "record", "mine");
  assert_file(where, "target", "not mine");
  /* What was kept is the link itself. */
  char target[16] = "";
  assert_int_equal(readlinkat(where->folder, "record-old", target, sizeof target), 6);
  assert_string_equal(target, "target");
}

static void test_replace_fails_where_a_folder_is_in_the_way(void **state) {
  const scratch *where = *state;
  assert_int_equal(mkdirat(where->folder, "record", 0700), 0);
  tdt_error error = TDT_ERROR_INIT;
  assert_int_equal(tdt__file_replace(where->folder, "record", "x", 1, NULL, &error), TDT_EIO);
  assert_contains(tdt_error_text(&error), "record");
  assert_int_equal(tdt__file_replace(where->folder, "record", "x", 1, "old", &error), TDT_EIO);
  assert_int_equal(scratch_count(where->path, ""), 1);
  tdt_error_clear(&error);
}

static void test_replace_stays_in_its_folder(void **state) {
  const scratch *where = *state;
  static const char *const bad[] = {"", ".", "..", "a/b", "../x", "/tmp/x"};
  for (size_t i = 0; i < N_OF(bad); i++) {
    assert_int_equal(replace(where, bad[i], "x", NULL), TDT_EIO);
    assert_int_equal(replace(where, "record", "x", bad[i]), TDT_EIO);
  }
  assert_int_equal(scratch_count(where->path, ""), 0);
}

static void test_kept_name_too_long_leaves_the_old_file(void **state) {
  const scratch *where = *state;
  char name[300];
  memset(name, 'k', sizeof name - 1);
  name[sizeof name - 1] = '\0';
  assert_int_equal(replace(where, "record", "old", NULL), TDT_OK);
  assert_int_equal(replace(where, "record", "new", name), TDT_EIO);
  assert_file(where, "record", "old");
  assert_int_equal(scratch_count(where->path, ""), 1);
}

/* A file is whole if every byte is the one that its length stands for. */
enum { SIZE_STEP = 40000, N_SIZES = 7 };

static char fill_of(size_t size) {
  return (char)('a' + size / SIZE_STEP);
}

static void write_for_ever(const scratch *where, int started, bool keeps) {
  static char data[SIZE_STEP * N_SIZES];
  for (unsigned i = 0;; i++) {
    size_t size = (size_t)SIZE_STEP * (1 + i % N_SIZES);
    memset(data, fill_of(size), size);
    (void)tdt__file_replace(where->folder, "record", data, size, keeps ? "old" : NULL, NULL);
    if (i == 0) {
      (void)!write(started, "", 1);
    }
  }
}

static void assert_whole(const scratch *where, const char *name) {
  char *data = NULL;
  size_t size = 0;
  assert_int_equal(tdt__file_read(where->folder, name, SIZE_STEP * N_SIZES, &data, &size, NULL),
                   TDT_OK);
  assert_true(size > 0 && size % SIZE_STEP == 0);
  for (size_t i = 0; i < size; i++) {
    if (data[i] != fill_of(size)) {
      fail_msg("byte %zu of %zu is not from the same write", i, size);
    }
  }
  free(data);
}

static void nap_us(long us) {
  struct timespec time = {0, us * 1000};
  (void)nanosleep(&time, NULL);
}

static void test_S02_case_C1_killed_writer_leaves_a_whole_file(void **state) {
  const scratch *where = *state;
  unsigned seed = (unsigned)getpid();
  print_message("seed %u\n", seed);
  srandom(seed);
  for (int round = 0; round < 50; round++) {
    int started[2];
    assert_int_equal(pipe(started), 0);
    pid_t writer = fork();
    assert_true(writer >= 0);
    if (writer == 0) {
      write_for_ever(where, started[1], round % 2 == 1);
    }
    (void)close(started[1]);
    char byte;
    assert_int_equal(read(started[0], &byte, 1), 1);
    (void)close(started[0]);
    for (long reads = random() % 8; reads > 0; reads--) {
      assert_whole(where, "record");
    }
    nap_us(random() % 4000);
    assert_int_equal(kill(writer, SIGKILL), 0);
    assert_int_equal(waitpid(writer, NULL, 0), writer);
    assert_whole(where, "record");
    /* The next writer is not disturbed by what the killed one left. */
    assert_int_equal(replace(where, "other", "fine", NULL), TDT_OK);
    assert_file(where, "other", "fine");
  }
  DIR *entries = opendir(where->path);
  size_t n_kept = 0;
  for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
    if (strncmp(entry->d_name, "old", 3) == 0) {
      assert_whole(where, entry->d_name);
      n_kept++;
    }
  }
  (void)closedir(entries);
  assert_true(n_kept > 0);
}

static void age(const scratch *where, const char *name, time_t by_s) {
  struct timespec times[2] = {{time(NULL) - by_s, 0}, {time(NULL) - by_s, 0}};
  assert_int_equal(utimensat(where->folder, name, times, AT_SYMLINK_NOFOLLOW), 0);
}

static void test_leftovers_of_killed_writers_go_when_they_are_old(void **state) {
  const scratch *where = *state;
  assert_int_equal(replace(where, ".tmp-1-old", "left over", NULL), TDT_OK);
  assert_int_equal(replace(where, ".tmp-1-new", "of a living writer", NULL), TDT_OK);
  assert_int_equal(replace(where, "tmp-record", "old, but a record", NULL), TDT_OK);
  assert_int_equal(mkdirat(where->folder, ".tmp-folder", 0700), 0);
  age(where, ".tmp-1-old", 7200);
  age(where, ".tmp-1-new", 600);
  age(where, "tmp-record", 7200);
  age(where, ".tmp-folder", 7200);
  for (int i = 0; i < 70; i++) {
    assert_int_equal(replace(where, "record", "x", NULL), TDT_OK);
  }
  struct stat facts;
  assert_int_equal(fstatat(where->folder, ".tmp-1-old", &facts, 0), -1);
  assert_file(where, ".tmp-1-new", "of a living writer");
  assert_file(where, "tmp-record", "old, but a record");
  assert_int_equal(scratch_count(where->path, ""), 4);
}

static void test_case_C2_many_writers_of_one_file(void **state) {
  const scratch *where = *state;
  enum { N_WRITERS = 8, N_FILES = 30 };
  pid_t writers[N_WRITERS];
  for (int i = 0; i < N_WRITERS; i++) {
    writers[i] = fork();
    assert_true(writers[i] >= 0);
    if (writers[i] == 0) {
      int failures = 0;
      for (int j = 0; j < N_FILES; j++) {
        char own[32];
        (void)snprintf(own, sizeof own, "own-%d-%d", i, j);
        failures += replace(where, own, own, NULL) != TDT_OK;
        failures += replace(where, "shared", own, "shared-old") != TDT_OK;
      }
      _exit(failures);
    }
  }
  for (int i = 0; i < N_WRITERS; i++) {
    int result = -1;
    assert_int_equal(waitpid(writers[i], &result, 0), writers[i]);
    assert_int_equal(result, 0);
  }
  for (int i = 0; i < N_WRITERS; i++) {
    for (int j = 0; j < N_FILES; j++) {
      char own[32];
      (void)snprintf(own, sizeof own, "own-%d-%d", i, j);
      assert_file(where, own, own);
    }
  }
  assert_int_equal(scratch_count(where->path, "shared"),
                   scratch_count(where->path, "shared-old") + 1);
  assert_int_equal(scratch_count(where->path, ".tmp-"), 0);
}

#define with_scratch(test) cmocka_unit_test_setup_teardown(test, scratch_create, scratch_remove)

int main(void) {
  const struct CMUnitTest tests[] = {
      with_scratch(test_S02_replaced_file_is_private_and_whole),
      with_scratch(test_S03_replaced_file_is_kept),
      with_scratch(test_S02_replace_puts_a_file_in_the_place_of_a_link),
      with_scratch(test_replace_fails_where_a_folder_is_in_the_way),
      with_scratch(test_replace_stays_in_its_folder),
      with_scratch(test_kept_name_too_long_leaves_the_old_file),
      with_scratch(test_S02_case_C1_killed_writer_leaves_a_whole_file),
      with_scratch(test_leftovers_of_killed_writers_go_when_they_are_old),
      with_scratch(test_case_C2_many_writers_of_one_file),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
