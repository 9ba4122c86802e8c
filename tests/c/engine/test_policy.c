/* SPDX-License-Identifier: MIT */
/* Answers to a miss that measure nothing: graph capture and the settings. */
#include "rig.h"

static void assert_untouched(const rig *r) {
  assert_int_equal(r->n_launched, 0);
  assert_int_equal(r->calls.reserve, 0);
  assert_int_equal(r->calls.mark, 0);
  assert_int_equal(r->calls.elapsed, 0);
  assert_int_equal(r->calls.synchronize, 0);
  assert_int_equal(r->candidates[0].n_prune_asked, 0);
}

static void test_F23_case_G1_a_miss_while_capturing(void **state) {
  rig *r = *state;
  size_t candidate;
  r->is_capturing = true;
  tdt_choice choice = rig_resolve(r, "k");
  assert_int_equal(choice.candidate, 0);
  assert_int_equal(choice.origin, TDT_ORIGIN_CAPTURING);
  assert_false(choice.remembered);
  assert_int_equal(r->n_warnings, 1);
  assert_untouched(r);
  assert_false(tdt_tuner_lookup(r->tuner, "k", 1, &candidate));
  assert_null(rig_record(r, "k"));
  r->is_capturing = false;
  assert_int_equal(rig_resolve(r, "k").origin, TDT_ORIGIN_TUNED);
}

static void test_F23_case_G1_a_hit_while_capturing(void **state) {
  rig *r = *state;
  (void)rig_resolve(r, "k");
  r->is_capturing = true;
  assert_int_equal(rig_resolve(r, "k").origin, TDT_ORIGIN_MEMORY);
  assert_int_equal(r->calls.capturing, 0); /* not even asked */
  rig_restart(r);
  tdt_choice choice = rig_resolve(r, "k");
  assert_int_equal(choice.origin, TDT_ORIGIN_STORED);
  assert_int_equal(choice.candidate, 1);
  assert_untouched(r);
  assert_int_equal(r->n_warnings, 0);
}

static tdt_status cannot_tell(void *self, bool *capturing, tdt_error *error) {
  (void)self;
  (void)capturing;
  return tdt_error_set(error, TDT_ELAUNCH, "the driver is gone");
}

static void test_F23_a_device_that_cannot_tell(void **state) {
  rig *r = *state;
  r->table.capturing = cannot_tell;
  assert_string_equal(rig_fail(r, "k", TDT_EDEVICE), "the driver is gone");
  assert_untouched(r);
  r->table.capturing = NULL; /* never */
  assert_int_equal(rig_resolve(r, "k").origin, TDT_ORIGIN_TUNED);
}

static void test_F24_on_miss_first(void **state) {
  rig *r = *state;
  r->settings.on_miss = TDT_ON_MISS_FIRST;
  tdt_choice choice = rig_resolve(r, "k");
  assert_int_equal(choice.candidate, 0);
  assert_int_equal(choice.origin, TDT_ORIGIN_FIRST);
  assert_true(choice.remembered);
  assert_int_equal(r->n_warnings, 1);
  assert_untouched(r);
  choice = rig_resolve(r, "k");
  assert_int_equal(choice.candidate, 0);
  assert_int_equal(r->n_warnings, 0); /* once a key */
  assert_null(rig_record(r, "k"));
}

static void test_F24_on_miss_error(void **state) {
  rig *r = *state;
  r->settings.on_miss = TDT_ON_MISS_ERROR;
  const char *text = rig_fail(r, "(3, 'y')", TDT_EMISS);
  assert_contains(text, "scale");
  assert_contains(text, "(3, 'y')");
  assert_untouched(r);
}

static void test_F24_what_is_stored_is_used(void **state) {
  rig *r = *state;
  (void)rig_resolve(r, "k");
  for (int on_miss = TDT_ON_MISS_FIRST; on_miss <= TDT_ON_MISS_ERROR; on_miss++) {
    r->settings.on_miss = (tdt_on_miss)on_miss;
    rig_restart(r);
    assert_int_equal(rig_resolve(r, "k").origin, TDT_ORIGIN_STORED);
    assert_untouched(r);
  }
}

#define RIG_TEST(test) cmocka_unit_test_setup_teardown(test, rig_setup, rig_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      RIG_TEST(test_F23_case_G1_a_miss_while_capturing),
      RIG_TEST(test_F23_case_G1_a_hit_while_capturing),
      RIG_TEST(test_F23_a_device_that_cannot_tell),
      RIG_TEST(test_F24_on_miss_first),
      RIG_TEST(test_F24_on_miss_error),
      RIG_TEST(test_F24_what_is_stored_is_used),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
