/* SPDX-License-Identifier: MIT */
#include "harness.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

static void test_every_status_is_pinned_and_has_name_and_text(void **state) {
  (void)state;
  static const struct {
    int number;
    const char *name;
  } pinned[] = {
      {0, "TDT_OK"},       {1, "TDT_ENOMEM"},    {2, "TDT_EINVAL"},    {3, "TDT_EIO"},
      {4, "TDT_EFORMAT"},  {5, "TDT_ENOENT"},    {6, "TDT_EMISS"},     {7, "TDT_EPRUNED"},
      {8, "TDT_EFAILED"},  {9, "TDT_EDEVICE"},   {10, "TDT_ESTOPPED"}, {11, "TDT_EGROUP"},
      {12, "TDT_ELAUNCH"}, {13, "TDT_ESTALLED"},
  };
  for (size_t i = 0; i < N_OF(pinned); i++) {
    tdt_status status = (tdt_status)pinned[i].number;
    assert_string_equal(tdt_status_name(status), pinned[i].name);
    assert_true(strlen(tdt_status_text(status)) > 0);
    assert_string_not_equal(tdt_status_text(status), "unknown status");
  }
#define COUNT(number, name, text) +1
  assert_int_equal(N_OF(pinned), 0 TDT_STATUS_LIST(COUNT));
#undef COUNT
}

static void test_unknown_status_has_a_name_too(void **state) {
  (void)state;
  assert_string_equal(tdt_status_name((tdt_status)999), "TDT_?");
  assert_string_equal(tdt_status_text((tdt_status)999), "unknown status");
}

static void test_error_holds_a_short_sentence_inside(void **state) {
  (void)state;
  tdt_error error = TDT_ERROR_INIT;
  assert_string_equal(tdt_error_text(&error), "");
  assert_int_equal(tdt_error_set(&error, TDT_EIO, "no %s for %d", "room", 7), TDT_EIO);
  assert_int_equal(error.code, TDT_EIO);
  assert_null(error.long_text);
  assert_string_equal(tdt_error_text(&error), "no room for 7");
  tdt_error_clear(&error);
  assert_int_equal(error.code, TDT_OK);
  assert_string_equal(tdt_error_text(&error), "");
}

static void test_error_holds_sentences_of_every_length(void **state) {
  (void)state;
  char words[1200];
  tdt_error error = TDT_ERROR_INIT;
  for (size_t size = 0; size < sizeof words; size += size < 230 || size > 250 ? 37 : 1) {
    memset(words, 'x', size);
    words[size] = '\0';
    assert_int_equal(tdt_error_set(&error, TDT_EINVAL, "%s.", words), TDT_EINVAL);
    assert_int_equal(strlen(tdt_error_text(&error)), size + 1);
    assert_int_equal(tdt_error_text(&error)[size], '.');
    assert_int_equal(error.long_text != NULL, size + 1 >= sizeof error.text);
  }
  tdt_error_clear(&error);
}

static void test_error_may_be_made_from_itself(void **state) {
  (void)state;
  tdt_error error = TDT_ERROR_INIT;
  char expected[2048] = "start";
  (void)tdt_error_set(&error, TDT_EIO, "%s", expected);
  /* Grows from the inner text over into the heap and on. */
  for (int i = 0; i < 40; i++) {
    char before[sizeof expected];
    strcpy(before, expected);
    (void)snprintf(expected, sizeof expected, "round %d: %.2000s", i, before);
    assert_int_equal(tdt_error_set(&error, TDT_ELAUNCH, "round %d: %s", i, tdt_error_text(&error)),
                     TDT_ELAUNCH);
    assert_string_equal(tdt_error_text(&error), expected);
  }
  assert_non_null(error.long_text);
  /* And shrinks back from there. */
  (void)tdt_error_set(&error, TDT_EIO, "%.5s", tdt_error_text(&error));
  assert_string_equal(tdt_error_text(&error), "round");
  assert_null(error.long_text);
  tdt_error_clear(&error);
}

static void test_error_may_be_null(void **state) {
  (void)state;
  assert_int_equal(tdt_error_set(NULL, TDT_EGROUP, "%s", "x"), TDT_EGROUP);
  assert_int_equal(tdt__fail_memory(NULL), TDT_ENOMEM);
  assert_int_equal(tdt__fail_system(NULL, TDT_EIO, ENOENT, "x"), TDT_EIO);
  assert_string_equal(tdt_error_text(NULL), "");
  tdt_error_clear(NULL);
}

static void test_error_without_a_sentence_tells_its_kind(void **state) {
  (void)state;
  tdt_error error = TDT_ERROR_INIT;
  (void)tdt_error_set(&error, TDT_EDEVICE, "%s", "");
  assert_string_equal(tdt_error_text(&error), tdt_status_text(TDT_EDEVICE));
  assert_int_equal(tdt__fail_memory(&error), TDT_ENOMEM);
  assert_string_equal(tdt_error_text(&error), "out of memory");
  tdt_error_clear(&error);
}

static void test_system_failure_tells_its_cause(void **state) {
  (void)state;
  tdt_error error = TDT_ERROR_INIT;
  assert_int_equal(tdt__fail_system(&error, TDT_EIO, ENOSPC, "cannot write %s", "x.json"), TDT_EIO);
  assert_string_equal(tdt_error_text(&error), "cannot write x.json: No space left on device");

  char name[600];
  memset(name, 'n', sizeof name - 1);
  name[sizeof name - 1] = '\0';
  assert_int_equal(tdt__fail_system(&error, TDT_EIO, EACCES, "cannot open %s", name), TDT_EIO);
  assert_contains(tdt_error_text(&error), name);
  assert_contains(tdt_error_text(&error), ": Permission denied");
  tdt_error_clear(&error);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_status_is_pinned_and_has_name_and_text),
      cmocka_unit_test(test_unknown_status_has_a_name_too),
      cmocka_unit_test(test_error_holds_a_short_sentence_inside),
      cmocka_unit_test(test_error_holds_sentences_of_every_length),
      cmocka_unit_test(test_error_may_be_made_from_itself),
      cmocka_unit_test(test_error_may_be_null),
      cmocka_unit_test(test_error_without_a_sentence_tells_its_kind),
      cmocka_unit_test(test_system_failure_tells_its_cause),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
