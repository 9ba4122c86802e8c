/* SPDX-License-Identifier: MIT */
#include "harness.h"

#include <stdlib.h>
#include <string.h>

#include "model/identity.h"

static const tdt_identity whole = {
    .function = {.name = "scale", .module = "ops", .qualname = "Ops.scale", .source = "9f2c"},
    .hardware = "{\"device\": \"X\", \"cores\": 4}",
    .key = "((262144,), 'float32')",
};

static void test_copy_owns_complete_canonical_texts(void **state) {
  (void)state;
  tdt_identity copy;
  assert_int_equal(tdt__identity_copy(&whole, &copy, NULL), TDT_OK);
  assert_string_equal(copy.function.name, "scale");
  assert_string_equal(copy.function.module, "ops");
  assert_string_equal(copy.function.qualname, "Ops.scale");
  assert_string_equal(copy.function.source, "9f2c");
  assert_string_equal(copy.hardware, "{\"cores\":4,\"device\":\"X\"}");
  assert_string_equal(copy.key, whole.key);
  assert_ptr_not_equal(copy.key, whole.key);
  tdt__identity_clear(&copy);
  assert_null(copy.key);
  tdt__identity_clear(&copy);
}

static void test_absent_texts_have_their_meaning(void **state) {
  (void)state;
  const tdt_identity sparse = {.function = {.name = "scale"}};
  tdt_identity copy;
  assert_int_equal(tdt__identity_copy(&sparse, &copy, NULL), TDT_OK);
  assert_string_equal(copy.function.module, "");
  assert_string_equal(copy.function.qualname, "scale");
  assert_string_equal(copy.function.source, "");
  assert_string_equal(copy.hardware, "{}");
  assert_string_equal(copy.key, "");
  tdt__identity_clear(&copy);

  const tdt_identity spelled = {
      .function = {.name = "scale", .module = "", .qualname = "scale", .source = ""},
      .hardware = " {} ",
      .key = ""};
  char digest[TDT_DIGEST_SIZE];
  char same[TDT_DIGEST_SIZE];
  assert_int_equal(tdt_identity_digest(&sparse, digest, NULL), TDT_OK);
  assert_int_equal(tdt_identity_digest(&spelled, same, NULL), TDT_OK);
  assert_string_equal(digest, same);
}

/* The names of files on people's disks: these must never change. */
static void test_identity_digests_are_pinned(void **state) {
  (void)state;
  char digest[TDT_DIGEST_SIZE];
  assert_int_equal(tdt_identity_digest(&whole, digest, NULL), TDT_OK);
  assert_string_equal(digest, "0af2150e574025130311ef5684b8ff69");
  const tdt_identity sparse = {.function = {.name = "scale"}};
  assert_int_equal(tdt_identity_digest(&sparse, digest, NULL), TDT_OK);
  assert_string_equal(digest, "155d77026c0f2fd417acb5e6d5e5343a");
}

static void test_F16_every_field_makes_another_identity(void **state) {
  (void)state;
  tdt_identity variants[8];
  for (size_t i = 0; i < N_OF(variants); i++) {
    variants[i] = whole;
  }
  variants[1].function.name = "scale2";
  variants[2].function.module = "ops2";
  variants[3].function.qualname = "scale";
  variants[4].function.source = "9f2d";
  variants[5].hardware = "{\"cores\":5,\"device\":\"X\"}";
  variants[6].key = "((262145,), 'float32')";
  variants[7].function.module = "opsO";
  variants[7].function.qualname = "ps.scale";

  char digests[N_OF(variants)][TDT_DIGEST_SIZE];
  tdt_identity copies[N_OF(variants)];
  for (size_t i = 0; i < N_OF(variants); i++) {
    assert_int_equal(tdt_identity_digest(&variants[i], digests[i], NULL), TDT_OK);
    assert_int_equal(tdt__identity_copy(&variants[i], &copies[i], NULL), TDT_OK);
    for (size_t j = 0; j < i; j++) {
      assert_string_not_equal(digests[i], digests[j]);
      assert_false(tdt__identity_equal(&copies[i], &copies[j]));
    }
    assert_true(tdt__identity_equal(&copies[i], &copies[i]));
  }
  for (size_t i = 0; i < N_OF(variants); i++) {
    tdt__identity_clear(&copies[i]);
  }
}

static void test_order_and_spaces_in_hardware_do_not_matter(void **state) {
  (void)state;
  tdt_identity other = whole;
  other.hardware = "{\"cores\":4,\"device\":\"X\"}";
  char digest[TDT_DIGEST_SIZE];
  char same[TDT_DIGEST_SIZE];
  assert_int_equal(tdt_identity_digest(&whole, digest, NULL), TDT_OK);
  assert_int_equal(tdt_identity_digest(&other, same, NULL), TDT_OK);
  assert_string_equal(digest, same);
}

static void test_bad_identities_are_refused(void **state) {
  (void)state;
  static const struct {
    tdt_identity identity;
    const char *told;
  } cases[] = {
      {{.function = {.name = NULL, .qualname = "q"}}, "no name"},
      {{.function = {.name = ""}}, "no name"},
      {{.function = {.name = "f"}, .hardware = ""}, "hardware"},
      {{.function = {.name = "f"}, .hardware = "[]"}, "hardware"},
      {{.function = {.name = "f"}, .hardware = "{\"a\":\"\xFF\"}"}, "hardware"},
      {{.function = {.name = "f\xFF"}}, "name is no UTF-8 text from byte 1 on"},
      {{.function = {.name = "f", .module = "\xC3"}}, "module is no UTF-8"},
      {{.function = {.name = "f", .qualname = "\xC3"}}, "full name is no UTF-8"},
      {{.function = {.name = "f", .source = "\xC3"}}, "source is no UTF-8"},
      {{.function = {.name = "f"}, .key = "key \xC3\xA4\xC3"}, "the key is no UTF-8"},
  };
  for (size_t i = 0; i < N_OF(cases); i++) {
    char digest[TDT_DIGEST_SIZE] = "untouched";
    tdt_error error = TDT_ERROR_INIT;
    assert_int_equal(tdt_identity_digest(&cases[i].identity, digest, &error), TDT_EINVAL);
    assert_contains(tdt_error_text(&error), cases[i].told);
    assert_string_equal(digest, "untouched");
    tdt_error_clear(&error);
  }
}

static void test_function_copy(void **state) {
  (void)state;
  tdt_function copy;
  assert_int_equal(tdt__function_copy(&whole.function, &copy, NULL), TDT_OK);
  assert_string_equal(copy.name, "scale");
  assert_string_equal(copy.module, "ops");
  assert_string_equal(copy.qualname, "Ops.scale");
  assert_string_equal(copy.source, "9f2c");
  tdt__function_clear(&copy);
  const tdt_function nameless = {.module = "ops"};
  assert_int_equal(tdt__function_copy(&nameless, &copy, NULL), TDT_EINVAL);
  assert_null(copy.name);
}

static void test_key_may_be_very_long(void **state) {
  (void)state;
  size_t size = (size_t)10 << 20;
  char *key = malloc(size + 1);
  memset(key, 'k', size);
  key[size] = '\0';
  tdt_identity identity = whole;
  identity.key = key;
  char digest[TDT_DIGEST_SIZE];
  char other[TDT_DIGEST_SIZE];
  assert_int_equal(tdt_identity_digest(&identity, digest, NULL), TDT_OK);
  key[size - 1] = 'l';
  assert_int_equal(tdt_identity_digest(&identity, other, NULL), TDT_OK);
  assert_string_not_equal(digest, other);
  free(key);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_copy_owns_complete_canonical_texts),
      cmocka_unit_test(test_absent_texts_have_their_meaning),
      cmocka_unit_test(test_identity_digests_are_pinned),
      cmocka_unit_test(test_F16_every_field_makes_another_identity),
      cmocka_unit_test(test_order_and_spaces_in_hardware_do_not_matter),
      cmocka_unit_test(test_bad_identities_are_refused),
      cmocka_unit_test(test_function_copy),
      cmocka_unit_test(test_key_may_be_very_long),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
