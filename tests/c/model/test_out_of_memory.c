/* SPDX-License-Identifier: MIT */
#include "harness.h"
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "model/identity.h"
#include "model/record.h"
#include "model/space.h"

/* L03: out of memory anywhere is an error code, and nothing is lost. Allocation number `at` fails,
 * alone or with all after it; what is not given back is counted. */

/*
 * Tokens of the JSON texts are short on purpose: jansson does not notice a failed allocation for
 * one of 16 bytes or more (see base/json.c).
 */

/* Each does its work and gives everything back; what it returns says whether it could. */

static tdt_status make_space(tdt_error *error) {
  static const char *const configs[] = {
      "{\"tile\":16,\"nested\":{\"b\":[1,2.5,null,true],\"a\":\"text\"}}", "{\"tile\":32}",
      "{\"tile\":16}", "{\"tile\":32}"};
  tdt_space *space = NULL;
  tdt_status status = tdt_space_create(configs, N_OF(configs), &space, error);
  assert_int_equal(space != NULL, status == TDT_OK);
  tdt_space_destroy(space);
  return status;
}

static const tdt_identity identity = {
    .function = {.name = "scale", .module = "ops", .source = "9f2c"},
    .hardware = "{\"device\":\"X\",\"cores\":4}",
    .key = "(1, 2)",
};

static tdt_status copy_identity(tdt_error *error) {
  tdt_identity copy = {0};
  tdt_status status = tdt__identity_copy(&identity, &copy, error);
  assert_int_equal(copy.key != NULL, status == TDT_OK);
  tdt__identity_clear(&copy);
  return status;
}

static tdt_status copy_function(tdt_error *error) {
  tdt_function copy = {0};
  tdt_status status = tdt__function_copy(&identity.function, &copy, error);
  assert_int_equal(copy.name != NULL, status == TDT_OK);
  tdt__function_clear(&copy);
  return status;
}

static tdt_status digest_identity(tdt_error *error) {
  char digest[TDT_DIGEST_SIZE] = "";
  tdt_status status = tdt_identity_digest(&identity, digest, error);
  assert_int_equal(digest[0] != '\0', status == TDT_OK);
  return status;
}

static tdt_status fill_record(tdt_record *record, tdt_error *error) {
  static const double samples[] = {3.0, 1.0, 2.0};
  for (size_t i = 0; i < record->n_entries; i++) {
    record->entries[i].config = strdup("{\"tile\":16,\"list\":[1],\"in\":{\"x\":1}}");
    if (record->entries[i].config == NULL) {
      return TDT_ENOMEM;
    }
  }
  tdt_status status =
      tdt__timing_set_samples(&record->entries[0].timing, samples, 3, TDT_STATISTIC_MEDIAN, error);
  if (status == TDT_OK) {
    status = tdt__timing_copy(&record->entries[0].timing, &record->entries[1].timing, error);
  }
  if (status == TDT_OK) {
    status = tdt__timing_set_failed(&record->entries[1].timing, "reason", error);
  }
  if (status == TDT_OK) {
    status = tdt__timing_copy(&record->entries[1].timing, &record->entries[2].timing, error);
  }
  record->best = 0;
  return status;
}

static tdt_status make_record(tdt_error *error) {
  tdt_record *record = NULL;
  tdt_status status = tdt__record_create(3, &record, error);
  assert_int_equal(record != NULL, status == TDT_OK);
  if (status == TDT_OK) {
    status = fill_record(record, error);
  }
  tdt_record_destroy(record);
  return status;
}

static tdt_status make_table(tdt_error *error) {
  tdt_record *record = NULL;
  tdt_status status = tdt__record_create(3, &record, error);
  if (status == TDT_OK) {
    status = fill_record(record, error);
  }
  char *text = NULL;
  if (status == TDT_OK) {
    status = tdt_record_table(record, &text, error);
    assert_int_equal(text != NULL, status == TDT_OK);
  }
  tdt_text_free(text);
  tdt_record_destroy(record);
  return status;
}

static tdt_status compare_dependencies(tdt_error *error) {
  bool same = true;
  char *text = NULL;
  tdt_status status = tdt__dependencies_compare("{\"a\":\"1\",\"b\":[1]}", "{\"a\":\"2\",\"c\":{}}",
                                                &same, &text, error);
  assert_int_equal(text != NULL, status == TDT_OK);
  assert_int_equal(same, status != TDT_OK);
  free(text);
  return status;
}

static tdt_status tell_hardware(tdt_error *error) {
  char *text = NULL;
  tdt_status status = tdt_host_hardware(&text, error);
  assert_int_equal(text != NULL, status == TDT_OK);
  tdt_text_free(text);
  return status;
}

static tdt_status build_text(tdt_error *error) {
  tdt__text text = TDT__TEXT_INIT;
  for (int i = 0; i < 100; i++) {
    tdt__text_format(&text, "%300d", i);
  }
  char *taken = tdt__text_take(&text);
  tdt_status status = taken != NULL ? TDT_OK : tdt__fail_memory(error);
  free(taken);
  return status;
}

static void run_until_it_succeeds(tdt_status (*scenario)(tdt_error *), bool from_then_on) {
  long live_before = memory_live();
  for (long at = 1;; at++) {
    tdt_error error = TDT_ERROR_INIT;
    memory_arm(at, from_then_on);
    tdt_status status = scenario(&error);
    bool refused = memory_disarm();
    if (status != (refused ? TDT_ENOMEM : TDT_OK)) {
      fail_msg("allocation %ld: %s, %s", at, tdt_status_name(status), tdt_error_text(&error));
    }
    tdt_error_clear(&error);
    assert_int_equal(memory_live(), live_before);
    if (!refused) {
      assert_true(at > 1);
      return;
    }
  }
}

static void test_L03_out_of_memory_is_a_code_and_loses_nothing(void **state) {
  (void)state;
  static tdt_status (*const scenarios[])(tdt_error *) = {
      make_space, copy_identity, copy_function,        digest_identity, make_record,
      make_table, build_text,    compare_dependencies, tell_hardware,
  };
  for (size_t i = 0; i < N_OF(scenarios); i++) {
    run_until_it_succeeds(scenarios[i], false);
    run_until_it_succeeds(scenarios[i], true);
  }
}

static void test_L03_long_sentence_is_cut_where_there_is_no_memory(void **state) {
  (void)state;
  char words[800] = "";
  while (strlen(words) < 790) {
    strcat(words, "\xE2\x82\xAC"); /* three bytes a character: some cut must fall inside one */
  }
  for (size_t lead = 0; lead < 3; lead++) {
    tdt_error error = TDT_ERROR_INIT;
    memory_arm(1, true);
    assert_int_equal(tdt_error_set(&error, TDT_EIO, "%.*s%s", (int)lead, "xx", words), TDT_EIO);
    (void)memory_disarm();
    const char *text = tdt_error_text(&error);
    size_t size = strlen(text);
    assert_null(error.long_text);
    assert_in_range(size, sizeof error.text - 4, sizeof error.text - 1);
    assert_string_equal(text + size - 3, "...");
    assert_int_equal((size - 3 - lead) % 3, 0);
    tdt_error_clear(&error);
  }
}

static void test_L03_timing_is_left_alone(void **state) {
  (void)state;
  static const double samples[] = {1.0, 2.0};
  static const double others[] = {5.0, 6.0};
  tdt__timing timing = TDT__TIMING_INIT;
  tdt__timing from = TDT__TIMING_INIT;
  assert_int_equal(tdt__timing_set_samples(&timing, samples, 2, TDT_STATISTIC_MEAN, NULL), TDT_OK);
  assert_int_equal(tdt__timing_set_samples(&from, others, 2, TDT_STATISTIC_MEAN, NULL), TDT_OK);
  memory_arm(1, true);
  assert_int_equal(tdt__timing_set_samples(&timing, others, 2, TDT_STATISTIC_MEAN, NULL),
                   TDT_ENOMEM);
  assert_int_equal(tdt__timing_set_failed(&timing, "reason", NULL), TDT_ENOMEM);
  assert_int_equal(tdt__timing_copy(&from, &timing, NULL), TDT_ENOMEM);
  (void)memory_disarm();
  assert_int_equal(timing.outcome, TDT_OUTCOME_TIMED);
  assert_true(timing.time_ms == 1.5);
  assert_memory_equal(timing.samples_ms, samples, sizeof samples);
  tdt__timing_clear(&timing);
  tdt__timing_clear(&from);
}

/* Texts that were handed over are freed with free(), whatever allocator a program gave to jansson.
 */
static void *tagged_malloc(size_t size) {
  char *block = malloc(size + 16);
  return block != NULL ? block + 16 : NULL;
}

static void tagged_free(void *block) {
  free(block != NULL ? (char *)block - 16 : NULL);
}

static void test_json_text_is_ours_whatever_jansson_allocates_with(void **state) {
  (void)state;
  json_set_alloc_funcs(tagged_malloc, tagged_free);
  char *canonical = NULL;
  assert_int_equal(tdt__json_canonical("{\"b\":1, \"a\":[]}", "it", &canonical, NULL), TDT_OK);
  memory_give_to_jansson();
  assert_string_equal(canonical, "{\"a\":[],\"b\":1}");
  free(canonical);
}

int main(void) {
  memory_give_to_jansson();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_L03_out_of_memory_is_a_code_and_loses_nothing),
      cmocka_unit_test(test_L03_long_sentence_is_cut_where_there_is_no_memory),
      cmocka_unit_test(test_L03_timing_is_left_alone),
      cmocka_unit_test(test_json_text_is_ours_whatever_jansson_allocates_with),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
