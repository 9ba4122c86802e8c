/* SPDX-License-Identifier: MIT */
#include "harness.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"

static void test_names_are_those_of_the_documents(void **state) {
  (void)state;
  static const struct {
    tdt__env variable;
    const char *name;
  } names[] = {
      {TDT__ENV_ALWAYS_TUNE, "TRITON_DIST_AUTOTUNE_ALWAYS_TUNE"},
      {TDT__ENV_VERSION_CHECK, "TRITON_DIST_AUTOTUNE_VERSION_CHECK"},
      {TDT__ENV_ON_MISS, "TRITON_DIST_AUTOTUNE_ON_MISS"},
      {TDT__ENV_DIR, "TRITON_DIST_AUTOTUNE_DIR"},
      {TDT__ENV_HOME, "HOME"},
      {TDT__ENV_TMPDIR, "TMPDIR"},
      {TDT__ENV_WORLD_SIZE, "WORLD_SIZE"},
      {TDT__ENV_OMPI_WORLD_SIZE, "OMPI_COMM_WORLD_SIZE"},
      {TDT__ENV_PMI_SIZE, "PMI_SIZE"},
      {TDT__ENV_SLURM_NTASKS, "SLURM_NTASKS"},
  };
  for (size_t i = 0; i < N_OF(names); i++) {
    assert_string_equal(tdt__env_name(names[i].variable), names[i].name);
    char value[32];
    (void)snprintf(value, sizeof value, "value %zu", i);
    assert_int_equal(setenv(names[i].name, value, 1), 0);
    assert_string_equal(tdt__env_value(names[i].variable), value);
    assert_int_equal(setenv(names[i].name, "", 1), 0);
    assert_null(tdt__env_value(names[i].variable));
    assert_int_equal(unsetenv(names[i].name), 0);
    assert_null(tdt__env_value(names[i].variable));
  }
}

static void test_switch_is_0_or_1(void **state) {
  (void)state;
  static const char *const refused[] = {"2", "yes", "true", " 1", "1 ", "01", "-1", "on"};
  const char *name = tdt__env_name(TDT__ENV_ALWAYS_TUNE);
  tdt_error error = TDT_ERROR_INIT;
  for (int before = 0; before <= 1; before++) {
    bool on = before != 0;
    (void)unsetenv(name);
    assert_int_equal(tdt__env_switch(TDT__ENV_ALWAYS_TUNE, &on, &error), TDT_OK);
    assert_int_equal(on, before);
    (void)setenv(name, "", 1);
    assert_int_equal(tdt__env_switch(TDT__ENV_ALWAYS_TUNE, &on, &error), TDT_OK);
    assert_int_equal(on, before);
    for (size_t i = 0; i < N_OF(refused); i++) {
      (void)setenv(name, refused[i], 1);
      assert_int_equal(tdt__env_switch(TDT__ENV_ALWAYS_TUNE, &on, &error), TDT_EINVAL);
      assert_int_equal(on, before);
      assert_contains(tdt_error_text(&error), name);
      assert_contains(tdt_error_text(&error), refused[i]);
      assert_contains(tdt_error_text(&error), "0 or 1");
    }
    (void)setenv(name, before != 0 ? "0" : "1", 1);
    assert_int_equal(tdt__env_switch(TDT__ENV_ALWAYS_TUNE, &on, &error), TDT_OK);
    assert_int_equal(on, !before);
  }
  (void)unsetenv(name);
  tdt_error_clear(&error);
}

static void test_count_is_a_whole_number(void **state) {
  (void)state;
  static const struct {
    const char *value;
    long count;
  } cases[] = {
      {"", -7},      {"0", 0},
      {"1", 1},      {"016", 16},
      {"8(x2)", -7}, {"-3", -7},
      {"+3", -7},    {" 3", -7},
      {"3 ", -7},    {"3.0", -7},
      {"0x4", -7},   {"x", -7},
      {"1e3", -7},   {"99999999999999999999999", LONG_MAX},
  };
  const char *name = tdt__env_name(TDT__ENV_WORLD_SIZE);
  (void)unsetenv(name);
  assert_int_equal(tdt__env_count(TDT__ENV_WORLD_SIZE, -7), -7);
  for (size_t i = 0; i < N_OF(cases); i++) {
    (void)setenv(name, cases[i].value, 1);
    if (tdt__env_count(TDT__ENV_WORLD_SIZE, -7) != cases[i].count) {
      fail_msg("\"%s\" is %ld", cases[i].value, tdt__env_count(TDT__ENV_WORLD_SIZE, -7));
    }
  }
  (void)unsetenv(name);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names_are_those_of_the_documents),
      cmocka_unit_test(test_switch_is_0_or_1),
      cmocka_unit_test(test_count_is_a_whole_number),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
