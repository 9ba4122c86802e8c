/* SPDX-License-Identifier: MIT */
/* What a later process makes of a stored record. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rig.h"

static char *path_of(rig *r, const char *key) {
  tdt_identity identity = rig_identity(r, key);
  char *path = NULL;
  assert_int_equal(tdt_store_path(r->store, &identity, &path, NULL), TDT_OK);
  return path;
}

static void test_a_later_process_measures_nothing(void **state) {
  rig *r = *state;
  (void)rig_resolve(r, "k");
  rig_restart(r);
  tdt_choice choice = rig_resolve(r, "k");
  assert_int_equal(choice.candidate, 1);
  assert_int_equal(choice.origin, TDT_ORIGIN_STORED);
  assert_true(choice.remembered);
  assert_int_equal(r->n_launched, 0);
  assert_int_equal(r->calls.synchronize + r->calls.mark + r->calls.reserve, 0);
  char *path = path_of(r, "k");
  assert_contains(r->log, path);
  tdt_text_free(path);
  assert_int_equal(rig_resolve(r, "k").origin, TDT_ORIGIN_MEMORY);
}

/* Which of the candidates ran, as bits. */
static unsigned ran(const rig *r) {
  unsigned bits = 0;
  for (size_t i = 0; i < r->n_candidates; i++) {
    bits |= r->candidates[i].n_launched > 0 ? 1U << i : 0;
  }
  return bits;
}

static void test_case_C3_new_candidate_is_timed_with_the_old_winner(void **state) {
  rig *r = *state;
  rig_offer(r, 3, (const int[]){5, 1, 2});
  (void)rig_resolve(r, "k");
  rig_offer(r, 3, (const int[]){2, 1, 3}); /* 5 went, 3 came */
  r->candidates[2].cost_ms = 0.5;
  r->candidates[1].cost_ms = 1.5; /* a slower day */
  assert_int_equal(rig_resolve(r, "k").candidate, 2);
  assert_int_equal(ran(r), 1U << 1 | 1U << 2);

  tdt_record *record = rig_record(r, "k");
  tdt_candidate candidate;
  assert_int_equal(tdt_record_n_candidates(record), 4); /* live ones in live order, then former */
  assert_int_equal(tdt_record_candidate(record, 0, &candidate, NULL), TDT_OK);
  assert_true(candidate.time_ms == 2.0); /* known times stay */
  assert_int_equal(tdt_record_candidate(record, 1, &candidate, NULL), TDT_OK);
  assert_true(candidate.time_ms == 1.5);
  assert_int_equal(tdt_record_candidate(record, 3, &candidate, NULL), TDT_OK);
  assert_string_equal(candidate.config, "{\"c\":5}");
  assert_true(candidate.time_ms == 5.0);
  assert_int_equal(tdt_record_best(record), 2);
  tdt_record_destroy(record);

  rig_restart(r);
  assert_int_equal(rig_resolve(r, "k").candidate, 2);
  assert_int_equal(r->n_launched, 0);
}

static void test_case_C3_times_of_another_day_do_not_win(void **state) {
  rig *r = *state;
  rig_offer(r, 2, (const int[]){10, 9});
  (void)rig_resolve(r, "k");
  rig_offer(r, 3, (const int[]){10, 9, 12});
  r->candidates[1].cost_ms = 90; /* today everything is ten times as slow */
  r->candidates[2].cost_ms = 120;
  assert_int_equal(rig_resolve(r, "k").candidate, 1); /* not 10, which was not measured today */
  assert_int_equal(ran(r), 1U << 1 | 1U << 2);
}

static void test_case_C3_documented_table(void **state) {
  rig *r = *state;
  rig_offer(r, 2, (const int[]){1, 2});
  assert_int_equal(rig_resolve(r, "k").candidate, 0);
  rig_offer(r, 2, (const int[]){2, 1}); /* reordered: nothing is timed */
  tdt_choice choice = rig_resolve(r, "k");
  assert_int_equal(choice.candidate, 1);
  assert_int_equal(choice.origin, TDT_ORIGIN_STORED);
  assert_int_equal(r->n_launched, 0);
  rig_offer(r, 1, (const int[]){7}); /* the old winner is never used */
  assert_int_equal(rig_resolve(r, "k").candidate, 0);
  assert_int_equal(ran(r), 1U);
  rig_offer(r, 2, (const int[]){1, 2}); /* both known still */
  assert_int_equal(rig_resolve(r, "k").candidate, 0);
  assert_int_equal(r->n_launched, 0);
}

static void test_F19_the_winner_went_and_others_are_known(void **state) {
  rig *r = *state;
  rig_offer(r, 3, (const int[]){1, 2, 3});
  (void)rig_resolve(r, "k");
  rig_offer(r, 3, (const int[]){3, 2, 4}); /* the next best known takes the winner's place */
  r->candidates[2].cost_ms = 2.5;
  assert_int_equal(rig_resolve(r, "k").candidate, 1);
  assert_int_equal(ran(r), 1U << 1 | 1U << 2);
  rig_offer(r, 1, (const int[]){3});
  assert_int_equal(rig_resolve(r, "k").candidate, 0);
  assert_int_equal(r->n_launched, 0);
}

/* Two programs with different lists that share a store do not measure in turns for ever; nor does
 * the record grow for ever. */
static void test_F19_former_candidates_are_kept_up_to_a_limit(void **state) {
  enum { MOST_FORMER = 1024, TURNS = MOST_FORMER / (RIG_MOST - 1) + 2 };
  rig *r = *state;
  for (int turn = 0; turn < TURNS; turn++) {
    int values[RIG_MOST] = {1};
    for (int i = 1; i < RIG_MOST; i++) {
      values[i] = 2 + turn * RIG_MOST + i;
    }
    rig_offer(r, RIG_MOST, values);
    assert_int_equal(rig_resolve(r, "k").candidate, 0);
  }
  tdt_record *record = rig_record(r, "k");
  assert_int_equal(tdt_record_n_candidates(record), RIG_MOST + MOST_FORMER);
  tdt_record_destroy(record);
}

static void test_F19_known_failures_do_not_run_again(void **state) {
  rig *r = *state;
  r->candidates[0].fails = "out of resources";
  (void)rig_resolve(r, "k");
  rig_offer(r, 4, (const int[]){3, 1, 2, 4});
  assert_int_equal(rig_resolve(r, "k").candidate, 1);
  assert_int_equal(ran(r), 1U << 1 | 1U << 3);
  tdt_record *record = rig_record(r, "k");
  tdt_candidate candidate;
  assert_int_equal(tdt_record_candidate(record, 0, &candidate, NULL), TDT_OK);
  assert_string_equal(candidate.error, "out of resources");
  tdt_record_destroy(record);
  /* A record that offers nothing but failures is no answer: they get another chance. */
  rig_offer(r, 1, (const int[]){3});
  tdt_choice choice = rig_resolve(r, "k");
  assert_int_equal(choice.origin, TDT_ORIGIN_TUNED);
  assert_int_equal(r->candidates[0].n_launched, 15);
}

static void test_F19_all_measured_today_fail(void **state) {
  rig *r = *state;
  (void)rig_resolve(r, "k");
  rig_offer(r, 4, (const int[]){3, 1, 2, 4});
  r->candidates[1].fails = "today it does not fit";
  r->candidates[3].fails = "nor does this";
  assert_int_equal(rig_resolve(r, "k").candidate, 2); /* the best of those known from before */
}

static void test_F19_an_interrupted_update_compares_within_its_day(void **state) {
  rig *r = *state;
  rig_offer(r, 1, (const int[]){2});
  (void)rig_resolve(r, "k");
  rig_offer(r, 3, (const int[]){2, 1, 3});
  r->stop_at = 31; /* 2 and 1 are through, 3 is not */
  (void)rig_fail(r, "k", TDT_ESTOPPED);
  r->stop_at = 0;
  rig_restart(r);
  assert_int_equal(rig_resolve(r, "k").candidate, 1);
  assert_int_equal(ran(r), 1U << 1 | 1U << 2); /* 1 leads by now, and stands beside 3 */
}

/* What an interrupted tuning left was measured otherwise than today: the best of it is measured
 * again beside the rest, and only times of today are compared. */
static void test_F13_a_tuning_goes_on_under_other_circumstances(void **state) {
  static const tdt_plan plans[] = {
      {sizeof plans[0], "other", 5, 10, TDT_STATISTIC_MEDIAN},
      {sizeof plans[0], "other", 5, 9, TDT_STATISTIC_MEAN},
      {sizeof plans[0], "other", 4, 10, TDT_STATISTIC_MEAN},
  };
  rig *r = *state;
  for (int what = 0; what < 6; what++) {
    const char *const keys[] = {"the same", "another clock", "other software",
                                "median",   "fewer",         "colder"};
    rig_offer(r, 3, (const int[]){3, 1, 2});
    r->device.clock = "scripted";
    r->request.dependencies = NULL;
    r->stop_at = 31; /* the first two are through */
    (void)rig_fail(r, keys[what], TDT_ESTOPPED);
    r->stop_at = 0;
    rig_restart(r);
    r->device.clock = what == 1 ? "another" : "scripted";
    r->request.dependencies = what == 2 ? "{\"torch\":\"2.13\"}" : NULL;
    if (what >= 3) {
      const tdt_function function = {.name = "scale", .module = "ops", .source = "abc"};
      tdt_tuner_destroy(r->tuner);
      assert_int_equal(
          tdt_tuner_create(r->context, &function, r->space, &plans[what - 3], &r->tuner, NULL),
          TDT_OK);
    }
    r->candidates[1].cost_ms = 90; /* what was 1 ms then */
    r->candidates[2].cost_ms = 60;
    assert_int_equal(rig_resolve(r, keys[what]).candidate, what == 0 ? 1 : 2);
    assert_int_equal(ran(r), what == 0 ? 1U << 2 : 1U << 1 | 1U << 2);
  }
}

static void test_F06_a_changed_rule_is_asked_and_nothing_is_measured(void **state) {
  rig *r = *state;
  r->request.prune_rule = "rule 1";
  (void)rig_resolve(r, "k");
  rig_restart(r);
  r->request.prune_rule = "rule 2";
  r->candidates[1].pruned = true; /* the winner */
  tdt_choice choice = rig_resolve(r, "k");
  assert_int_equal(choice.candidate, 2);
  assert_int_equal(choice.origin, TDT_ORIGIN_STORED);
  assert_int_equal(r->candidates[0].n_prune_asked, 1);
  assert_int_equal(r->n_launched, 0);
  rig_restart(r);
  assert_int_equal(rig_resolve(r, "k").candidate, 2); /* the record was updated */
  assert_int_equal(r->candidates[0].n_prune_asked, 0);
}

static void test_F06_what_another_rule_pruned_is_unknown(void **state) {
  rig *r = *state;
  r->request.prune_rule = "rule 1";
  r->candidates[0].pruned = true;
  (void)rig_resolve(r, "k");
  rig_restart(r);
  assert_int_equal(rig_resolve(r, "k").candidate, 1); /* same rule: an answer */
  assert_int_equal(r->n_launched, 0);
  rig_restart(r);
  r->request.prune_rule = "rule 2";
  r->candidates[0].pruned = false;
  r->candidates[0].cost_ms = 0.5;
  assert_int_equal(rig_resolve(r, "k").candidate, 0);
  assert_int_equal(ran(r), 1U << 0 | 1U << 1);
}

static void test_F06_what_was_pruned_counts_without_a_rule(void **state) {
  rig *r = *state;
  r->request.prune_rule = "rule 1";
  r->candidates[0].pruned = true;
  (void)rig_resolve(r, "k");
  rig_restart(r);
  r->request.prune_rule = NULL;
  r->request.prune = NULL;
  r->candidates[0].cost_ms = 0.5;
  assert_int_equal(rig_resolve(r, "k").candidate, 0);
  assert_int_equal(ran(r), 1U << 0 | 1U << 1);
}

static void test_equal_descriptions_share_what_is_stored(void **state) {
  rig *r = *state;
  rig_offer(r, 3, (const int[]){5, 5, 6});
  r->candidates[0].fails = "only the first of them fails";
  assert_int_equal(rig_resolve(r, "k").candidate, 1);
  rig_restart(r);
  tdt_choice choice = rig_resolve(r, "k");
  assert_int_equal(choice.origin, TDT_ORIGIN_STORED);
  assert_int_equal(choice.candidate, 0); /* a stored result means the first of them */

  rig_offer(r, 3, (const int[]){5, 5, 6});
  r->candidates[0].cost_ms = 9;
  r->candidates[1].cost_ms = 1;
  r->stop_at = 31;
  (void)rig_fail(r, "other", TDT_ESTOPPED);
  r->stop_at = 0;
  assert_int_equal(rig_resolve(r, "other").candidate, 0); /* 1 ms, the best of its description */
  assert_int_equal(ran(r), 1U << 2);
}

static void test_F17_always_tune_once_a_key_and_process(void **state) {
  rig *r = *state;
  (void)rig_resolve(r, "k");
  rig_restart(r);
  r->settings.always_tune = true;
  r->candidates[0].cost_ms = 0.5;
  tdt_choice choice = rig_resolve(r, "k");
  assert_int_equal(choice.origin, TDT_ORIGIN_TUNED);
  assert_int_equal(choice.candidate, 0);
  assert_int_equal(r->n_launched, 45);
  assert_int_equal(rig_resolve(r, "k").origin, TDT_ORIGIN_MEMORY);
  assert_int_equal(rig_count_files(r, ".json-"), 1); /* S03: what was replaced is kept */
}

static void test_F17_a_stop_leaves_the_whole_record_in_place(void **state) {
  rig *r = *state;
  (void)rig_resolve(r, "k");
  rig_restart(r);
  r->settings.always_tune = true;
  r->stop_at = 20;
  (void)rig_fail(r, "k", TDT_ESTOPPED);
  r->settings.always_tune = false;
  r->stop_at = 0;
  assert_int_equal(rig_resolve(r, "k").origin, TDT_ORIGIN_STORED);
}

static void test_F18_case_C4_dependencies(void **state) {
  const struct {
    const char *recorded, *now, *named; /* named: what the warning must name */
    bool differs;
  } table[] = {
      {"{\"torch\":\"2.12\",\"os\":\"a\"}", "{\"os\":\"a\",\"torch\":\"2.12\"}", NULL, false},
      {"{\"torch\":\"2.12\",\"os\":\"a\"}", "{\"torch\":\"2.13\",\"os\":\"a\"}", "torch", true},
      {"{\"torch\":\"2.12\"}", "{\"torch\":\"2.12\",\"triton\":\"3\"}", "triton", true},
      {"{\"torch\":\"2.12\"}", NULL, "torch", true},
      {"{\"torch\":\"unknown\"}", "{\"torch\":\"2.12\"}", "torch", true},
      {"{\"torch\":\"unknown\"}", "{\"torch\":\"unknown\"}", "torch", true},
  };
  rig *r = *state;
  for (size_t i = 0; i < 2 * N_OF(table); i++) {
    char key[16];
    size_t row = i / 2;
    bool check = i % 2 == 1;
    (void)snprintf(key, sizeof key, "k%zu", i);
    r->settings.check_dependencies = check;
    r->request.dependencies = table[row].recorded;
    (void)rig_resolve(r, key);
    rig_restart(r);
    r->request.dependencies = table[row].now;
    tdt_choice choice = rig_resolve(r, key);
    bool again = check && table[row].differs;
    assert_int_equal(choice.origin, again ? TDT_ORIGIN_TUNED : TDT_ORIGIN_STORED);
    assert_int_equal(r->n_launched, again ? 45 : 0);
    assert_int_equal(r->n_warnings, !check && table[row].differs ? 1 : 0);
    if (table[row].differs) {
      assert_contains(r->log, table[row].named);
    }
    rig_restart(r);
    (void)rig_resolve(r, key);
    assert_int_equal(r->n_warnings, 0); /* one warning a record */
  }
  /* None was destroyed; what is unknown on both sides is measured by every process that checks. */
  assert_int_equal(rig_count_files(r, ".json-"), 6);
}

static void put_file(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

static void test_S01_what_is_no_record_is_a_miss_and_said_once(void **state) {
  const char *const bad[] = {"", "{", "[]", "{\"format\": 99}", "nonsense", "{\"format\": 1}"};
  rig *r = *state;
  for (size_t i = 0; i < N_OF(bad); i++) {
    char key[16];
    (void)snprintf(key, sizeof key, "k%zu", i);
    (void)rig_resolve(r, key);
    char *path = path_of(r, key);
    put_file(path, bad[i]);
    rig_restart(r);
    r->settings.on_miss = TDT_ON_MISS_ERROR;
    (void)rig_fail(r, key, TDT_EMISS);
    assert_int_equal(r->n_warnings, 1);
    assert_contains(r->log, path);
    r->settings.on_miss = TDT_ON_MISS_TUNE;
    assert_int_equal(rig_resolve(r, key).candidate, 1);
    assert_int_equal(r->n_warnings, 0);
    assert_int_equal(r->n_launched, 45);
    rig_restart(r);
    assert_int_equal(rig_resolve(r, key).origin, TDT_ORIGIN_STORED);
    tdt_text_free(path);
  }
}

static void use_store(rig *r, const char *root) {
  tdt_store_close(r->store);
  assert_int_equal(tdt_store_open(root, &r->store, NULL), TDT_OK);
  r->request.store = r->store;
}

static void test_F15_a_store_that_cannot_be_used_is_one_warning(void **state) {
  rig *r = *state;
  char root[300];
  (void)snprintf(root, sizeof root, "%s/file", r->root);
  put_file(root, "a file where a folder should be");
  use_store(r, root);
  assert_int_equal(rig_resolve(r, "a").candidate, 1);
  assert_int_equal(r->n_warnings, 1);
  assert_contains(r->log, root);
  assert_int_equal(rig_resolve(r, "b").candidate, 1);
  assert_int_equal(r->n_warnings, 0);
  assert_int_equal(rig_resolve(r, "a").origin, TDT_ORIGIN_MEMORY);
}

static void test_F15_a_read_only_store(void **state) {
  enum { NOBODY = 65534 };
  rig *r = *state;
  bool root = geteuid() == 0; /* nothing is read-only for root */
  assert_int_equal(chmod(r->root, 0555), 0);
  assert_true(!root || seteuid(NOBODY) == 0);
  tdt_choice choice = rig_resolve(r, "a");
  unsigned n_warnings = r->n_warnings;
  (void)rig_resolve(r, "b");
  assert_true(!root || seteuid(0) == 0);
  assert_int_equal(chmod(r->root, 0700), 0);
  assert_int_equal(choice.candidate, 1);
  assert_int_equal(n_warnings, 1);
  assert_int_equal(r->n_warnings, 0);
  assert_null(rig_record(r, "a"));
}

static void test_memory_only_without_a_store(void **state) {
  rig *r = *state;
  r->request.store = NULL;
  assert_int_equal(rig_resolve(r, "k").origin, TDT_ORIGIN_TUNED);
  assert_int_equal(rig_resolve(r, "k").origin, TDT_ORIGIN_MEMORY);
  assert_int_equal(rig_count_files(r, ""), 0);
}

#define RIG_TEST(test) cmocka_unit_test_setup_teardown(test, rig_setup, rig_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      RIG_TEST(test_a_later_process_measures_nothing),
      RIG_TEST(test_case_C3_new_candidate_is_timed_with_the_old_winner),
      RIG_TEST(test_case_C3_times_of_another_day_do_not_win),
      RIG_TEST(test_case_C3_documented_table),
      RIG_TEST(test_F19_the_winner_went_and_others_are_known),
      RIG_TEST(test_F19_former_candidates_are_kept_up_to_a_limit),
      RIG_TEST(test_F19_known_failures_do_not_run_again),
      RIG_TEST(test_F19_all_measured_today_fail),
      RIG_TEST(test_F19_an_interrupted_update_compares_within_its_day),
      RIG_TEST(test_F13_a_tuning_goes_on_under_other_circumstances),
      RIG_TEST(test_F06_a_changed_rule_is_asked_and_nothing_is_measured),
      RIG_TEST(test_F06_what_another_rule_pruned_is_unknown),
      RIG_TEST(test_F06_what_was_pruned_counts_without_a_rule),
      RIG_TEST(test_equal_descriptions_share_what_is_stored),
      RIG_TEST(test_F17_always_tune_once_a_key_and_process),
      RIG_TEST(test_F17_a_stop_leaves_the_whole_record_in_place),
      RIG_TEST(test_F18_case_C4_dependencies),
      RIG_TEST(test_S01_what_is_no_record_is_a_miss_and_said_once),
      RIG_TEST(test_F15_a_store_that_cannot_be_used_is_one_warning),
      RIG_TEST(test_F15_a_read_only_store),
      RIG_TEST(test_memory_only_without_a_store),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
