/* SPDX-License-Identifier: MIT */
#include "harness.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

static void test_clock_never_goes_back(void **state) {
  (void)state;
  uint64_t last = tdt__clock_ns();
  for (int i = 0; i < 10000; i++) {
    uint64_t now = tdt__clock_ns();
    assert_true(now >= last);
    last = now;
  }
}

/* Compares the form with `form`, in which "9" stands for any digit. */
static void assert_form(const char *text, const char *form) {
  assert_int_equal(strlen(text), strlen(form));
  for (size_t i = 0; form[i] != '\0'; i++) {
    if (form[i] == '9') {
      assert_in_range(text[i], '0', '9');
    } else {
      assert_int_equal(text[i], form[i]);
    }
  }
}

static void test_dates_have_their_form(void **state) {
  (void)state;
  char date[TDT__DATE_SIZE];
  char stamp[TDT__DATE_SIZE];
  tdt__clock_date(date);
  assert_form(date, "9999-99-99T99:99:99Z");
  tdt__clock_stamp(stamp);
  assert_form(stamp, "99999999T999999.999999Z");
}

static void test_date_is_now_in_utc(void **state) {
  (void)state;
  char date[TDT__DATE_SIZE];
  time_t before = time(NULL);
  tdt__clock_date(date);
  time_t after = time(NULL);

  struct tm parts = {0};
  assert_non_null(strptime(date, "%Y-%m-%dT%H:%M:%SZ", &parts));
  time_t told = timegm(&parts);
  assert_true(told >= before - 1 && told <= after + 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_clock_never_goes_back),
      cmocka_unit_test(test_dates_have_their_form),
      cmocka_unit_test(test_date_is_now_in_utc),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
