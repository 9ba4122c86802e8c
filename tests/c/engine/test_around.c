/* SPDX-License-Identifier: MIT */
/* What happens around a launch: B03 the result is checked, B04 arguments are put back, and gaps
 * between launches are hidden where the device can do that. */
#include <math.h>
#include <stdio.h>

#include "rig.h"

/* What the callbacks saw; one test at a time. */
static struct {
  unsigned n_before, n_checked;
  size_t last_before;
  const char *before_fails;
  size_t wrong;           /* the candidate whose result is wrong; TDT_NONE: none */
  const char *check_says; /* as it fails; NULL: it only says that the result is wrong */
  tdt_status check_status;
  unsigned launched_at_check[RIG_MOST];
} seen;

static tdt_plan plan;

static tdt_status before(void *user, size_t candidate, tdt_error *error) {
  rig *r = user;
  seen.n_before++;
  seen.last_before = candidate;
  r->now_ms += 50.0;
  return seen.before_fails != NULL && candidate == 1
             ? tdt_error_set(error, TDT_EIO, "%s", seen.before_fails)
             : TDT_OK;
}

/* The one that was put back for is the one that runs. */
static tdt_status launch(void *user, size_t candidate, tdt_error *error) {
  rig *r = user;
  assert_int_equal(seen.last_before, candidate);
  assert_int_equal(seen.n_before, r->n_launched + 1);
  return rig_launch(r, candidate, error);
}

static tdt_status check(void *user, size_t candidate, bool *right, tdt_error *error) {
  rig *r = user;
  assert_true(*right);
  assert_int_equal(r->n_queued, 0); /* it was waited for */
  seen.n_checked++;
  seen.launched_at_check[candidate] = r->candidates[candidate].n_launched;
  if (candidate != seen.wrong) {
    return TDT_OK;
  }
  if (seen.check_status != TDT_OK) {
    return seen.check_says != NULL ? tdt_error_set(error, seen.check_status, "%s", seen.check_says)
                                   : seen.check_status;
  }
  *right = false;
  return TDT_OK;
}

static int setup(void **state) {
  int failed = rig_setup(state);
  memset(&seen, 0, sizeof seen);
  seen.wrong = TDT_NONE;
  return failed;
}

static void use_plan(rig *r, tdt_plan chosen) {
  plan = chosen;
  r->plan = &plan;
  rig_offer(r, 3, (const int[]){3, 1, 2});
}

static const char *reason_of(rig *r, size_t candidate) {
  static char text[256];
  tdt_record *record = rig_record(r, "k");
  tdt_candidate found;
  assert_non_null(record);
  assert_int_equal(tdt_record_candidate(record, candidate, &found, NULL), TDT_OK);
  (void)snprintf(text, sizeof text, "%s", found.error != NULL ? found.error : "");
  tdt_record_destroy(record);
  return text;
}

/* -- before --------------------------------------------------------------------------------------
 */

static void test_B04_arguments_are_put_back_before_every_run_outside_the_time(void **state) {
  rig *r = *state;
  r->request.before = before;
  r->request.launch = launch;
  assert_int_equal(rig_resolve(r, "k").candidate, 1);
  assert_int_equal(seen.n_before, 45);
  assert_true(fabs(r->last_progress.best_ms - 1.0) < 1e-9);
}

static void test_B04_putting_back_that_fails_is_a_failed_run(void **state) {
  rig *r = *state;
  r->request.before = before;
  seen.before_fails = "no room";
  assert_int_equal(rig_resolve(r, "k").candidate, 2);
  assert_int_equal(r->candidates[1].n_launched, 0);
  assert_string_equal(reason_of(r, 1), "no room");
}

/* -- check ---------------------------------------------------------------------------------------
 */

static void test_B03_each_result_is_checked_once_after_the_first_warm_up(void **state) {
  rig *r = *state;
  r->request.check = check;
  assert_int_equal(rig_resolve(r, "k").candidate, 1);
  assert_int_equal(seen.n_checked, 3);
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(seen.launched_at_check[i], 1);
    assert_int_equal(r->candidates[i].n_launched, 15);
  }
  use_plan(r, tdt_plan_race());
  seen.n_checked = 0;
  r->candidates[2].cost_ms = 1.0;
  (void)rig_resolve(r, "l");
  assert_int_equal(r->candidates[2].n_launched, 11);
  assert_int_equal(seen.n_checked, 3);
}

static void test_B03_a_wrong_result_excludes_the_candidate(void **state) {
  rig *r = *state;
  r->request.check = check;
  seen.wrong = 1;
  assert_int_equal(rig_resolve(r, "k").candidate, 2);
  assert_int_equal(r->candidates[1].n_launched, 1);
  assert_int_equal(r->candidates[1].n_discarded, 1);
  assert_string_equal(reason_of(r, 1), "wrong result");
  assert_contains(r->log, "failed: wrong result");
}

static void test_B03_a_check_that_fails_says_why(void **state) {
  rig *r = *state;
  r->request.check = check;
  seen.wrong = 1;
  seen.check_status = TDT_EIO;
  seen.check_says = "off by 7";
  assert_int_equal(rig_resolve(r, "k").candidate, 2);
  assert_string_equal(reason_of(r, 1), "wrong result: off by 7");
  seen.check_says = NULL;
  (void)rig_resolve(r, "l");
  assert_contains(r->log, "failed: wrong result: ");
}

static void test_B03_a_check_may_end_the_tuning(void **state) {
  rig *r = *state;
  r->request.check = check;
  seen.wrong = 1;
  seen.check_status = TDT_ESTOPPED;
  seen.check_says = "a key was pressed";
  assert_string_equal(rig_fail(r, "k", TDT_ESTOPPED), "a key was pressed");
}

static void test_B03_a_check_needs_a_warm_up(void **state) {
  rig *r = *state;
  tdt_plan cold = tdt_plan_documented();
  cold.n_warmup = 0;
  use_plan(r, cold);
  r->request.check = check;
  assert_contains(rig_fail(r, "k", TDT_EINVAL), "warm-up");
  assert_int_equal(r->n_launched, 0);
}

static void test_L01_a_request_of_an_earlier_version_has_neither(void **state) {
  rig *r = *state;
  r->request.before = before;
  r->request.check = check;
  r->request.size = offsetof(tdt_request, before);
  assert_int_equal(rig_resolve(r, "k").candidate, 1);
  assert_int_equal(seen.n_before + seen.n_checked, 0);
}

/* -- gaps ----------------------------------------------------------------------------------------
 */

static void test_B01_plans_that_compare_queue_timed_runs_behind_a_delay(void **state) {
  rig *r = *state;
  const tdt_plan plans[] = {tdt_plan_race(), tdt_plan_careful()};
  for (size_t i = 0; i < 2; i++) {
    use_plan(r, plans[i]);
    assert_int_equal(rig_resolve(r, i == 0 ? "k" : "l").candidate, 1);
    assert_int_equal(r->calls.delay, 3); /* one for each burst */
    assert_true(r->delay_ms >= 0.05 && r->delay_ms <= 10.0);
  }
}

static void test_F12_the_documented_plan_delays_nothing(void **state) {
  rig *r = *state;
  (void)rig_resolve(r, "k");
  assert_int_equal(r->calls.delay, 0);
}

static void test_B01_a_device_that_cannot_delay_is_not_asked_again(void **state) {
  rig *r = *state;
  use_plan(r, tdt_plan_careful());
  r->delay_fails = "not here";
  assert_int_equal(rig_resolve(r, "k").candidate, 1);
  assert_int_equal(r->calls.delay, 1);
  r->table.delay = NULL;
  assert_int_equal(rig_resolve(r, "l").candidate, 1);
  assert_int_equal(r->calls.delay, 0);
}

static void test_L01_a_device_of_an_earlier_version(void **state) {
  rig *r = *state;
  use_plan(r, tdt_plan_careful());
  r->table.size = offsetof(tdt_device_table, delay);
  assert_int_equal(rig_resolve(r, "k").candidate, 1);
  assert_int_equal(r->calls.delay, 0);
}

#define AROUND(test) cmocka_unit_test_setup_teardown(test, setup, rig_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      AROUND(test_B04_arguments_are_put_back_before_every_run_outside_the_time),
      AROUND(test_B04_putting_back_that_fails_is_a_failed_run),
      AROUND(test_B03_each_result_is_checked_once_after_the_first_warm_up),
      AROUND(test_B03_a_wrong_result_excludes_the_candidate),
      AROUND(test_B03_a_check_that_fails_says_why),
      AROUND(test_B03_a_check_may_end_the_tuning),
      AROUND(test_B03_a_check_needs_a_warm_up),
      AROUND(test_L01_a_request_of_an_earlier_version_has_neither),
      AROUND(test_B01_plans_that_compare_queue_timed_runs_behind_a_delay),
      AROUND(test_F12_the_documented_plan_delays_nothing),
      AROUND(test_B01_a_device_that_cannot_delay_is_not_asked_again),
      AROUND(test_L01_a_device_of_an_earlier_version),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
