/* SPDX-License-Identifier: MIT */
#include "harness.h"
#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"

static void put(const scratch *where, const char *name, const char *text) {
  int file = openat(where->folder, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  assert_true(file >= 0);
  assert_int_equal(write(file, text, strlen(text)), strlen(text));
  assert_int_equal(close(file), 0);
}

static unsigned mode_of(const scratch *where, const char *name) {
  struct stat facts;
  assert_int_equal(fstatat(where->folder, name, &facts, AT_SYMLINK_NOFOLLOW), 0);
  return (unsigned)facts.st_mode & 07777U;
}

/* Files */

static void test_read_gives_the_whole_file(void **state) {
  const scratch *where = *state;
  put(where, "file", "some words");
  char *data = NULL;
  size_t size = 0;
  assert_int_equal(tdt__file_read(where->folder, "file", 10, &data, &size, NULL), TDT_OK);
  assert_int_equal(size, 10);
  assert_string_equal(data, "some words");
  free(data);

  put(where, "empty", "");
  assert_int_equal(tdt__file_read(where->folder, "empty", 0, &data, &size, NULL), TDT_OK);
  assert_int_equal(size, 0);
  assert_string_equal(data, "");
  free(data);
}

static void assert_unreadable(const scratch *where, const char *name, tdt_status expected) {
  char untouched = 'u';
  char *data = &untouched;
  size_t size = 77;
  tdt_error error = TDT_ERROR_INIT;
  tdt_status status = tdt__file_read(where->folder, name, 4, &data, &size, &error);
  if (status != expected) {
    fail_msg("%s: %s, %s", name, tdt_status_name(status), tdt_error_text(&error));
  }
  assert_contains(tdt_error_text(&error), name);
  assert_ptr_equal(data, &untouched);
  assert_int_equal(size, 77);
  tdt_error_clear(&error);
}

static void test_read_refuses_what_is_no_file_or_too_large(void **state) {
  const scratch *where = *state;
  put(where, "five!", "five!");
  assert_int_equal(mkdirat(where->folder, "folder", 0700), 0);
  assert_int_equal(mkfifoat(where->folder, "pipe", 0600), 0);
  int socket_file = socket(AF_UNIX, SOCK_STREAM, 0);
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int length = snprintf(address.sun_path, sizeof address.sun_path, "%.80s/socket", where->path);
  assert_true(length > 0 && (size_t)length < sizeof address.sun_path);
  assert_int_equal(bind(socket_file, (struct sockaddr *)&address, sizeof address), 0);

  assert_unreadable(where, "nothing", TDT_ENOENT);
  assert_unreadable(where, "five!", TDT_EFORMAT);
  assert_unreadable(where, "folder", TDT_EFORMAT);
  assert_unreadable(where, "pipe", TDT_EFORMAT); /* and does not wait for a writer */
  assert_unreadable(where, "socket", TDT_EFORMAT);
  assert_unreadable(where, "..", TDT_EIO);
  assert_unreadable(where, "folder/file", TDT_EIO);
  assert_unreadable(where, "", TDT_EIO);
  (void)close(socket_file);
}

static void test_S02_read_follows_no_link(void **state) {
  const scratch *where = *state;
  put(where, "file", "abcd");
  assert_int_equal(symlinkat("file", where->folder, "link"), 0);
  assert_int_equal(symlinkat("nowhere", where->folder, "dangling"), 0);
  assert_int_equal(symlinkat("loop", where->folder, "loop"), 0);
  assert_unreadable(where, "link", TDT_EFORMAT);
  assert_unreadable(where, "dangling", TDT_EFORMAT);
  assert_unreadable(where, "loop", TDT_EFORMAT);
}

/* Folders */

static void test_S02_folders_are_made_private_with_their_parents(void **state) {
  const scratch *where = *state;
  char path[PATH_MAX];
  (void)snprintf(path, sizeof path, "%.2000s/a//b/./c/", where->path);
  int folder = -1;
  assert_int_equal(tdt__folder_open(path, false, &folder, NULL), TDT_ENOENT);
  assert_int_equal(folder, -1);
  assert_int_equal(tdt__folder_open(path, true, &folder, NULL), TDT_OK);
  assert_int_equal(close(folder), 0);
  assert_int_equal(mode_of(where, "a"), 0700);
  assert_int_equal(mode_of(where, "a/b"), 0700);
  assert_int_equal(mode_of(where, "a/b/c"), 0700);
  /* Again, with and without making it. */
  assert_int_equal(tdt__folder_open(path, true, &folder, NULL), TDT_OK);
  assert_int_equal(close(folder), 0);
  assert_int_equal(tdt__folder_open(path, false, &folder, NULL), TDT_OK);
  assert_int_equal(close(folder), 0);
}

static void test_folder_path_may_be_relative_and_lead_through_links(void **state) {
  const scratch *where = *state;
  int before = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  assert_int_equal(fchdir(where->folder), 0);
  assert_int_equal(mkdir("real", 0700), 0);
  assert_int_equal(symlink("real", "link"), 0);
  int folder = -1;
  tdt_status status = tdt__folder_open("link/x/y", true, &folder, NULL);
  assert_int_equal(fchdir(before), 0);
  assert_int_equal(close(before), 0);
  assert_int_equal(status, TDT_OK);
  assert_int_equal(close(folder), 0);
  assert_int_equal(mode_of(where, "real/x/y"), 0700);
}

static void test_case_E1_folder_that_cannot_be_is_an_error(void **state) {
  const scratch *where = *state;
  put(where, "file", "");
  assert_int_equal(symlinkat("nowhere", where->folder, "dangling"), 0);
  static const char *const bad[] = {"file", "file/below", "dangling", "dangling/below"};
  for (size_t i = 0; i < N_OF(bad); i++) {
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%.2000s/%s", where->path, bad[i]);
    int folder = -1;
    tdt_error error = TDT_ERROR_INIT;
    assert_int_equal(tdt__folder_open(path, true, &folder, &error), TDT_EIO);
    assert_int_equal(folder, -1);
    assert_contains(tdt_error_text(&error), path);
    tdt_error_clear(&error);
  }
  int folder = -1;
  assert_int_equal(tdt__folder_open("", true, &folder, NULL), TDT_EIO);
  assert_int_equal(tdt__folder_open("/proc/tdtune/x", true, &folder, NULL), TDT_EIO);
}

static void test_folder_name_too_long_is_an_error(void **state) {
  const scratch *where = *state;
  char path[PATH_MAX];
  (void)snprintf(path, sizeof path, "%.2000s/", where->path);
  memset(path + strlen(path), 'n', 300);
  path[strlen(where->path) + 301] = '\0';
  int folder = -1;
  assert_int_equal(tdt__folder_open(path, true, &folder, NULL), TDT_EIO);
}

static void test_folders_may_be_made_by_several_at_once(void **state) {
  const scratch *where = *state;
  enum { N_CHILDREN = 8, N_FOLDERS = 50 };
  pid_t children[N_CHILDREN];
  for (int i = 0; i < N_CHILDREN; i++) {
    children[i] = fork();
    assert_true(children[i] >= 0);
    if (children[i] == 0) {
      int failures = 0;
      for (int j = 0; j < N_FOLDERS; j++) {
        char path[PATH_MAX];
        int folder = -1;
        (void)snprintf(path, sizeof path, "%.2000s/%d/x/y/z", where->path, j);
        failures += tdt__folder_open(path, true, &folder, NULL) != TDT_OK;
        (void)close(folder);
        (void)snprintf(path, sizeof path, "in-%d", j);
        failures += tdt__folder_open_in(where->folder, path, true, &folder, NULL) != TDT_OK;
        (void)close(folder);
      }
      _exit(failures);
    }
  }
  for (int i = 0; i < N_CHILDREN; i++) {
    int result = -1;
    assert_int_equal(waitpid(children[i], &result, 0), children[i]);
    assert_int_equal(result, 0);
  }
}

static void test_S02_folder_in_a_folder_is_private_and_no_link(void **state) {
  const scratch *where = *state;
  int folder = -1;
  tdt_error error = TDT_ERROR_INIT;
  assert_int_equal(tdt__folder_open_in(where->folder, "inner", false, &folder, &error), TDT_ENOENT);
  assert_int_equal(tdt__folder_open_in(where->folder, "inner", true, &folder, &error), TDT_OK);
  assert_int_equal(close(folder), 0);
  assert_int_equal(mode_of(where, "inner"), 0700);

  folder = -1;
  put(where, "file", "");
  assert_int_equal(symlinkat("inner", where->folder, "link"), 0);
  assert_int_equal(symlinkat("nowhere", where->folder, "dangling"), 0);
  static const char *const bad[] = {"link", "dangling", "file", "..", ".", "", "inner/x", "/tmp"};
  for (size_t i = 0; i < N_OF(bad); i++) {
    assert_int_equal(tdt__folder_open_in(where->folder, bad[i], true, &folder, &error), TDT_EIO);
    assert_int_equal(folder, -1);
  }
  struct stat facts;
  assert_int_equal(fstatat(where->folder, "nowhere", &facts, 0), -1);
  tdt_error_clear(&error);
}

#define with_scratch(test) cmocka_unit_test_setup_teardown(test, scratch_create, scratch_remove)

int main(void) {
  const struct CMUnitTest tests[] = {
      with_scratch(test_read_gives_the_whole_file),
      with_scratch(test_read_refuses_what_is_no_file_or_too_large),
      with_scratch(test_S02_read_follows_no_link),
      with_scratch(test_S02_folders_are_made_private_with_their_parents),
      with_scratch(test_folder_path_may_be_relative_and_lead_through_links),
      with_scratch(test_case_E1_folder_that_cannot_be_is_an_error),
      with_scratch(test_folder_name_too_long_is_an_error),
      with_scratch(test_folders_may_be_made_by_several_at_once),
      with_scratch(test_S02_folder_in_a_folder_is_private_and_no_link),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
