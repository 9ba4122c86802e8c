/* SPDX-License-Identifier: MIT */
#include "harness.h"

#include <string.h>

#include "base/digest.h"

/*
 * Digests name the files of the store, so they must never change. The values are those of xxHash's
 * own 128-bit XXH3 for the same bytes.
 */
static void test_digests_are_pinned(void **state) {
  (void)state;
  char digest[TDT_DIGEST_SIZE];
  tdt_digest(NULL, 0, digest);
  assert_string_equal(digest, "99aa06d3014798d86001c324468d497f");
  tdt_digest("a", 1, digest);
  assert_string_equal(digest, "a96faf705af16834e6c632b61e964e1f");
  tdt_digest("abc", 3, digest);
  assert_string_equal(digest, "06b05ab6733a618578af5f94892f3950");

  char many[1000];
  for (int i = 0; i < 1000; i++) {
    many[i] = (char)(unsigned char)(i * 7);
  }
  tdt_digest(many, sizeof many, digest);
  assert_string_equal(digest, "abee229cdadad76d10ad30264426c830");
}

/* Of ("ab", "c"): the bytes 02 00 00 00 00 00 00 00 "ab" 01 00 00 00 00 00 00 00 "c". */
static void test_digest_of_texts_is_pinned(void **state) {
  (void)state;
  static const char *const texts[] = {"ab", "c"};
  char digest[TDT_DIGEST_SIZE];
  tdt__digest_texts(texts, 2, digest);
  assert_string_equal(digest, "f2eda2708bcfd51cc05c0ee4c9f60440");
}

static void test_texts_are_counted_in_with_their_length(void **state) {
  (void)state;
  static const char *const lists[][3] = {
      {"ab", "c", ""}, {"a", "bc", ""}, {"", "abc", ""},
      {"abc", "", ""}, {"", "", "abc"}, {"a", "b", "c"},
  };
  char digests[N_OF(lists)][TDT_DIGEST_SIZE];
  for (size_t i = 0; i < N_OF(lists); i++) {
    tdt__digest_texts(lists[i], 3, digests[i]);
    assert_int_equal(strspn(digests[i], "0123456789abcdef"), TDT_DIGEST_SIZE - 1);
    for (size_t j = 0; j < i; j++) {
      assert_string_not_equal(digests[i], digests[j]);
    }
  }
  char shorter[TDT_DIGEST_SIZE];
  tdt__digest_texts(lists[0], 2, shorter);
  assert_string_not_equal(shorter, digests[0]);
}

static void test_hash_depends_on_every_byte(void **state) {
  (void)state;
  char data[64] = {0};
  const uint64_t zeros = tdt__hash(data, sizeof data);
  const tdt__hash128 wide = tdt__hash_wide(data, sizeof data);
  for (size_t i = 0; i < sizeof data; i++) {
    data[i] = 1;
    assert_true(tdt__hash(data, sizeof data) != zeros);
    const tdt__hash128 other = tdt__hash_wide(data, sizeof data);
    assert_true(other.low != wide.low && other.high != wide.high);
    data[i] = 0;
  }
  assert_true(tdt__hash(data, sizeof data) == zeros);
  assert_true(tdt__hash(NULL, 0) == tdt__hash("", 0));
  assert_true(tdt__hash_wide(NULL, 0).low == tdt__hash_wide("", 0).low);
  assert_true(tdt__hash_wide(NULL, 0).high == tdt__hash_wide("", 0).high);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_digests_are_pinned),
      cmocka_unit_test(test_digest_of_texts_is_pinned),
      cmocka_unit_test(test_texts_are_counted_in_with_their_length),
      cmocka_unit_test(test_hash_depends_on_every_byte),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
