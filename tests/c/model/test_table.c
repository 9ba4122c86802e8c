/* SPDX-License-Identifier: MIT */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/config_text.h"
#include "model/record.h"

typedef struct line {
  const char *config;
  tdt_outcome outcome;
  double samples[3];
  const char *error;
} line;

static tdt_record *make_record(const line *lines, size_t n, size_t best, bool complete) {
  tdt_record *record = NULL;
  assert_int_equal(tdt__record_create(n, &record, NULL), TDT_OK);
  for (size_t i = 0; i < n; i++) {
    tdt__timing *timing = &record->entries[i].timing;
    record->entries[i].config = strdup(lines[i].config);
    if (lines[i].outcome == TDT_OUTCOME_TIMED) {
      (void)tdt__timing_set_samples(timing, lines[i].samples, 3, TDT_STATISTIC_MEAN, NULL);
    } else if (lines[i].outcome == TDT_OUTCOME_FAILED) {
      (void)tdt__timing_set_failed(timing, lines[i].error, NULL);
    } else if (lines[i].outcome == TDT_OUTCOME_PRUNED) {
      tdt__timing_set_pruned(timing);
    }
  }
  record->best = best;
  record->complete = complete;
  return record;
}

static void assert_table(tdt_record *record, const char *expected) {
  char *text = NULL;
  assert_int_equal(tdt_record_table(record, &text, NULL), TDT_OK);
  assert_string_equal(text, expected);
  tdt_text_free(text);
  tdt_record_destroy(record);
}

static void test_table_shows_every_outcome(void **state) {
  (void)state;
  static const line lines[] = {
      {"{\"tile\":16,\"unroll\":1}", TDT_OUTCOME_TIMED, {1.0, 1.25, 1.5}, NULL},
      {"{\"tile\":32,\"unroll\":4}", TDT_OUTCOME_TIMED, {0.5, 0.5, 0.5}, NULL},
      {"{\"tile\":64,\"unroll\":8}", TDT_OUTCOME_FAILED, {0}, "OutOfResources: too much\ntrace"},
      {"{\"tile\":128}", TDT_OUTCOME_PRUNED, {0}, NULL},
      {"{\"tile\":\"a b\"}", TDT_OUTCOME_UNKNOWN, {0}, NULL},
      {"{\"tile\":1024,\"unroll\":16}", TDT_OUTCOME_TIMED, {100.0, 100.0, 109.0}, NULL},
  };
  assert_table(make_record(lines, N_OF(lines), 1, true),
               "#  configuration         mean ms  spread  runs  note\n"
               "0  tile=16 unroll=1       1.2500   20.0%     3\n"
               "1  tile=32 unroll=4       0.5000    0.0%     3  winner\n"
               "2  tile=64 unroll=8            -       -     0  failed: OutOfResources: too much\n"
               "3  tile=128                    -       -     0  pruned\n"
               "4  tile=\"a b\"                  -       -     0  not measured\n"
               "5  tile=1024 unroll=16  103.0000    5.0%     3\n"
               "winner: 1 (tile=32 unroll=4), 2.50 times as fast as the first candidate\n");
}

static void test_table_compares_with_the_first_that_ran(void **state) {
  (void)state;
  static const line lines[] = {
      {"{\"a\":1}", TDT_OUTCOME_FAILED, {0}, "no"},
      {"{\"a\":2}", TDT_OUTCOME_TIMED, {3.0, 3.0, 3.0}, NULL},
      {"{\"a\":3}", TDT_OUTCOME_TIMED, {2.0, 2.0, 2.0}, NULL},
  };
  assert_table(make_record(lines, N_OF(lines), 2, true),
               "#  configuration  mean ms  spread  runs  note\n"
               "0  a=1                  -       -     0  failed: no\n"
               "1  a=2              3.000    0.0%     3\n"
               "2  a=3              2.000    0.0%     3  winner\n"
               "winner: 2 (a=3), 1.50 times as fast as the first candidate that ran (1)\n");
}

static void test_table_doubts_a_gain_within_the_spread(void **state) {
  (void)state;
  static const line lines[] = {
      {"{\"a\":1}", TDT_OUTCOME_TIMED, {2.0, 2.25, 2.5}, NULL},
      {"{\"a\":2}", TDT_OUTCOME_TIMED, {1.75, 2.0, 2.25}, NULL},
  };
  assert_table(
      make_record(lines, N_OF(lines), 1, true),
      "#  configuration  mean ms  spread  runs  note\n"
      "0  a=1              2.250   11.1%     3\n"
      "1  a=2              2.000   12.5%     3  winner\n"
      "winner: 1 (a=2), 1.12 times as fast as the first candidate; that is less than their "
      "times spread\n");
}

static void test_table_when_the_first_wins(void **state) {
  (void)state;
  static const line lines[] = {
      {"{\"a\":1}", TDT_OUTCOME_TIMED, {0.00001, 0.00001, 0.00001}, NULL},
  };
  tdt_record *record = make_record(lines, 1, 0, true);
  record->statistic = TDT_STATISTIC_MEDIAN;
  assert_table(record, "#  configuration   median ms  spread  runs  note\n"
                       "0  a=1            0.00001000    0.0%     3  winner\n"
                       "winner: 0 (a=1)\n");
}

static void test_table_without_a_winner(void **state) {
  (void)state;
  static const line lines[] = {
      {"{\"a\":1}", TDT_OUTCOME_TIMED, {2.0, 2.0, 2.0}, NULL},
      {"{\"a\":2}", TDT_OUTCOME_UNKNOWN, {0}, NULL},
  };
  assert_table(make_record(lines, 2, TDT_NONE, false),
               "#  configuration  mean ms  spread  runs  note\n"
               "0  a=1              2.000    0.0%     3\n"
               "1  a=2                  -       -     0  not measured\n"
               "no winner: the tuning did not get that far\n");
  assert_table(make_record(NULL, 0, TDT_NONE, true),
               "#  configuration  mean ms  spread  runs  note\n"
               "no winner: no candidate could run\n");
}

static void test_table_of_instant_candidates_divides_by_nothing(void **state) {
  (void)state;
  static const line lines[] = {
      {"{\"a\":1}", TDT_OUTCOME_TIMED, {1.0, 1.0, 1.0}, NULL},
      {"{\"a\":2}", TDT_OUTCOME_TIMED, {0.0, 0.0, 0.0}, NULL},
  };
  assert_table(make_record(lines, 2, 1, true), "#  configuration  mean ms  spread  runs  note\n"
                                               "0  a=1              1.000    0.0%     3\n"
                                               "1  a=2              0.000    0.0%     3  winner\n"
                                               "winner: 1 (a=2)\n");
}

static void test_table_aligns_other_alphabets_and_cuts_long_cells(void **state) {
  (void)state;
  char reason[500];
  memset(reason, 'r', sizeof reason - 1);
  reason[sizeof reason - 1] = '\0';
  /* The cut falls into the middle of a character. */
  memcpy(reason + 119, "\xE2\x82\xAC", 3);
  const line lines[] = {
      {"{\"\xC3\xA4\":\"\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\"}",
       TDT_OUTCOME_TIMED,
       {2.0, 2.0, 2.0},
       NULL},
      {"{\"a\":22}", TDT_OUTCOME_FAILED, {0}, reason},
      {"{\"a\":3}", TDT_OUTCOME_FAILED, {0}, "tab\there"},
  };
  char expected[1000];
  (void)snprintf(expected, sizeof expected,
                 "#  configuration  mean ms  spread  runs  note\n"
                 "0  \xC3\xA4=\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC            2.000    0.0%%     3"
                 "  winner\n"
                 "1  a=22                 -       -     0  failed: %.119s...\n"
                 "2  a=3                  -       -     0  failed: tab here\n"
                 "winner: 0 (\xC3\xA4=\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC)\n",
                 reason);
  assert_table(make_record(lines, 3, 0, true), expected);
}

static void test_configuration_as_text(void **state) {
  (void)state;
  static const struct {
    const char *config;
    const char *text;
  } cases[] = {
      {"{}", "{}"},
      {"{\"tile\":32,\"unroll\":4}", "tile=32 unroll=4"},
      {"{\"b\":true,\"n\":null,\"x\":-0.5}", "b=true n=null x=-0.5"},
      {"{\"s\":\"nhwc\",\"t\":\"\",\"u\":\"two words\"}", "s=nhwc t=\"\" u=\"two words\""},
      {"{\"s\":\"a=b\",\"t\":\"\\\"\",\"u\":\"\\u0000x\"}", "s=\"a=b\" t=\"\\\"\" u=\"\\u0000x\""},
      {"{\"list\":[1,2,[3]]}", "list=[1,2,[3]]"},
      {"{\"cfg\":{\"kwargs\":{\"BLOCK\":256},\"num_warps\":4},\"z\":{}}",
       "BLOCK=256 num_warps=4 z={}"},
      {"{\"a\":{\"n\":1,\"type\":\"triton.Config\"},\"b\":{\"m\":3,\"n\":2}}", "a.n=1 m=3 b.n=2"},
      {"{\"shape\":{\"items\":[8,4],\"type\":\"tuple\"},\"type\":7}", "shape=[8,4] type=7"},
      {"no object", "no object"},
      {"{\"long\":\"01234567890123456789012345678901234567890\"}",
       "long=01234567890123456789012345678901234567890"},
      {"{\"long\":\"012345678901234567890123456789012345678901\"}",
       "long=01234567890123456789012345678901234567..."},
      {"{\"long\":\"\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3"
       "\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\"}",
       "long=\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3"
       "\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4"},
      {"{\"long\":\""
       "\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4"
       "\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4"
       "\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4"
       "\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4"
       "\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4"
       "\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4"
       "\"}",
       "long="
       "\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4"
       "\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4"
       "\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4"
       "\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4"
       "..."},
  };
  for (size_t i = 0; i < N_OF(cases); i++) {
    char *text = tdt__config_text(cases[i].config, 46);
    assert_string_equal(text, cases[i].text);
    free(text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_table_shows_every_outcome),
      cmocka_unit_test(test_table_compares_with_the_first_that_ran),
      cmocka_unit_test(test_table_doubts_a_gain_within_the_spread),
      cmocka_unit_test(test_table_when_the_first_wins),
      cmocka_unit_test(test_table_without_a_winner),
      cmocka_unit_test(test_table_of_instant_candidates_divides_by_nothing),
      cmocka_unit_test(test_table_aligns_other_alphabets_and_cuts_long_cells),
      cmocka_unit_test(test_configuration_as_text),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
