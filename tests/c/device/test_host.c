/* SPDX-License-Identifier: MIT */
/* The host's clock as a device. */
#include <string.h>
#include <time.h>

#include "harness.h"

#include <tdtune/device.h>

static void pass_ms(long ms) {
  const struct timespec span = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
  assert_int_equal(nanosleep(&span, NULL), 0);
}

static void test_the_table_is_complete_and_of_this_version(void **state) {
  (void)state;
  tdt_device device;
  assert_int_equal(tdt_device_host_create(&device, NULL), TDT_OK);
  assert_int_equal(device.table->abi, TDT_DEVICE_ABI);
  assert_int_equal(device.table->size, sizeof(tdt_device_table));
  assert_string_equal(device.clock, "host");
  assert_string_equal(device.id, "host");
  assert_int_equal(device.table->synchronize(device.self, NULL), TDT_OK);
  assert_null(device.table->capturing); /* a host records no graph */
  tdt_device_host_destroy(&device);
  assert_null(device.self);
}

static void test_time_between_marks(void **state) {
  (void)state;
  tdt_device device;
  double short_ms, long_ms, none_ms;
  assert_int_equal(tdt_device_host_create(&device, NULL), TDT_OK);
  assert_int_equal(device.table->reserve(device.self, 3, NULL), TDT_OK);
  assert_int_equal(device.table->mark(device.self, 0, NULL), TDT_OK);
  pass_ms(2);
  assert_int_equal(device.table->mark(device.self, 1, NULL), TDT_OK);
  pass_ms(3);
  assert_int_equal(device.table->mark(device.self, 2, NULL), TDT_OK);
  assert_int_equal(device.table->elapsed_ms(device.self, 0, 1, &short_ms, NULL), TDT_OK);
  assert_int_equal(device.table->elapsed_ms(device.self, 0, 2, &long_ms, NULL), TDT_OK);
  assert_int_equal(device.table->elapsed_ms(device.self, 1, 1, &none_ms, NULL), TDT_OK);
  assert_true(short_ms >= 2.0); /* a sleep is never shorter than asked for */
  assert_true(long_ms >= short_ms + 3.0);
  assert_true(none_ms == 0.0);
  tdt_device_host_destroy(&device);
}

static void test_a_mark_can_be_moved_and_outlives_more_marks(void **state) {
  (void)state;
  tdt_device device;
  double before_ms, after_ms;
  assert_int_equal(tdt_device_host_create(&device, NULL), TDT_OK);
  assert_int_equal(device.table->reserve(device.self, 2, NULL), TDT_OK);
  assert_int_equal(device.table->mark(device.self, 0, NULL), TDT_OK);
  pass_ms(1);
  assert_int_equal(device.table->mark(device.self, 1, NULL), TDT_OK);
  assert_int_equal(device.table->elapsed_ms(device.self, 0, 1, &before_ms, NULL), TDT_OK);
  assert_int_equal(device.table->reserve(device.self, 1000, NULL), TDT_OK);
  assert_int_equal(device.table->elapsed_ms(device.self, 0, 1, &after_ms, NULL), TDT_OK);
  assert_true(before_ms == after_ms);
  assert_int_equal(device.table->reserve(device.self, 1, NULL), TDT_OK); /* never takes away */
  assert_int_equal(device.table->mark(device.self, 999, NULL), TDT_OK);
  pass_ms(1);
  assert_int_equal(device.table->mark(device.self, 1, NULL), TDT_OK);
  assert_int_equal(device.table->elapsed_ms(device.self, 0, 1, &after_ms, NULL), TDT_OK);
  assert_true(after_ms > before_ms);
  tdt_device_host_destroy(&device);
}

static void test_marks_that_are_not_reserved(void **state) {
  (void)state;
  tdt_device device;
  tdt_error error = TDT_ERROR_INIT;
  double ms = -1.0;
  assert_int_equal(tdt_device_host_create(&device, NULL), TDT_OK);
  assert_int_equal(device.table->mark(device.self, 0, &error), TDT_EINVAL);
  assert_int_equal(device.table->reserve(device.self, 2, NULL), TDT_OK);
  assert_int_equal(device.table->mark(device.self, 2, &error), TDT_EINVAL);
  assert_contains(tdt_error_text(&error), "mark 2");
  assert_int_equal(device.table->elapsed_ms(device.self, 0, 2, &ms, &error), TDT_EINVAL);
  assert_int_equal(device.table->elapsed_ms(device.self, 7, 1, &ms, &error), TDT_EINVAL);
  assert_contains(tdt_error_text(&error), "mark 7");
  assert_true(ms == -1.0); /* outputs on success only */
  assert_int_equal(device.table->reserve(device.self, SIZE_MAX, &error), TDT_ENOMEM);
  assert_int_equal(device.table->mark(device.self, 1, NULL), TDT_OK);
  tdt_error_clear(&error);
  tdt_device_host_destroy(&device);
  tdt_device_host_destroy(&device); /* twice, or none at all, is allowed */
  tdt_device_host_destroy(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_table_is_complete_and_of_this_version),
      cmocka_unit_test(test_time_between_marks),
      cmocka_unit_test(test_a_mark_can_be_moved_and_outlives_more_marks),
      cmocka_unit_test(test_marks_that_are_not_reserved),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
