/* SPDX-License-Identifier: MIT */
/* One whole tuning: order, counts, figures, failures, stops. */
#include <stdio.h>

#include "rig.h"

static void test_F06_prune_is_asked_once_each_before_anything_runs(void **state) {
  rig *r = *state;
  r->candidates[1].pruned = true; /* the rig's prune() itself asserts that nothing ran yet */
  tdt_choice choice = rig_resolve(r, "k");
  assert_int_equal(choice.candidate, 2);
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(r->candidates[i].n_prune_asked, 1);
  }
  assert_int_equal(r->candidates[1].n_launched, 0);
  (void)rig_resolve(r, "k");
  rig_restart(r);
  (void)rig_resolve(r, "k");
  assert_int_equal(r->candidates[0].n_prune_asked, 0); /* only when tuning is needed */
}

static void test_F06_without_prune_all_take_part(void **state) {
  rig *r = *state;
  r->request.prune = NULL;
  (void)rig_resolve(r, "k");
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(r->candidates[i].n_launched, 15);
  }
}

static void test_F07_all_pruned(void **state) {
  rig *r = *state;
  for (size_t i = 0; i < 3; i++) {
    r->candidates[i].pruned = true;
  }
  const char *text = rig_fail(r, "(7, 'x')", TDT_EPRUNED);
  assert_contains(text, "scale");
  assert_contains(text, "(7, 'x')");
  assert_contains(text, "all 3 candidates");
  assert_int_equal(r->n_launched, 0);
  assert_null(rig_record(r, "(7, 'x')"));
  r->candidates[0].pruned = false;
  assert_int_equal(rig_resolve(r, "(7, 'x')").candidate, 0);
}

static tdt_status prune_that_raises(void *user, size_t candidate, bool *keep, tdt_error *error) {
  (void)user;
  *keep = true;
  return candidate == 1 ? tdt_error_set(error, TDT_EIO, "no such attribute") : TDT_OK;
}

static void test_F07_a_failing_prune_ends_it_unchanged(void **state) {
  rig *r = *state;
  r->request.prune = prune_that_raises;
  assert_string_equal(rig_fail(r, "k", TDT_EIO), "no such attribute");
  assert_int_equal(r->n_launched, 0);
  assert_null(rig_record(r, "k"));
}

static void test_F12_counts_mean_and_clock(void **state) {
  rig *r = *state;
  tdt_choice choice = rig_resolve(r, "k");
  assert_int_equal(choice.candidate, 1);
  assert_int_equal(choice.origin, TDT_ORIGIN_TUNED);
  assert_true(choice.remembered);
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(r->candidates[i].n_launched, 15);
  }
  assert_int_equal(r->calls.mark, 3 * 20);
  assert_int_equal(r->calls.elapsed, 3 * 10);
  assert_int_equal(r->calls.synchronize, 3); /* between warm-ups and timed runs, and not again */
  assert_int_equal(r->n_max_queued, 10);     /* timed runs are not waited for one by one */
  tdt_record *record = rig_record(r, "k");
  tdt_candidate candidate;
  char *text;
  assert_int_equal(tdt_record_candidate(record, 2, &candidate, NULL), TDT_OK);
  assert_true(candidate.time_ms == 2.0);
  assert_int_equal(candidate.n_samples, 10);
  assert_int_equal(tdt_record_best(record), 1);
  assert_true(tdt_record_complete(record));
  assert_int_equal(tdt_record_json(record, &text, NULL), TDT_OK);
  assert_contains(text, "\"clock\": \"scripted\"");
  assert_contains(text, "\"warmup\": 5");
  assert_contains(text, "\"repeat\": 10");
  assert_contains(r->log, "clock scripted");
  assert_contains(r->log, "winner [1] {\"c\":1}: 1 ms, 3.00 times as fast as [0]");
  tdt_text_free(text);
  tdt_record_destroy(record);
}

static void test_F09_the_log_tells_each_candidate_and_stands_beside_the_record(void **state) {
  rig *r = *state;
  r->candidates[0].fails = "OutOfMemoryError: 7 GiB";
  (void)rig_resolve(r, "k");
  assert_contains(r->log, "I scale, key k: tuning begins: 3 candidates, 0 pruned, 3 to measure");
  assert_contains(r->log, "[0] {\"c\":3}: failed: OutOfMemoryError: 7 GiB");
  assert_contains(r->log, "[1] {\"c\":1}: 1 ms, spread 0.0 %, 10 runs");
  assert_contains(r->log, "winner [1] {\"c\":1}: 1 ms\n");
  assert_contains(r->log, "stored in ");
  assert_int_equal(rig_count_files(r, ".log-"), 1);
  (void)rig_resolve(r, "k");
  assert_null(r->log); /* a hit says nothing */
}

static void test_F13_a_failing_candidate_is_data(void **state) {
  const struct {
    size_t index;
    unsigned from_run;
    const char *reason;
  } cases[] = {{0, 1, "first"}, {1, 3, "middle, warm-up"}, {2, 9, "last, timed"}, {1, 1, ""}};
  rig *r = *state;
  for (size_t i = 0; i < N_OF(cases); i++) {
    const char *const keys[] = {"a", "b", "c", "d"};
    rig_offer(r, 3, (const int[]){3, 1, 2});
    rig_candidate *c = &r->candidates[cases[i].index];
    c->fails = cases[i].reason;
    c->from_run = cases[i].from_run;
    c->cost_ms = 0.5; /* it would have won */
    tdt_choice choice = rig_resolve(r, keys[i]);
    assert_int_not_equal(choice.candidate, cases[i].index);
    assert_int_equal(c->n_launched, cases[i].from_run);
    assert_int_equal(c->n_discarded, 1);
    assert_int_equal(r->n_progress, 4);
    tdt_record *record = rig_record(r, keys[i]);
    tdt_candidate told;
    assert_int_equal(tdt_record_candidate(record, cases[i].index, &told, NULL), TDT_OK);
    assert_int_equal(told.outcome, TDT_OUTCOME_FAILED);
    assert_string_equal(told.error, cases[i].reason[0] != '\0' ? cases[i].reason
                                                               : "a candidate could not be run");
    tdt_record_destroy(record);
  }
}

static void test_F13_device_functions_that_fail_fail_the_candidate(void **state) {
  rig *r = *state;
  r->synchronize_fails_once = true; /* after the warm-ups of the first */
  assert_int_equal(rig_resolve(r, "a").candidate, 1);
  assert_contains(r->log, "[0] {\"c\":3}: failed: late failure");
  assert_int_equal(r->candidates[0].n_launched, 5);
  r->mark_fails = "no event left";
  assert_contains(rig_fail(r, "b", TDT_EFAILED), "[2] {\"c\":2}: no event left");
  r->mark_fails = NULL;
  r->elapsed_fails = "asynchronous failure";
  assert_contains(rig_fail(r, "c", TDT_EFAILED), "[0] {\"c\":3}: asynchronous failure");
}

static void test_F13_a_stop_keeps_what_was_measured(void **state) {
  rig *r = *state;
  r->stop_at = 15 + 15 + 8; /* in the third candidate */
  assert_string_equal(rig_fail(r, "k", TDT_ESTOPPED), "the user pressed a key");
  assert_int_equal(r->n_launched, 38);
  tdt_record *record = rig_record(r, "k");
  tdt_candidate candidate;
  assert_non_null(record);
  assert_false(tdt_record_complete(record));
  assert_true(tdt_record_best(record) == TDT_NONE);
  assert_int_equal(tdt_record_candidate(record, 2, &candidate, NULL), TDT_OK);
  assert_int_equal(candidate.outcome, TDT_OUTCOME_UNKNOWN);
  tdt_record_destroy(record);
  assert_int_equal(rig_count_files(r, ".log-"), 1);

  r->stop_at = 0;
  tdt_choice choice = rig_resolve(r, "k");
  assert_int_equal(choice.candidate, 1); /* of all, not of the rest */
  assert_int_equal(choice.origin, TDT_ORIGIN_TUNED);
  assert_int_equal(r->n_launched, 15);
  assert_int_equal(r->candidates[2].n_launched, 15);
  record = rig_record(r, "k");
  assert_true(tdt_record_complete(record));
  assert_int_equal(tdt_record_best(record), 1);
  tdt_record_destroy(record);
}

static void test_case_F4_a_stop_before_any_result_stores_nothing(void **state) {
  rig *r = *state;
  r->stop_at = 3;
  (void)rig_fail(r, "k", TDT_ESTOPPED);
  assert_null(rig_record(r, "k"));
}

static void test_case_F4_every_point_of_a_stop(void **state) {
  rig *r = *state;
  for (size_t at = 1; at <= 45; at++) {
    char key[16];
    (void)snprintf(key, sizeof key, "k%zu", at);
    r->stop_at = at;
    (void)rig_fail(r, key, TDT_ESTOPPED);
    r->stop_at = 0;
    assert_int_equal(rig_resolve(r, key).candidate, 1);
    assert_int_equal(r->n_launched, 45 - (at - 1) / 15 * 15); /* the rest only */
  }
}

static void test_F13_a_ruined_device_ends_it(void **state) {
  rig *r = *state;
  r->candidates[1].fails = "illegal memory access";
  r->candidates[1].ruins = true;
  const char *text = rig_fail(r, "k", TDT_EDEVICE);
  assert_contains(text, "{\"c\":1}");
  assert_contains(text, "illegal memory access");
  assert_contains(text, "illegal address was met");
  assert_int_equal(r->candidates[2].n_launched, 0);
  assert_int_equal(r->candidates[1].n_discarded, 1);
  assert_null(rig_record(r, "k"));
  assert_int_equal(rig_count_files(r, ".log-"), 1);
}

static void test_F14_all_failed(void **state) {
  rig *r = *state;
  rig_offer(r, 4, (const int[]){3, 1, 2, 9});
  r->candidates[0].fails = "OutOfResources: shared memory";
  r->candidates[1].fails = "ValueError: 7";
  r->candidates[2].fails = "late";
  r->candidates[2].from_run = 7;
  r->candidates[3].pruned = true;
  for (int again = 0; again < 2; again++) { /* repeatably: nothing was remembered or stored */
    const char *text = rig_fail(r, "(5,)", TDT_EFAILED);
    assert_ptr_equal(strstr(text, "cannot find valid config"), text);
    assert_contains(text, " for scale, key (5,):");
    assert_contains(text, "3 failed, 1 pruned");
    assert_contains(text, "\n  [0] {\"c\":3}: OutOfResources: shared memory");
    assert_contains(text, "\n  [1] {\"c\":1}: ValueError: 7");
    assert_contains(text, "\n  [2] {\"c\":2}: late");
    assert_null(rig_record(r, "(5,)"));
    assert_int_equal(r->candidates[1].n_launched, 1);
  }
  r->candidates[1].fails = NULL;
  assert_int_equal(rig_resolve(r, "(5,)").candidate, 1);
}

static void test_case_F2_failed_is_not_fatal(void **state) {
  const struct {
    tdt_status launch;
    bool ruins;
    tdt_status expected; /* TDT_OK: the others went on */
  } table[] = {{TDT_ELAUNCH, false, TDT_OK},      {TDT_ENOMEM, false, TDT_OK},
               {TDT_EINVAL, false, TDT_OK},       {TDT_EDEVICE, false, TDT_OK},
               {TDT_EFAILED, false, TDT_OK},      {TDT_ELAUNCH, true, TDT_EDEVICE},
               {TDT_ENOMEM, true, TDT_EDEVICE},   {TDT_ESTOPPED, false, TDT_ESTOPPED},
               {TDT_ESTOPPED, true, TDT_ESTOPPED}};
  rig *r = *state;
  for (size_t i = 0; i < N_OF(table); i++) {
    char key[16];
    (void)snprintf(key, sizeof key, "k%zu", i);
    r->ruined = false;
    r->candidates[1].fails = "it happened";
    r->candidates[1].status = table[i].launch;
    r->candidates[1].ruins = table[i].ruins;
    if (table[i].expected == TDT_OK) {
      assert_int_equal(rig_resolve(r, key).candidate, 2);
      assert_int_equal(r->candidates[2].n_launched, 15);
    } else {
      assert_contains(rig_fail(r, key, table[i].expected), "it happened");
      assert_int_equal(r->candidates[2].n_launched, 0);
    }
  }
}

static void test_equal_times_the_lowest_index_wins(void **state) {
  rig *r = *state;
  rig_offer(r, 4, (const int[]){5, 4, 4, 4});
  assert_int_equal(rig_resolve(r, "k").candidate, 1);
}

static void test_F04_keys_are_tuned_on_their_own(void **state) {
  rig *r = *state;
  assert_int_equal(rig_resolve(r, "a").candidate, 1);
  r->candidates[2].cost_ms = 0.25;
  assert_int_equal(rig_resolve(r, "b").candidate, 2);
  assert_int_equal(rig_resolve(r, "a").candidate, 1);
  assert_int_equal(r->n_launched, 0);
  size_t candidate;
  assert_true(tdt_tuner_lookup(r->tuner, "bcd", 1, &candidate)); /* the size counts, no NUL */
  assert_int_equal(candidate, 2);
  assert_false(tdt_tuner_lookup(r->tuner, "bcd", 2, &candidate));
}

static void test_progress_counts_what_takes_part(void **state) {
  rig *r = *state;
  r->candidates[0].pruned = true;
  r->candidates[2].fails = "no";
  (void)rig_resolve(r, "k");
  assert_int_equal(r->n_progress, 3); /* the start and two */
  assert_int_equal(r->last_progress.n_candidates, 2);
  assert_int_equal(r->last_progress.n_done, 2);
  assert_int_equal(r->last_progress.candidate, 2);
  assert_int_equal(r->last_progress.outcome, TDT_OUTCOME_FAILED);
  assert_int_equal(r->last_progress.best, 1);
  assert_true(r->last_progress.best_ms == 1.0);
}

static void test_long_keys_are_cut_in_messages_only(void **state) {
  rig *r = *state;
  enum { LONG = 100000 };
  char *key = test_malloc(LONG + 1);
  memset(key, 'x', LONG);
  key[LONG] = '\0';
  r->settings.on_miss = TDT_ON_MISS_ERROR;
  const char *text = rig_fail(r, key, TDT_EMISS);
  assert_true(strlen(text) < 400);
  assert_contains(text, "x...");
  r->settings.on_miss = TDT_ON_MISS_TUNE;
  assert_int_equal(rig_resolve(r, key).candidate, 1);
  key[LONG - 1] = 'y';
  size_t candidate;
  assert_false(tdt_tuner_lookup(r->tuner, key, LONG, &candidate));
  test_free(key);
}

#define RIG_TEST(test) cmocka_unit_test_setup_teardown(test, rig_setup, rig_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      RIG_TEST(test_F06_prune_is_asked_once_each_before_anything_runs),
      RIG_TEST(test_F06_without_prune_all_take_part),
      RIG_TEST(test_F07_all_pruned),
      RIG_TEST(test_F07_a_failing_prune_ends_it_unchanged),
      RIG_TEST(test_F12_counts_mean_and_clock),
      RIG_TEST(test_F09_the_log_tells_each_candidate_and_stands_beside_the_record),
      RIG_TEST(test_F13_a_failing_candidate_is_data),
      RIG_TEST(test_F13_device_functions_that_fail_fail_the_candidate),
      RIG_TEST(test_F13_a_stop_keeps_what_was_measured),
      RIG_TEST(test_case_F4_a_stop_before_any_result_stores_nothing),
      RIG_TEST(test_case_F4_every_point_of_a_stop),
      RIG_TEST(test_F13_a_ruined_device_ends_it),
      RIG_TEST(test_F14_all_failed),
      RIG_TEST(test_case_F2_failed_is_not_fatal),
      RIG_TEST(test_equal_times_the_lowest_index_wins),
      RIG_TEST(test_F04_keys_are_tuned_on_their_own),
      RIG_TEST(test_progress_counts_what_takes_part),
      RIG_TEST(test_long_keys_are_cut_in_messages_only),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
