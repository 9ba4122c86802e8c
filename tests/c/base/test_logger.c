/* SPDX-License-Identifier: MIT */
#include "harness.h"

#include <stdio.h>
#include <string.h>

#include "base/logger.h"

typedef struct heard {
  size_t n_lines;
  tdt_log_level level;
  char line[4096];
} heard;

static void hear(void *user, tdt_log_level level, const char *message) {
  heard *what = user;
  what->n_lines++;
  what->level = level;
  (void)snprintf(what->line, sizeof what->line, "%s", message);
}

static void test_log_hands_on_from_its_level_upwards(void **state) {
  (void)state;
  for (int least = TDT_LOG_DEBUG; least <= TDT_LOG_WARNING; least++) {
    for (int level = TDT_LOG_DEBUG; level <= TDT_LOG_WARNING; level++) {
      heard what = {0};
      tdt_log log = {hear, &what, (tdt_log_level)least};
      tdt__log(&log, (tdt_log_level)level, "candidate %d: %s", 3, "fine");
      assert_int_equal(what.n_lines, level >= least);
      if (level >= least) {
        assert_int_equal(what.level, level);
        assert_string_equal(what.line, "candidate 3: fine");
      }
    }
  }
}

static void test_log_may_be_absent(void **state) {
  (void)state;
  tdt_log silent = {NULL, NULL, TDT_LOG_DEBUG};
  tdt__log(NULL, TDT_LOG_WARNING, "%s", "nobody hears");
  tdt__log(&silent, TDT_LOG_WARNING, "%s", "nobody hears");
}

static void test_log_line_may_be_long_and_stays_one_line(void **state) {
  (void)state;
  heard what = {0};
  tdt_log log = {hear, &what, TDT_LOG_DEBUG};
  char words[3000];
  memset(words, 'w', sizeof words - 1);
  words[sizeof words - 1] = '\0';
  words[0] = '\n';
  words[1500] = '\r';
  words[1501] = '\n';
  words[sizeof words - 2] = '\n';
  tdt__log(&log, TDT_LOG_INFO, "%s", words);
  assert_int_equal(what.n_lines, 1);
  assert_int_equal(strlen(what.line), strlen(words));
  assert_null(strpbrk(what.line, "\r\n"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_log_hands_on_from_its_level_upwards),
      cmocka_unit_test(test_log_may_be_absent),
      cmocka_unit_test(test_log_line_may_be_long_and_stays_one_line),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
