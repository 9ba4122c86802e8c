/* SPDX-License-Identifier: MIT */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/utf8.h"

static void test_text_grows(void **state) {
  (void)state;
  tdt__text text = TDT__TEXT_INIT;
  char expected[8000] = "";
  for (int i = 0; i < 500; i++) {
    tdt__text_add(&text, "ab");
    tdt__text_add_bytes(&text, "cdef", 2);
    tdt__text_format(&text, "%d;", i);
    size_t end = strlen(expected);
    (void)snprintf(expected + end, sizeof expected - end, "abcd%d;", i);
    assert_int_equal(text.size, strlen(text.data));
  }
  char *taken = tdt__text_take(&text);
  assert_string_equal(taken, expected);
  assert_null(text.data);
  assert_int_equal(text.size, 0);
  free(taken);
}

static void test_text_takes_pieces_of_every_size(void **state) {
  (void)state;
  for (size_t size = 0; size < 700; size++) {
    tdt__text text = TDT__TEXT_INIT;
    tdt__text_format(&text, "%*s|", (int)size, "");
    assert_int_equal(text.size, size + 1);
    assert_int_equal(text.data[size], '|');
    assert_int_equal(text.data[size + 1], '\0');
    tdt__text_free(&text);
    assert_null(text.data);
  }
}

static void test_text_that_got_nothing_is_empty(void **state) {
  (void)state;
  tdt__text text = TDT__TEXT_INIT;
  assert_null(text.data);
  char *taken = tdt__text_take(&text);
  assert_string_equal(taken, "");
  free(taken);
  tdt__text_free(&text);
}

static void test_text_failure_sticks(void **state) {
  (void)state;
  tdt__text text = TDT__TEXT_INIT;
  tdt__text_add(&text, "kept");
  text.failed = true;
  tdt__text_add(&text, "lost");
  tdt__text_format(&text, "%d", 7);
  assert_int_equal(text.size, 4);
  assert_null(tdt__text_take(&text));
  assert_false(text.failed);
}

static const struct {
  const char *text;
  size_t valid; /* bytes before the first bad one */
  const char *copy;
} encodings[] = {
    {"", 0, ""},
    {"plain", 5, "plain"},
    {"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80", 9, "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80"},
    {"\x7F\xC2\x80\xDF\xBF", 5, "\x7F\xC2\x80\xDF\xBF"},
    {"\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF", 12,
     "\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF"},
    {"\xF0\x90\x80\x80\xF4\x8F\xBF\xBF", 8, "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"},
    {"a\x80z", 1, "a?z"},         /* a continuation alone */
    {"a\xC3", 1, "a?"},           /* cut off */
    {"a\xE2\x82", 1, "a??"},      /* cut off */
    {"a\xF0\x9F\x98", 1, "a???"}, /* cut off */
    {"\xE2\x28\xA1!", 0, "?(?!"}, /* no continuation second */
    {"\xE2\x82\x28!", 0,
     "?"
     "?(!"},                         /* nor third */
    {"\xC0\xAF", 0, "??"},           /* longer than needed */
    {"\xE0\x9F\xBF", 0, "???"},      /* likewise */
    {"\xF0\x8F\xBF\xBF", 0, "????"}, /* likewise */
    {"\xED\xA0\x80", 0, "???"},      /* a surrogate */
    {"\xF4\x90\x80\x80", 0, "????"}, /* above the last character */
    {"\xF5\x80\x80\x80\xFF", 0, "?????"},
    {"\xFFok\xFE\xC3\xA4", 0, "?ok?\xC3\xA4"},
};

static void test_utf8_prefix_and_copy(void **state) {
  (void)state;
  for (size_t i = 0; i < N_OF(encodings); i++) {
    const char *text = encodings[i].text;
    assert_int_equal(tdt__utf8_prefix(text, strlen(text)), encodings[i].valid);
    char *copy = tdt__utf8_copy(text);
    assert_string_equal(copy, encodings[i].copy);
    assert_int_equal(tdt__utf8_prefix(copy, strlen(copy)), strlen(copy));
    free(copy);
  }
}

static void test_utf8_length_and_offset(void **state) {
  (void)state;
  const char *text = "a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80z";
  static const size_t offsets[] = {0, 1, 3, 6, 10, 11};
  assert_int_equal(tdt__utf8_length(text), 5);
  assert_int_equal(tdt__utf8_length(""), 0);
  for (size_t i = 0; i < N_OF(offsets); i++) {
    assert_int_equal(tdt__utf8_offset(text, i), offsets[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_text_grows),
      cmocka_unit_test(test_text_takes_pieces_of_every_size),
      cmocka_unit_test(test_text_that_got_nothing_is_empty),
      cmocka_unit_test(test_text_failure_sticks),
      cmocka_unit_test(test_utf8_prefix_and_copy),
      cmocka_unit_test(test_utf8_length_and_offset),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
