/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tdtune/space.h>

#include "store/record_json.h"

static char *text_of(const tdt_record *record) {
  char *text = NULL;
  assert_int_equal(tdt__record_text(record, &text, NULL), TDT_OK);
  return text;
}

static char *good_text(void) {
  tdt_identity identity = identity_of("scale", "(1, 'a')");
  tdt_record *record = make_record(&identity, 3);
  char *text = text_of(record);
  tdt_record_destroy(record);
  return text;
}

/* `text` with `new` in the place of the first `old`; free() it. */
static char *exchange(const char *text, const char *old, const char *new) {
  const char *found = strstr(text, old);
  if (found == NULL) {
    fail_msg("%s is not in the text", old);
    return NULL;
  }
  int before = (int)(strlen(text) - strlen(found));
  size_t room = strlen(text) + strlen(new) + 1;
  char *changed = malloc(room);
  assert_non_null(changed);
  (void)snprintf(changed, room, "%.*s%s%s", before, text, new, found + strlen(old));
  return changed;
}

static tdt_record *parse(const char *text) {
  tdt_record *record = NULL;
  tdt_error error = TDT_ERROR_INIT;
  if (tdt__record_parse(text, strlen(text), "x.json", &record, &error) != TDT_OK) {
    fail_msg("%s", tdt_error_text(&error));
  }
  return record;
}

/* Refused with a sentence that starts with the file's name and contains `part`. */
static void assert_refused(const char *text, size_t size, const char *part) {
  tdt_record *record = NULL;
  tdt_error error = TDT_ERROR_INIT;
  tdt_status status = tdt__record_parse(text, size, "x.json", &record, &error);
  if (status != TDT_EFORMAT || record != NULL) {
    fail_msg("taken as a record: %.*s", (int)size, text);
  }
  const char *said = tdt_error_text(&error);
  if (strncmp(said, "x.json: ", 8) != 0 || strstr(said, part) == NULL) {
    fail_msg("\"%s\" does not say \"%s\"", said, part);
  }
  tdt_error_clear(&error);
  assert_int_equal(tdt__record_parse(text, size, "x.json", &record, NULL), TDT_EFORMAT);
}

static void test_every_outcome_comes_back(void **state) {
  (void)state;
  tdt_identity identity = identity_of("scale", "(1, 'a')");
  tdt_record *record = make_record(&identity, 3);
  char *text = text_of(record);
  tdt_record *back = parse(text);
  assert_record(back, 3);
  assert_string_equal(back->identity.key, "(1, 'a')");
  assert_string_equal(back->identity.function.source, "9f2c");
  assert_string_equal(back->identity.hardware, "{\"cores\":2,\"device\":\"a CPU\"}");
  char *again = text_of(back);
  assert_string_equal(text, again);
  free(again);
  free(text);
  tdt_record_destroy(back);
  tdt_record_destroy(record);
}

static void test_an_incomplete_record_comes_back(void **state) {
  (void)state;
  tdt_identity identity = identity_of("scale", "");
  tdt_record *record = make_record(&identity, 3);
  record->best = TDT_NONE;
  record->complete = false;
  record->statistic = TDT_STATISTIC_MEDIAN;
  record->prune_rule[0] = '\0';
  char *text = text_of(record);
  assert_null(strstr(text, "prune_rule"));
  tdt_record *back = parse(text);
  assert_true(tdt_record_best(back) == TDT_NONE);
  assert_false(tdt_record_complete(back));
  assert_int_equal(back->statistic, TDT_STATISTIC_MEDIAN);
  assert_string_equal(back->prune_rule, "");
  free(text);
  tdt_record_destroy(back);
  tdt_record_destroy(record);
}

static void test_a_record_of_no_candidates_comes_back(void **state) {
  (void)state;
  tdt_identity identity = identity_of("scale", "");
  tdt_record *record = make_record(&identity, 3);
  size_t n_entries = record->n_entries;
  record->n_entries = 0;
  record->best = TDT_NONE;
  char *text = text_of(record);
  tdt_record *back = parse(text);
  assert_int_equal(tdt_record_n_candidates(back), 0);
  record->n_entries = n_entries;
  free(text);
  tdt_record_destroy(back);
  tdt_record_destroy(record);
}

static void test_fields_stand_in_the_documented_order(void **state) {
  (void)state;
  static const char *const order[] = {"\"format\": 1",
                                      "\"function\": {\"name\": \"scale\"",
                                      "\"module\"",
                                      "\"qualname\"",
                                      "\"source\"",
                                      "\"hardware\": {\"cores\":2",
                                      "\"key\"",
                                      "\"dependencies\"",
                                      "\"ranks\": 4",
                                      "\"clock\": \"host\"",
                                      "\"plan\": {\"name\"",
                                      "\"warmup\"",
                                      "\"repeat\"",
                                      "\"statistic\"",
                                      "\"candidates\"",
                                      "\"best\": 1",
                                      "\"complete\": true",
                                      "\"created\"",
                                      "}\n"};
  char *text = good_text();
  const char *from = text;
  for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
    const char *found = strstr(from, order[i]);
    if (found == NULL) {
      fail_msg("%s is not where it should be", order[i]);
    } else {
      from = found;
    }
  }
  assert_int_equal(from[2], '\0');
  free(text);
}

/* What was measured comes back to the last bit, in as few digits as that takes. */
static void test_figures_come_back_exactly(void **state) {
  (void)state;
  static const double values[] = {
      0.0,   0.1, 0.0123, 1.0 / 3.0, 1.0, 123456789.125, DBL_MAX, DBL_MIN, 4.9406564584124654e-324,
      2.5e-7};
  enum { N = sizeof values / sizeof values[0] };
  tdt_identity identity = identity_of("scale", "");
  tdt_record *record = make_record(&identity, 3);
  tdt__timing *timing = &record->entries[1].timing;
  timing->samples_ms = realloc(timing->samples_ms, sizeof values);
  memcpy(timing->samples_ms, values, sizeof values);
  timing->n_samples = N;
  timing->time_ms = 0.0123;
  char *text = text_of(record);
  assert_non_null(strstr(text, "\"time_ms\": 0.0123, \"samples_ms\": [0, 0.1, 0.0123, 0.33333333"));
  tdt_record *back = parse(text);
  assert_int_equal(back->entries[1].timing.n_samples, N);
  assert_memory_equal(back->entries[1].timing.samples_ms, values, sizeof values);
  free(text);
  tdt_record_destroy(back);
  tdt_record_destroy(record);
}

static bool use_locale(const char *name, const char *language) {
  char command[10000];
  (void)snprintf(command, sizeof command, "localedef -i %s -f UTF-8 %s >/dev/null 2>&1", language,
                 in_folder("%s", name));
  return system(command) == 0 && setlocale(LC_ALL, name) != NULL;
}

/* German has a comma, Pashto a decimal point of two bytes. */
static void test_figures_have_a_point_in_every_locale(void **state) {
  (void)state;
  static const char *const locales[][2] = {{"de_DE.UTF-8", "de_DE"}, {"ps_AF.UTF-8", "ps_AF"}};
  char *expected = good_text();
  size_t n_used = 0;
  assert_int_equal(setenv("LOCPATH", in_folder("."), 1), 0);
  for (size_t i = 0; i < sizeof locales / sizeof locales[0]; i++) {
    if (use_locale(locales[i][0], locales[i][1])) {
      n_used++;
      char digits[16];
      (void)snprintf(digits, sizeof digits, "%.1f", 0.5);
      assert_string_not_equal(digits, "0.5");
      tdt_space *space = NULL;
      const char *config = "{\"tile\":16.25}";
      assert_int_equal(tdt_space_create(&config, 1, &space, NULL), TDT_OK);
      assert_string_equal(tdt_space_config(space, 0), config);
      tdt_space_destroy(space);
      tdt_error error = TDT_ERROR_INIT;
      (void)tdt_error_set(&error, TDT_EIO, "%.2f", 16.25);
      assert_string_equal(tdt_error_text(&error), "16.25");
      tdt_error_clear(&error);
      char *text = good_text();
      assert_string_equal(text, expected);
      char *changed = exchange(text, "16", "16.25");
      tdt_record *record = parse(changed);
      assert_record(record, 3);
      assert_string_equal(record->entries[0].config, config);
      tdt_record_destroy(record);
      free(changed);
      free(text);
    }
  }
  (void)setlocale(LC_ALL, "C");
  (void)unsetenv("LOCPATH");
  free(expected);
  if (n_used == 0) {
    skip(); /* no way to make a locale here */
  }
}

static void test_texts_of_all_kinds_come_back(void **state) {
  (void)state;
  char large[70000];
  memset(large, 'k', sizeof large - 1);
  large[sizeof large - 1] = '\0';
  const char *const keys[] = {"", "\"\\/\b\f\n\r\t\x01\x7f", "Größe 表 🎉", "{\"a\": [1]}", large};
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
    tdt_identity identity = identity_of("scale", keys[i]);
    tdt_record *record = make_record(&identity, 3);
    char *text = text_of(record);
    tdt_record *back = parse(text);
    assert_string_equal(back->identity.key, keys[i]);
    free(text);
    tdt_record_destroy(back);
    tdt_record_destroy(record);
  }
}

/* As tdt_space_config() gives it, whatever the spelling in the file. */
static void test_configs_are_read_in_canonical_form(void **state) {
  (void)state;
  static const char spelt[] = "{ \"b\" : [1, 2.50], \"a\":{\"\\u0062\": \"a\\u0000b\"} }";
  char *text = good_text();
  char *changed = exchange(text, "{\"tile\":16}", spelt);
  tdt_record *record = parse(changed);
  const char *texts[] = {spelt};
  tdt_space *space = NULL;
  assert_int_equal(tdt_space_create(texts, 1, &space, NULL), TDT_OK);
  assert_string_equal(record->entries[0].config, tdt_space_config(space, 0));
  tdt_space_destroy(space);
  tdt_record_destroy(record);
  free(changed);
  free(text);
}

static void test_unknown_fields_are_passed_over(void **state) {
  (void)state;
  char *text = good_text();
  char *changed = exchange(text, "{", "{\"later\": [1, {\"x\": null}],");
  tdt_record *record = parse(changed);
  assert_record(record, 3);
  tdt_record_destroy(record);
  free(changed);
  free(text);
}

static void test_S01_case_C1_cut_at_every_length(void **state) {
  (void)state;
  char *text = good_text();
  size_t size = strlen(text) - 1; /* the record ends before its newline */
  for (size_t cut = 0; cut < size; cut++) {
    /* A copy of its own, so that a look past its end is found. */
    char *part = malloc(cut > 0 ? cut : 1);
    memcpy(part, text, cut);
    assert_refused(part, cut, "");
    free(part);
  }
  tdt_record_destroy(parse(text));
  free(text);
}

static void test_S01_case_C1_bad_files(void **state) {
  (void)state;
  static const struct {
    const char *old;
    const char *new;
    const char *says;
  } changes[] = {
      {"\"format\": 1", "\"format\": 2", "format 2, this version reads 1"},
      {"\"format\": 1", "\"format\": 0", "format 0, this version reads 1"},
      {"\"format\": 1", "\"format\": -1", "format -1"},
      {"\"format\": 1", "\"format\": 9223372036854775807", "format 9223372036854775807"},
      {"\"format\": 1", "\"format\": 9223372036854775808", "too big integer"},
      {"\"format\": 1", "\"format\": 1.0", "format"},
      {"\"format\": 1", "\"format\": \"1\"", "format"},
      {"\"format\": 1,", "", "format"},
      {"\"format\": 1", "\"format\": 1, \"format\": 1", "duplicate"},
      {"\"name\": \"scale\"", "\"name\": \"\"", "function.name: empty"},
      {"\"name\": \"scale\"", "\"name\": \"sc\\u0000ale\"", "function.name"},
      {"\"name\": \"scale\"", "\"name\": 7", "function.name: a text is expected"},
      {"\"module\": \"ops\", ", "", "function.module"},
      {"\"source\": \"9f2c\"", "\"source\": null", "function.source"},
      {"\"function\": {", "\"function\": [], \"f\": {", "function: an object is expected"},
      {"\"hardware\": {", "\"hardware\": \"\", \"h\": {", "hardware: an object is expected"},
      {"\"key\": ", "\"key\": {}, \"k\": ", "key: a text is expected"},
      {"\"dependencies\": {", "\"dependencies\": 1, \"d\": {", "dependencies"},
      {"\"ranks\": 4", "\"ranks\": 0", "ranks: a count from 1 on is expected"},
      {"\"ranks\": 4", "\"ranks\": -4", "ranks"},
      {"\"ranks\": 4", "\"ranks\": 4294967296", "ranks"},
      {"\"ranks\": 4", "\"ranks\": true", "ranks"},
      {"\"clock\": \"host\"", "\"clock\": []", "clock"},
      {"\"plan\": {", "\"plan\": {}, \"p\": {", "plan.name"},
      {"\"warmup\": 3", "\"warmup\": -1", "plan.warmup: a count is expected"},
      {"\"repeat\": 10", "\"repeat\": 0", "plan.repeat"},
      {"\"repeat\": 10", "\"repeat\": 1e2", "plan.repeat"},
      {"\"statistic\": \"mean\"", "\"statistic\": \"mode\"", "plan.statistic"},
      {"\"prune_rule\": \"77aa\"", "\"prune_rule\": 77", "prune_rule"},
      {"\"candidates\": [", "\"candidates\": {}, \"c\": [", "candidates: a list is expected"},
      {"{\"config\": {\"tile\":16}", "7, {\"config\": {\"tile\":16}", "candidates[0]"},
      {"{\"config\": {\"tile\":32}", "{\"config\": \"{}\"", "candidates[1].config"},
      {"{\"config\": {\"tile\":32},", "{", "candidates[1].config"},
      {"\"time_ms\": 3.2", "\"time_ms\": \"3.2\"", "candidates[0].time_ms"},
      {"\"time_ms\": 3.2", "\"time_ms\": -3.2", "candidates[0].time_ms"},
      {"\"time_ms\": 3.2", "\"time_ms\": NaN", "line"},
      {"\"time_ms\": 3.2", "\"time_ms\": Infinity", "line"},
      {"\"time_ms\": 3.2", "\"time_ms\": 1e999", "overflow"},
      {"\"time_ms\": 3.2", "\"time\": 3.2", "candidates[0].time_ms"},
      {"\"time_ms\": 3.2", "\"time_ms\": 3.2, \"error\": \"\"", "more than one outcome"},
      {"\"time_ms\": 3.2", "\"time_ms\": 3.2, \"pruned\": true", "more than one outcome"},
      {"\"error\": ", "\"pruned\": true, \"error\": ", "candidates[2].time_ms: more than one"},
      {"\"error\": ", "\"error\": 1, \"e\": ", "candidates[2].error"},
      {"\"pruned\": true", "\"pruned\": 1", "candidates[3].pruned"},
      {"\"samples_ms\": [3.1,", "\"samples_ms\": [null,", "candidates[0].samples_ms"},
      {"\"samples_ms\": [3.1,", "\"samples_ms\": [-3.1,", "candidates[0].samples_ms"},
      {"\"samples_ms\": [3.1,", "\"samples_ms\": 3, \"s\": [3.1,", "candidates[0].samples_ms"},
      {"\"samples_ms\": [3.1,", "\"s\": [3.1,", "candidates[0].samples_ms"},
      {"\"samples_ms\": [3.1]", "\"samples_ms\": {}", "candidates[2].samples_ms"},
      {"\"best\": 1", "\"best\": 2", "best"},
      {"\"best\": 1", "\"best\": 5", "best"},
      {"\"best\": 1", "\"best\": -1", "best"},
      {"\"best\": 1", "\"best\": 1.0", "best"},
      {"\"best\": 1", "\"best\": 9223372036854775807", "best"},
      {"\"best\": 1,", "", "best"},
      {"\"complete\": true", "\"complete\": 1", "complete"},
      {"\"created\": \"2026", "\"created\": \"a date that is far too long 2026", "created"},
      {"\"created\": \"2026-11-29T12:00:00Z\"", "\"created\": 0", "created"},
      {"scale", "sc\xffle", "decode byte"},
      {"scale", "sc\xc0\xafle", "decode byte"},
      {"scale", "sc\xed\xa0\x80le", "decode byte"},
      {"scale", "sc\\ud800le", "line"},
      {"scale", "sc\nle", "line 3"},
      {"\n}\n", "\n}}\n", "end of file expected"},
      {"\n}\n", "\n} // more\n", "end of file expected"},
      {"{\n", "\xef\xbb\xbf{\n", "line 1"},
      {"{\n", "[\n", "line"},
      {"{\n", "'{\n", "line 1"},
  };
  char *text = good_text();
  for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
    char *changed = exchange(text, changes[i].old, changes[i].new);
    assert_refused(changed, strlen(changed), changes[i].says);
    free(changed);
  }
  free(text);
}

static void test_S01_foreign_files(void **state) {
  (void)state;
  static const struct {
    const char *text;
    const char *says;
  } files[] = {
      {"", "end of file"},
      {" \n\t ", "end of file"},
      {"{}", "format: missing"},
      {"[]", "an object is expected"},
      {"null", "line 1"},
      {"\"text\"", "line 1"},
      {"7", "line 1"},
      {"\x7f"
       "ELF\x02\x01",
       "line 1"},
      {"<html>", "line 1"},
      {"{\"format\": 1}", "candidates"},
      {"{\"format\": 1, \"candidates\": []}", "function"},
  };
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
    assert_refused(files[i].text, strlen(files[i].text), files[i].says);
  }
  assert_refused("{\0}", 3, "line 1");
  assert_refused(NULL, 0, "end of file");
}

static void test_S01_deep_nesting(void **state) {
  (void)state;
  enum { DEPTH = 200000 };
  char *deep = malloc(DEPTH);
  memset(deep, '[', DEPTH);
  assert_refused(deep, DEPTH, "depth");
  for (size_t i = 0; i + 5 <= DEPTH; i += 5) {
    memcpy(deep + i, "{\"a\":", strlen("{\"a\":"));
  }
  assert_refused(deep, DEPTH, "depth");
  free(deep);
}

/* The size is looked at before anything else. */
static void test_S01_too_large(void **state) {
  (void)state;
  assert_refused("{}", TDT__RECORD_LIMIT + 1U, "a record has at most");
}

static void test_what_cannot_be_written_is_refused(void **state) {
  (void)state;
  tdt_identity identity = identity_of("scale", "");
  tdt_record *record = make_record(&identity, 3);
  tdt_error error = TDT_ERROR_INIT;
  char *text = NULL;
  record->clock[0] = '\xff';
  assert_int_equal(tdt_record_json(record, &text, &error), TDT_EINVAL);
  assert_non_null(strstr(tdt_error_text(&error), "clock is not UTF-8"));
  record->clock[0] = 'h';
  record->entries[1].timing.time_ms = INFINITY;
  assert_int_equal(tdt_record_json(record, &text, &error), TDT_EINVAL);
  assert_non_null(strstr(tdt_error_text(&error), "candidates[1] is not finite"));
  record->entries[1].timing.time_ms = NAN;
  assert_int_equal(tdt_record_json(record, &text, NULL), TDT_EINVAL);
  assert_null(text);
  tdt_error_clear(&error);
  tdt_record_destroy(record);
}

/* A relative path, one without a folder, and everything that may lie there instead. */
static void test_S01_record_load(void **state) {
  (void)state;
  char *text = good_text();
  write_file(in_folder("r.json"), text, strlen(text));
  tdt_record *record = NULL;
  assert_int_equal(tdt_record_load(in_folder("r.json"), &record, NULL), TDT_OK);
  assert_record(record, 3);
  tdt_record_destroy(record);
  char *before = getcwd(NULL, 0);
  assert_int_equal(chdir(in_folder(".")), 0);
  assert_int_equal(tdt_record_load("r.json", &record, NULL), TDT_OK);
  tdt_record_destroy(record);
  assert_int_equal(chdir(before), 0);
  free(before);
  free(text);

  assert_int_equal(mkdir(in_folder("folder"), 0700), 0);
  assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
  assert_int_equal(symlink("r.json", in_folder("link")), 0);
  write_file(in_folder("empty"), "", 0);
  FILE *large = fopen(in_folder("large"), "wb");
  assert_int_equal(ftruncate(fileno(large), (off_t)TDT__RECORD_LIMIT + 1), 0);
  (void)fclose(large);
  static const struct {
    const char *name;
    tdt_status status;
  } files[] = {
      {"missing", TDT_ENOENT}, {"missing/r.json", TDT_ENOENT}, {"folder", TDT_EFORMAT},
      {"fifo", TDT_EFORMAT},   {"link", TDT_EFORMAT},          {"empty", TDT_EFORMAT},
      {"large", TDT_EFORMAT},  {"empty/r.json", TDT_EIO},
  };
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
    tdt_error error = TDT_ERROR_INIT;
    record = NULL;
    const char *path = in_folder("%s", files[i].name);
    assert_int_equal(tdt_record_load(path, &record, &error), files[i].status);
    assert_null(record);
    assert_non_null(strstr(tdt_error_text(&error), in_folder("%.4s", files[i].name)));
    tdt_error_clear(&error);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_outcome_comes_back),
      cmocka_unit_test(test_an_incomplete_record_comes_back),
      cmocka_unit_test(test_a_record_of_no_candidates_comes_back),
      cmocka_unit_test(test_fields_stand_in_the_documented_order),
      cmocka_unit_test(test_figures_come_back_exactly),
      cmocka_unit_test_setup_teardown(test_figures_have_a_point_in_every_locale, make_folder,
                                      remove_folder),
      cmocka_unit_test(test_texts_of_all_kinds_come_back),
      cmocka_unit_test(test_configs_are_read_in_canonical_form),
      cmocka_unit_test(test_unknown_fields_are_passed_over),
      cmocka_unit_test(test_S01_case_C1_cut_at_every_length),
      cmocka_unit_test(test_S01_case_C1_bad_files),
      cmocka_unit_test(test_S01_foreign_files),
      cmocka_unit_test(test_S01_deep_nesting),
      cmocka_unit_test(test_S01_too_large),
      cmocka_unit_test(test_what_cannot_be_written_is_refused),
      cmocka_unit_test_setup_teardown(test_S01_record_load, make_folder, remove_folder),
  };
  return cmocka_run_group_tests_name("store record", tests, NULL, NULL);
}
