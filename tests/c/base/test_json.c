/* SPDX-License-Identifier: MIT */
#include "harness.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"

static void test_canonical_text(void **state) {
  (void)state;
  static const struct {
    const char *given;
    const char *canonical;
  } cases[] = {
      {NULL, "{}"},
      {"{}", "{}"},
      {" { } \n", "{}"},
      {"{\"b\": 1, \"a\": 2}", "{\"a\":2,\"b\":1}"},
      {"{\"b\":{\"y\":[1, 2],\"x\":null},\"a\":true}",
       "{\"a\":true,\"b\":{\"x\":null,\"y\":[1,2]}}"},
      {"{\"a\":1.0}", "{\"a\":1.0}"},
      {"{\"a\":1}", "{\"a\":1}"},
      {"{\"a\":-0.0}", "{\"a\":-0.0}"},
      {"{\"a\":1e2}", "{\"a\":100.0}"},
      {"{\"a\":0.1}", "{\"a\":0.10000000000000001}"},
      {"{\"a\":9223372036854775807}", "{\"a\":9223372036854775807}"},
      {"{\"a\":\"\\u00e4\\u20ac\"}", "{\"a\":\"\xC3\xA4\xE2\x82\xAC\"}"},
      {"{\"a\":\"\\u0000\"}", "{\"a\":\"\\u0000\"}"},
      {"{\"a\":\"\\/\\\"\\n\"}", "{\"a\":\"/\\\"\\n\"}"},
      {"{\"\":0}", "{\"\":0}"},
  };
  for (size_t i = 0; i < N_OF(cases); i++) {
    char *canonical = NULL;
    assert_int_equal(tdt__json_canonical(cases[i].given, "it", &canonical, NULL), TDT_OK);
    assert_string_equal(canonical, cases[i].canonical);
    /* Canonical text is its own canonical form. */
    char *again = NULL;
    assert_int_equal(tdt__json_canonical(canonical, "it", &again, NULL), TDT_OK);
    assert_string_equal(again, canonical);
    free(again);
    free(canonical);
  }
}

static void test_bad_texts_are_refused_and_named(void **state) {
  (void)state;
  static const char *const bad[] = {
      "",
      " ",
      "null",
      "7",
      "\"text\"",
      "[]",
      "[{\"a\":1}]",
      "{",
      "}",
      "{\"a\"}",
      "{\"a\":}",
      "{\"a\":1,}",
      "{\"a\":1",
      "{\"a\":1}}",
      "{\"a\":1}x",
      "{\"a\":1}{\"a\":1}",
      "{\"a\":1,\"a\":2}",
      "{a:1}",
      "{'a':1}",
      "{\"a\":01}",
      "{\"a\":NaN}",
      "{\"a\":Infinity}",
      "{\"a\":1e999}",
      "{\"a\":9223372036854775808}",
      "{\"a\":\"\xFF\"}",
      "{\"a\":\"\xED\xA0\x80\"}",
      "{\"a\":\"\\ud800\"}",
      "{\"a\":\"line\nbreak\"}",
      "{\"a\\u0000b\":1}",
      "{\"a\":tru}",
      "\xEF\xBB\xBF{}",
  };
  for (size_t i = 0; i < N_OF(bad); i++) {
    char untouched[] = "untouched";
    char *canonical = untouched;
    tdt_error error = TDT_ERROR_INIT;
    tdt_status status = tdt__json_canonical(bad[i], "the fourth thing", &canonical, &error);
    if (status != TDT_EINVAL) {
      fail_msg("%s: %s", bad[i], tdt_status_name(status));
    }
    assert_ptr_equal(canonical, untouched);
    assert_contains(tdt_error_text(&error), "the fourth thing is no JSON object");
    tdt_error_clear(&error);
  }
}

static void test_error_tells_the_place(void **state) {
  (void)state;
  tdt_error error = TDT_ERROR_INIT;
  char *canonical = NULL;
  assert_int_equal(tdt__json_canonical("{\"a\":1,\n \"b\":oops}", "it", &canonical, &error),
                   TDT_EINVAL);
  assert_contains(tdt_error_text(&error), "oops");
  assert_contains(tdt_error_text(&error), "line 2, column 9");
  tdt_error_clear(&error);
}

static void test_text_ends_where_its_size_says(void **state) {
  (void)state;
  json_t *object = NULL;
  assert_int_equal(tdt__json_object("{\"a\":1}garbage", 7, "it", &object, NULL), TDT_OK);
  json_decref(object);
  /* A NUL does not end it. */
  assert_int_equal(tdt__json_object("{\"a\":1}\0x", 9, "it", &object, NULL), TDT_EINVAL);
}

static void test_hostile_nesting_is_refused(void **state) {
  (void)state;
  enum { DEPTH = 100000 };
  char *text = malloc(6 * DEPTH + 1);
  for (size_t i = 0; i < DEPTH; i++) {
    memcpy(text + 5 * i, "{\"a\":", 5);
  }
  memset(text + 5 * DEPTH, '}', DEPTH);
  text[6 * DEPTH] = '\0';
  char *canonical = NULL;
  tdt_error error = TDT_ERROR_INIT;
  assert_int_equal(tdt__json_canonical(text, "it", &canonical, &error), TDT_EINVAL);
  assert_contains(tdt_error_text(&error), "depth");
  tdt_error_clear(&error);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_canonical_text),
      cmocka_unit_test(test_bad_texts_are_refused_and_named),
      cmocka_unit_test(test_error_tells_the_place),
      cmocka_unit_test(test_text_ends_where_its_size_says),
      cmocka_unit_test(test_hostile_nesting_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
