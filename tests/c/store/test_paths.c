/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/paths.h"

/* The documents promise <root>/<function_name>/. */
static void test_S06_plain_names_stay_themselves(void **state) {
  (void)state;
  static const char *const names[] = {"scale", "s", "_scale_2", "0", "a.b-c", "gemm_fp8__rows"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    char *folder = tdt__path_folder(names[i]);
    assert_string_equal(folder, names[i]);
    free(folder);
  }
}

static void test_S06_other_names_keep_what_is_readable(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *start;
  } names[] = {
      {"<lambda>", "lambda-"},
      {"a/b", "a_b-"},
      {"../../etc/passwd", "etc_passwd-"},
      {"..", "_-"},
      {".", "_-"},
      {"", "_-"},
      {"/", "_-"},
      {"Größe", "Gr_e-"},
      {"Scale", "Scale-"},
      {".hidden", "hidden-"},
      {"-rf", "rf-"},
      {"a b\tc\n", "a_b_c-"},
      {"scale.", "scale.-"},
      {"表", "_-"},
      {"C:\\x", "C_x-"},
      {"scale-", "scale--"},
      {"f.<locals>.g", "f._locals_.g-"},
  };
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    char *folder = tdt__path_folder(names[i].name);
    size_t start = strlen(names[i].start);
    if (strncmp(folder, names[i].start, start) != 0 || strlen(folder) != start + 16 ||
        strspn(folder + start, "0123456789abcdef") != 16) {
      fail_msg("\"%s\" became %s", names[i].name, folder);
    }
    free(folder);
  }
}

static char *repeat(char c, size_t n) {
  char *text = malloc(n + 1);
  assert_non_null(text);
  memset(text, c, n);
  text[n] = '\0';
  return text;
}

static void test_S06_long_names(void **state) {
  (void)state;
  static const size_t sizes[] = {100, 101, 255, 4000, 4001};
  char *folders[sizeof sizes / sizeof sizes[0]];
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    char *name = repeat('x', sizes[i]);
    folders[i] = tdt__path_folder(name);
    assert_true(strlen(folders[i]) <= 100);
    for (size_t j = 0; j < i; j++) {
      assert_string_not_equal(folders[i], folders[j]);
    }
    free(name);
  }
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    free(folders[i]);
  }
}

/* Every byte that is no NUL, alone, at the start, in the middle and at the end. */
static void test_S06_never_more_than_one_component(void **state) {
  (void)state;
  for (int byte = 1; byte < 256; byte++) {
    const char c = (char)byte;
    const char names[][4] = {{c}, {c, 'a'}, {'a', c, 'b'}, {'a', c}, {c, c}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
      char *folder = tdt__path_folder(names[i]);
      assert_true(strlen(folder) > 0 && strlen(folder) <= 100);
      assert_null(strchr(folder, '/'));
      assert_true(folder[0] != '.' && folder[0] != '-');
      assert_int_equal(strspn(folder, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                      "0123456789_-."),
                       strlen(folder));
      free(folder);
    }
  }
}

/* Also where upper and lower case are one, and also with a name made up to meet another's folder.
 */
static void test_S06_different_names_different_folders(void **state) {
  (void)state;
  char *of_scale = tdt__path_folder("Scale");
  char *of_dots = tdt__path_folder("..");
  const char *names[] = {"scale",   "Scale",  "SCALE",  "sCale",  "scale_", "scale.", "scale-",
                         "<scale>", "scale/", "/scale", "",       ".",      "..",     "...",
                         "_",       "__",     "a/b",    "a//b",   "a_b",    "a\\b",   "Größe",
                         "Grösse",  "größe",  "Gr_e",   of_scale, of_dots};
  enum { N = sizeof names / sizeof names[0] };
  char *folders[N];
  for (size_t i = 0; i < N; i++) {
    folders[i] = tdt__path_folder(names[i]);
    for (size_t j = 0; j < i; j++) {
      if (strcasecmp(folders[i], folders[j]) == 0) {
        fail_msg("\"%s\" and \"%s\" meet in %s", names[i], names[j], folders[i]);
      }
    }
  }
  for (size_t i = 0; i < N; i++) {
    free(folders[i]);
  }
  free(of_dots);
  free(of_scale);
}

static void test_paths_become_absolute(void **state) {
  (void)state;
  char *before = getcwd(NULL, 0);
  assert_int_equal(chdir("/usr"), 0);
  char *relative = tdt__path_absolute("x/y");
  char *absolute = tdt__path_absolute("/x/../y");
  assert_string_equal(relative, "/usr/x/y");
  assert_string_equal(absolute, "/x/../y");
  free(absolute);
  free(relative);
  assert_int_equal(chdir(before), 0);
  free(before);
}

/* Where the working directory was removed there is no absolute path; the name stays. */
static void test_paths_without_a_working_directory(void **state) {
  (void)state;
  char *before = getcwd(NULL, 0);
  assert_int_equal(chdir(in_folder(".")), 0);
  char *working = getcwd(NULL, 0);
  assert_int_equal(rmdir(working), 0);
  free(working);
  char *relative = tdt__path_absolute("x/y");
  assert_string_equal(relative, "x/y");
  free(relative);
  assert_int_equal(chdir(before), 0);
  free(before);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_S06_plain_names_stay_themselves),
      cmocka_unit_test(test_S06_other_names_keep_what_is_readable),
      cmocka_unit_test(test_S06_long_names),
      cmocka_unit_test(test_S06_never_more_than_one_component),
      cmocka_unit_test(test_S06_different_names_different_folders),
      cmocka_unit_test(test_paths_become_absolute),
      cmocka_unit_test_setup(test_paths_without_a_working_directory, make_folder),
  };
  return cmocka_run_group_tests_name("store paths", tests, NULL, NULL);
}
