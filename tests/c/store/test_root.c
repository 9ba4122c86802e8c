/* SPDX-License-Identifier: MIT */
#include "fixture.h"
#include "scratch.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIR_VARIABLE "TRITON_DIST_AUTOTUNE_DIR"

/* A user that no database knows, and that may write nothing but what all may. */
enum { UNKNOWN_USER = 54321 };

static char *former_home;
static char *former_tmpdir;

static char *copy_variable(const char *name) {
  const char *value = getenv(name);
  return value == NULL ? NULL : strdup(value);
}

static void put_variable(const char *name, const char *value) {
  if (value == NULL) {
    (void)unsetenv(name);
  } else {
    (void)setenv(name, value, 1);
  }
}

/* The folder is open to all, like a temporary one; HOME and TMPDIR are put back afterwards. */
static int start(void **state) {
  if (make_folder(state) != 0 || chmod(in_folder("."), 01777) != 0) {
    return -1;
  }
  former_home = copy_variable("HOME");
  former_tmpdir = copy_variable("TMPDIR");
  put_variable(DIR_VARIABLE, NULL);
  put_variable("TMPDIR", in_folder("."));
  return 0;
}

static int finish(void **state) {
  put_variable(DIR_VARIABLE, NULL);
  put_variable("HOME", former_home);
  put_variable("TMPDIR", former_tmpdir);
  free(former_home);
  free(former_tmpdir);
  return remove_folder(state);
}

static void assert_root(const char *expected) {
  char *root = NULL;
  assert_int_equal(tdt_store_default_root(&root, NULL), TDT_OK);
  assert_string_equal(root, expected);
  tdt_text_free(root);
}

static void test_F15_below_the_home_folder(void **state) {
  (void)state;
  assert_int_equal(mkdir(in_folder("home"), 0700), 0);
  put_variable("HOME", in_folder("home"));
  assert_root(in_folder("home/.triton_dist/autotune"));
  put_variable(DIR_VARIABLE, ""); /* empty is unset */
  assert_root(in_folder("home/.triton_dist/autotune"));
  assert_false(exists(in_folder("home/.triton_dist"))); /* nothing is created */
}

static void test_F15_another_place(void **state) {
  (void)state;
  assert_int_equal(mkdir(in_folder("home"), 0700), 0);
  put_variable("HOME", in_folder("home"));
  put_variable(DIR_VARIABLE, "/some/where");
  assert_root("/some/where");
  put_variable(DIR_VARIABLE, "~");
  assert_root(in_folder("home/"));
  put_variable(DIR_VARIABLE, "~/tuned/here");
  assert_root(in_folder("home/tuned/here"));
  char *before = getcwd(NULL, 0);
  assert_int_equal(chdir("/usr"), 0);
  put_variable(DIR_VARIABLE, "tuned");
  assert_root("/usr/tuned");
  put_variable(DIR_VARIABLE, "~else/tuned"); /* another user's home is not looked up */
  assert_root("/usr/~else/tuned");
  assert_int_equal(chdir(before), 0);
  free(before);
}

static void assert_temporary_root(unsigned long user) {
  char name[64];
  (void)snprintf(name, sizeof name, "/./tdtune-%lu/autotune", user);
  char *root = NULL;
  assert_int_equal(tdt_store_default_root(&root, NULL), TDT_OK);
  size_t size = strlen(root);
  assert_true(size > strlen(name));
  assert_string_equal(root + size - strlen(name), name);
  tdt_text_free(root);
}

/* The place in the temporary folder of this very user. */
static tdt_store *temporary_store(void) {
  return open_store(in_folder("tdtune-%lu/autotune", (unsigned long)geteuid()));
}

static bool saves(tdt_store *store, tdt_status expected) {
  tdt_identity identity = identity_of("scale", "");
  tdt_record *record = make_record(&identity, 3);
  tdt_error error = TDT_ERROR_INIT;
  tdt_status status = tdt_store_save(store, record, &error);
  if (status != expected) {
    print_error("saving into %s: %s\n", tdt_store_root(store), tdt_error_text(&error));
  }
  tdt_record_destroy(record);
  tdt_error_clear(&error);
  return status == expected;
}

static bool loads(tdt_store *store, tdt_status expected) {
  tdt_identity identity = identity_of("scale", "");
  tdt_record *record = NULL;
  tdt_status status = tdt_store_load(store, &identity, &record, NULL);
  tdt_record_destroy(record);
  return status == expected;
}

static bool is_private_folder(const char *path) {
  struct stat status;
  return lstat(path, &status) == 0 && S_ISDIR(status.st_mode) && (status.st_mode & 07777) == 0700 &&
         status.st_uid == geteuid();
}

static bool as_unknown_user(void *argument) {
  (void)argument;
  if (setgid(UNKNOWN_USER) != 0 || setuid(UNKNOWN_USER) != 0) {
    return false;
  }
  put_variable("HOME", in_folder("none"));
  assert_temporary_root(UNKNOWN_USER);
  put_variable("HOME", NULL);
  assert_temporary_root(UNKNOWN_USER);
  put_variable(DIR_VARIABLE, "~/x"); /* no home to be below of */
  assert_temporary_root(UNKNOWN_USER);
  char *root = NULL;
  if (tdt_store_default_root(&root, NULL) != TDT_OK) {
    return false;
  }
  tdt_store *store = open_store(root);
  tdt_text_free(root);
  bool good = loads(store, TDT_ENOENT) && saves(store, TDT_OK) && loads(store, TDT_OK) &&
              is_private_folder(in_folder("tdtune-%d", UNKNOWN_USER));
  tdt_store_close(store);
  return good;
}

static void test_case_E1_no_home_and_an_unknown_user(void **state) {
  (void)state;
  if (geteuid() != 0) {
    skip(); /* only root can become somebody else */
  }
  assert_true(in_child(as_unknown_user, NULL));
}

/* TMPDIR may be wrong as well. */
static void test_case_E1_no_temporary_folder(void **state) {
  (void)state;
  put_variable("TMPDIR", in_folder("none"));
  put_variable("HOME", in_folder("none"));
  char *root = NULL;
  assert_int_equal(tdt_store_default_root(&root, NULL), TDT_OK);
  assert_int_equal(root[0], '/');
  assert_null(strstr(root, in_folder("none")));
  tdt_text_free(root);
}

/* On a shared temporary folder anybody may have been there first. */
static void assert_unusable(tdt_store *store) {
  assert_true(saves(store, TDT_EIO));
  assert_true(loads(store, TDT_EIO));
}

static void test_case_E1_a_temporary_folder_open_to_others(void **state) {
  (void)state;
  static const mode_t modes[] = {0777, 0755, 0710, 0701, 0720};
  tdt_store *store = temporary_store();
  const char *folder = in_folder("tdtune-%lu", (unsigned long)geteuid());
  assert_int_equal(mkdir(folder, 0700), 0);
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
    assert_int_equal(chmod(folder, modes[i]), 0);
    assert_unusable(store);
    assert_int_equal(scratch_count(folder, ""), 0);
  }
  assert_int_equal(chmod(folder, 0700), 0);
  assert_true(saves(store, TDT_OK));
  tdt_store_close(store);
}

static void test_case_E1_a_link_in_the_temporary_folder(void **state) {
  (void)state;
  tdt_store *store = temporary_store();
  const char *folder = in_folder("tdtune-%lu", (unsigned long)geteuid());
  assert_int_equal(mkdir(in_folder("target"), 0700), 0);
  assert_int_equal(symlink("target", folder), 0);
  assert_unusable(store);
  assert_int_equal(unlink(folder), 0);
  assert_int_equal(mkdir(folder, 0700), 0);
  assert_int_equal(symlink("../target", in_folder("tdtune-%lu/autotune", (unsigned long)geteuid())),
                   0);
  assert_unusable(store);
  assert_int_equal(scratch_count(in_folder("target"), ""), 0);
  tdt_store_close(store);
}

static void test_case_E1_somebody_elses_temporary_folder(void **state) {
  (void)state;
  if (geteuid() != 0) {
    skip(); /* only root can give a folder away */
  }
  tdt_store *store = temporary_store();
  const char *folder = in_folder("tdtune-0");
  assert_int_equal(mkdir(folder, 0700), 0);
  assert_int_equal(chown(folder, UNKNOWN_USER, UNKNOWN_USER), 0);
  assert_unusable(store);
  assert_int_equal(scratch_count(folder, ""), 0);
  tdt_store_close(store);
}

static void test_case_E1_a_file_in_the_way(void **state) {
  (void)state;
  static const char *const roots[] = {"file", "file/below", "s"};
  write_file(in_folder("file"), "", 0);
  assert_int_equal(mkdir(in_folder("s"), 0700), 0);
  write_file(in_folder("s/scale"), "", 0);
  for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
    tdt_store *store = open_store(in_folder("%s", roots[i]));
    tdt_identity identity = identity_of("scale", "");
    tdt_record *record = NULL;
    tdt_error error = TDT_ERROR_INIT;
    assert_int_equal(tdt_store_load(store, &identity, &record, &error), TDT_EIO);
    assert_non_null(strstr(tdt_error_text(&error), tdt_store_root(store)));
    tdt_error_clear(&error);
    record = make_record(&identity, 3);
    assert_int_equal(tdt_store_save(store, record, &error), TDT_EIO);
    assert_non_null(strstr(tdt_error_text(&error), tdt_store_root(store)));
    tdt_error_clear(&error);
    tdt_record_destroy(record);
    tdt_store_close(store);
  }
  size_t size = 1;
  free(read_file(in_folder("s/scale"), &size));
  assert_int_equal(size, 0);
}

/* Root may write anywhere, so it becomes nobody first. */
static bool in_read_only_folders(void *argument) {
  (void)argument;
  if (geteuid() == 0 && (setgid(UNKNOWN_USER) != 0 || setuid(UNKNOWN_USER) != 0)) {
    return false;
  }
  tdt_store *above = open_store(in_folder("locked/s"));
  tdt_store *inside = open_store(in_folder("locked"));
  bool good = loads(above, TDT_ENOENT) && saves(above, TDT_EIO) && saves(inside, TDT_EIO) &&
              loads(inside, TDT_OK); /* what can be read is used */
  tdt_store_close(inside);
  tdt_store_close(above);
  return good;
}

static void test_case_E1_a_folder_that_is_read_only(void **state) {
  (void)state;
  tdt_store *store = open_store(in_folder("locked"));
  assert_true(saves(store, TDT_OK));
  tdt_identity identity = identity_of("scale", "");
  char *path = path_of(store, &identity);
  assert_int_equal(chmod(path, 0444), 0);
  assert_int_equal(chmod(in_folder("locked/scale"), 0555), 0);
  assert_int_equal(chmod(in_folder("locked"), 0555), 0);
  assert_true(in_child(in_read_only_folders, NULL));
  assert_int_equal(scratch_count(in_folder("locked"), ""), 1);
  assert_int_equal(scratch_count(in_folder("locked/scale"), ""), 1);
  assert_int_equal(chmod(in_folder("locked"), 0700), 0);
  assert_int_equal(chmod(in_folder("locked/scale"), 0700), 0);
  free(path);
  tdt_store_close(store);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_F15_below_the_home_folder, start, finish),
      cmocka_unit_test_setup_teardown(test_F15_another_place, start, finish),
      cmocka_unit_test_setup_teardown(test_case_E1_no_home_and_an_unknown_user, start, finish),
      cmocka_unit_test_setup_teardown(test_case_E1_no_temporary_folder, start, finish),
      cmocka_unit_test_setup_teardown(test_case_E1_a_temporary_folder_open_to_others, start,
                                      finish),
      cmocka_unit_test_setup_teardown(test_case_E1_a_link_in_the_temporary_folder, start, finish),
      cmocka_unit_test_setup_teardown(test_case_E1_somebody_elses_temporary_folder, start, finish),
      cmocka_unit_test_setup_teardown(test_case_E1_a_file_in_the_way, start, finish),
      cmocka_unit_test_setup_teardown(test_case_E1_a_folder_that_is_read_only, start, finish),
  };
  return cmocka_run_group_tests_name("store root", tests, NULL, NULL);
}
