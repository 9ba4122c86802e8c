/* SPDX-License-Identifier: MIT */
#include "harness.h"

#include "group/message.h"

static void test_bytes_are_copied_and_a_nul_follows(void **state) {
  (void)state;
  tdt_message message = {0};
  char bytes[] = {'a', '\0', 'c'};
  assert_int_equal(tdt_message_set(&message, bytes, sizeof bytes, NULL), TDT_OK);
  bytes[0] = 'x';
  assert_int_equal(message.size, 3);
  assert_memory_equal(message.bytes, "a\0c", 4);
  tdt__message_clear(&message);
}

static void test_an_empty_message_is_there(void **state) {
  (void)state;
  tdt_message message = {0};
  assert_int_equal(tdt_message_set(&message, NULL, 0, NULL), TDT_OK);
  assert_int_equal(message.size, 0);
  assert_non_null(message.bytes);
  assert_string_equal(message.bytes, "");
  tdt__message_clear(&message);
  assert_null(message.bytes);
  tdt__message_clear(&message);
}

static void test_the_last_bytes_count(void **state) {
  (void)state;
  tdt_message message = {0};
  assert_int_equal(tdt_message_set(&message, "longer", 6, NULL), TDT_OK);
  assert_int_equal(tdt_message_set(&message, "new", 3, NULL), TDT_OK);
  assert_string_equal(message.bytes, "new");
  assert_int_equal(message.size, 3);
  /* Its own bytes, too. */
  assert_int_equal(tdt_message_set(&message, message.bytes + 1, 2, NULL), TDT_OK);
  assert_string_equal(message.bytes, "ew");
  tdt__message_clear(&message);
}

static void test_a_size_that_cannot_be(void **state) {
  (void)state;
  tdt_message message = {0};
  assert_int_equal(tdt_message_set(&message, "kept", 4, NULL), TDT_OK);
  tdt_error error = TDT_ERROR_INIT;
  assert_int_equal(tdt_message_set(&message, "x", SIZE_MAX, &error), TDT_ENOMEM);
  assert_int_equal(error.code, TDT_ENOMEM);
  assert_string_equal(message.bytes, "kept");
  tdt_error_clear(&error);
  tdt__message_clear(&message);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bytes_are_copied_and_a_nul_follows),
      cmocka_unit_test(test_an_empty_message_is_there),
      cmocka_unit_test(test_the_last_bytes_count),
      cmocka_unit_test(test_a_size_that_cannot_be),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
