/* SPDX-License-Identifier: MIT */
#include "harness.h"

#include <stdlib.h>
#include <string.h>

#include "model/record.h"

static void test_empty_record(void **state) {
  (void)state;
  for (size_t n = 0; n < 3; n++) {
    tdt_record *record = NULL;
    assert_int_equal(tdt__record_create(n, &record, NULL), TDT_OK);
    assert_int_equal(tdt_record_n_candidates(record), n);
    assert_true(tdt_record_best(record) == TDT_NONE);
    assert_false(tdt_record_complete(record));
    tdt_identity identity = tdt_record_identity(record);
    assert_string_equal(identity.function.name, "");
    assert_string_equal(identity.function.module, "");
    assert_string_equal(identity.function.qualname, "");
    assert_string_equal(identity.function.source, "");
    assert_string_equal(identity.hardware, "{}");
    assert_string_equal(identity.key, "");
    assert_string_equal(record->dependencies, "{}");
    assert_string_equal(record->clock, "");
    assert_string_equal(record->prune_rule, "");
    assert_string_equal(record->plan_name, "");
    assert_string_equal(record->created, "");
    for (size_t i = 0; i < n; i++) {
      assert_null(record->entries[i].config);
      assert_int_equal(record->entries[i].timing.outcome, TDT_OUTCOME_UNKNOWN);
    }
    tdt_record_destroy(record);
  }
  tdt_record_destroy(NULL);
}

static tdt_record *sample_record(void) {
  static const double samples[] = {1.0, 3.0};
  tdt_record *record = NULL;
  assert_int_equal(tdt__record_create(4, &record, NULL), TDT_OK);
  record->entries[0].config = strdup("{\"a\":1}");
  record->entries[1].config = strdup("{\"a\":2}");
  record->entries[2].config = strdup("{\"a\":1}");
  (void)tdt__timing_set_samples(&record->entries[0].timing, samples, 2, TDT_STATISTIC_MEAN, NULL);
  (void)tdt__timing_set_failed(&record->entries[1].timing, "too large", NULL);
  tdt__timing_set_pruned(&record->entries[2].timing);
  record->best = 0;
  record->complete = true;
  return record;
}

static void test_candidates_are_borrowed(void **state) {
  (void)state;
  tdt_record *record = sample_record();
  tdt_candidate candidate;
  assert_int_equal(tdt_record_candidate(record, 0, &candidate, NULL), TDT_OK);
  assert_ptr_equal(candidate.config, record->entries[0].config);
  assert_int_equal(candidate.outcome, TDT_OUTCOME_TIMED);
  assert_true(candidate.time_ms == 2.0);
  assert_int_equal(candidate.n_samples, 2);
  assert_ptr_equal(candidate.samples_ms, record->entries[0].timing.samples_ms);
  assert_null(candidate.error);

  assert_int_equal(tdt_record_candidate(record, 1, &candidate, NULL), TDT_OK);
  assert_int_equal(candidate.outcome, TDT_OUTCOME_FAILED);
  assert_string_equal(candidate.error, "too large");
  assert_int_equal(tdt_record_candidate(record, 2, &candidate, NULL), TDT_OK);
  assert_int_equal(candidate.outcome, TDT_OUTCOME_PRUNED);
  assert_int_equal(tdt_record_candidate(record, 3, &candidate, NULL), TDT_OK);
  assert_int_equal(candidate.outcome, TDT_OUTCOME_UNKNOWN);

  assert_int_equal(tdt_record_best(record), 0);
  assert_true(tdt_record_complete(record));
  tdt_record_destroy(record);
}

static void test_L01_candidate_that_is_not_there(void **state) {
  (void)state;
  tdt_record *record = sample_record();
  static const size_t absent[] = {4, 5, TDT_NONE};
  for (size_t i = 0; i < N_OF(absent); i++) {
    tdt_candidate candidate = {.config = "untouched"};
    tdt_error error = TDT_ERROR_INIT;
    assert_int_equal(tdt_record_candidate(record, absent[i], &candidate, &error), TDT_EINVAL);
    assert_string_equal(candidate.config, "untouched");
    assert_contains(tdt_error_text(&error), "it has 4");
    tdt_error_clear(&error);
  }
  tdt_record_destroy(record);
}

/* case-C4: same, different, missing and unknown software. */
static void test_case_C4_F18_dependencies_that_differ_are_named(void **state) {
  (void)state;
  static const struct {
    const char *recorded;
    const char *current;
    const char *text;
  } cases[] = {
      {"{}", "{}", ""},
      {NULL, NULL, ""},
      {"{\"torch\":\"2.12.0\"}", "{\"torch\":\"2.12.0\"}", ""},
      {"{\"a\":\"1\",\"b\":\"2\"}", "{\"b\": \"2\", \"a\": \"1\"}", ""},
      {"{\"torch\":\"2.12.0\"}", "{\"torch\":\"2.13.0\"}", "torch 2.12.0, now 2.13.0"},
      {"{\"torch\":\"2.12.0\"}", "{}", "torch 2.12.0, now missing"},
      {"{}", "{\"torch\":\"2.13.0\"}", "torch not recorded, now 2.13.0"},
      {NULL, "{\"torch\":\"2.13.0\"}", "torch not recorded, now 2.13.0"},
      {"{\"cann\":\"unknown\"}", "{\"cann\":\"unknown\"}", "cann unknown, now unknown"},
      {"{\"cann\":\"unknown\"}", "{\"cann\":\"8.0\"}", "cann unknown, now 8.0"},
      {"{\"cann\":\"8.0\"}", "{\"cann\":\"unknown\"}", "cann 8.0, now unknown"},
      {"{\"a\":1}", "{\"a\":\"1\"}", "a 1, now 1"},
      {"{\"a\":null}", "{}", "a null, now missing"},
      {"{\"a\":{\"y\":1,\"x\":[2]}}", "{\"a\":{\"x\":[2],\"y\":1}}", ""},
      {"{\"a\":{\"y\":1,\"x\":[2]}}", "{\"a\":[]}", "a {\"x\":[2],\"y\":1}, now []"},
      {"{\"a\":\"1\",\"b\":\"2\",\"c\":\"3\"}", "{\"a\":\"1\",\"c\":\"4\",\"d\":\"5\"}",
       "b 2, now missing; c 3, now 4; d not recorded, now 5"},
  };
  for (size_t i = 0; i < N_OF(cases); i++) {
    bool same = cases[i].text[0] != '\0';
    char *text = NULL;
    assert_int_equal(
        tdt__dependencies_compare(cases[i].recorded, cases[i].current, &same, &text, NULL), TDT_OK);
    assert_string_equal(text, cases[i].text);
    assert_int_equal(same, cases[i].text[0] == '\0');
    free(text);
  }
}

static void test_dependencies_must_be_objects(void **state) {
  (void)state;
  bool same = false;
  char *text = NULL;
  tdt_error error = TDT_ERROR_INIT;
  assert_int_equal(tdt__dependencies_compare("{}", "[]", &same, &text, &error), TDT_EINVAL);
  assert_int_equal(tdt__dependencies_compare("x", "{}", &same, &text, &error), TDT_EINVAL);
  assert_contains(tdt_error_text(&error), "recorded");
  assert_null(text);
  tdt_error_clear(&error);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_empty_record),
      cmocka_unit_test(test_candidates_are_borrowed),
      cmocka_unit_test(test_L01_candidate_that_is_not_there),
      cmocka_unit_test(test_case_C4_F18_dependencies_that_differ_are_named),
      cmocka_unit_test(test_dependencies_must_be_objects),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
