/* SPDX-License-Identifier: MIT */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tdtune/record.h>

#include "model/space.h"

static void test_space_keeps_order_and_canonical_form(void **state) {
  (void)state;
  char first[] = "{\"unroll\": 4, \"tile\": 32}";
  const char *const configs[] = {first, "{}", "{\"tile\":16}"};
  tdt_space *space = NULL;
  assert_int_equal(tdt_space_create(configs, 3, &space, NULL), TDT_OK);
  /* The texts are copied. */
  memset(first, 'x', sizeof first - 1);
  assert_int_equal(tdt_space_size(space), 3);
  assert_string_equal(tdt_space_config(space, 0), "{\"tile\":32,\"unroll\":4}");
  assert_string_equal(tdt_space_config(space, 1), "{}");
  assert_string_equal(tdt_space_config(space, 2), "{\"tile\":16}");
  assert_null(tdt_space_config(space, 3));
  assert_null(tdt_space_config(space, TDT_NONE));
  tdt_space_destroy(space);
  tdt_space_destroy(NULL);
}

static void test_space_finds_the_first_of_equal_descriptions(void **state) {
  (void)state;
  static const char *const configs[] = {
      "{\"a\":1}",         "{\"a\":2}",         "{\"a\": 1}",    "{\"a\":1.0}",
      "{\"b\":1,\"a\":1}", "{\"a\":1,\"b\":1}", "{\"a\":\"1\"}",
  };
  static const size_t found[] = {0, 1, 0, 3, 4, 4, 6};
  tdt_space *space = NULL;
  assert_int_equal(tdt_space_create(configs, N_OF(configs), &space, NULL), TDT_OK);
  for (size_t i = 0; i < N_OF(configs); i++) {
    assert_int_equal(tdt__space_find(space, tdt_space_config(space, i)), found[i]);
  }
  static const char *const absent[] = {"{}", "{\"a\":3}", "", "{\"a\": 1}", "{\"a\":1.00}"};
  for (size_t i = 0; i < N_OF(absent); i++) {
    assert_true(tdt__space_find(space, absent[i]) == TDT_NONE);
  }
  tdt_space_destroy(space);
}

static void test_space_finds_among_ten_thousand(void **state) {
  (void)state;
  enum { N = 10000, SIZE = 40 };
  char(*texts)[SIZE] = malloc(sizeof(char[SIZE]) * N);
  const char **configs = malloc(sizeof *configs * N);
  for (size_t i = 0; i < N; i++) {
    (void)snprintf(texts[i], SIZE, "{\"tile\":%zu,\"warps\":%zu}", i / 4, i % 4);
    configs[i] = texts[i];
  }
  tdt_space *space = NULL;
  assert_int_equal(tdt_space_create(configs, N, &space, NULL), TDT_OK);
  for (size_t i = 0; i < N; i++) {
    assert_int_equal(tdt__space_find(space, texts[i]), i);
  }
  assert_true(tdt__space_find(space, "{\"tile\":2500,\"warps\":0}") == TDT_NONE);
  tdt_space_destroy(space);
  free(configs);
  free(texts);
}

static void test_space_of_any_size_finds_all(void **state) {
  (void)state;
  enum { MOST = 70, SIZE = 24 };
  char texts[MOST][SIZE];
  const char *configs[MOST];
  for (size_t i = 0; i < MOST; i++) {
    (void)snprintf(texts[i], SIZE, "{\"i\":%zu}", i);
    configs[i] = texts[i];
  }
  for (size_t n = 1; n <= MOST; n++) {
    tdt_space *space = NULL;
    assert_int_equal(tdt_space_create(configs, n, &space, NULL), TDT_OK);
    for (size_t i = 0; i < MOST; i++) {
      assert_true(tdt__space_find(space, texts[i]) == (i < n ? i : TDT_NONE));
    }
    tdt_space_destroy(space);
  }
}

static void test_L01_bad_space_names_the_candidate(void **state) {
  (void)state;
  static const char *const bad[] = {NULL, "", "[]", "3", "{\"a\":}", "{\"a\":1,\"a\":2}"};
  for (size_t i = 0; i < N_OF(bad); i++) {
    const char *const configs[] = {"{\"a\":1}", "{\"a\":2}", bad[i], "{\"a\":3}"};
    tdt_space *space = NULL;
    tdt_error error = TDT_ERROR_INIT;
    assert_int_equal(tdt_space_create(configs, 4, &space, &error), TDT_EINVAL);
    assert_null(space);
    assert_contains(tdt_error_text(&error), "candidate 2");
    tdt_error_clear(&error);
  }
}

static void test_L01_empty_space_is_refused(void **state) {
  (void)state;
  static const char *const configs[] = {"{}"};
  tdt_space *space = NULL;
  tdt_error error = TDT_ERROR_INIT;
  assert_int_equal(tdt_space_create(configs, 0, &space, &error), TDT_EINVAL);
  assert_contains(tdt_error_text(&error), "no candidate");
  assert_int_equal(tdt_space_create(NULL, 1, &space, &error), TDT_EINVAL);
  assert_int_equal(tdt_space_create(configs, SIZE_MAX, &space, &error), TDT_ENOMEM);
  assert_null(space);
  tdt_error_clear(&error);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_space_keeps_order_and_canonical_form),
      cmocka_unit_test(test_space_finds_the_first_of_equal_descriptions),
      cmocka_unit_test(test_space_finds_among_ten_thousand),
      cmocka_unit_test(test_space_of_any_size_finds_all),
      cmocka_unit_test(test_L01_bad_space_names_the_candidate),
      cmocka_unit_test(test_L01_empty_space_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
