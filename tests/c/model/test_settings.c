/* SPDX-License-Identifier: MIT */
#include "harness.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <tdtune/settings.h>

static const char *const variables[] = {
    "TRITON_DIST_AUTOTUNE_ALWAYS_TUNE",
    "TRITON_DIST_AUTOTUNE_VERSION_CHECK",
    "TRITON_DIST_AUTOTUNE_ON_MISS",
    "WORLD_SIZE",
    "OMPI_COMM_WORLD_SIZE",
    "PMI_SIZE",
    "SLURM_NTASKS",
    "LOCAL_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "MPI_LOCALNRANKS",
    "SLURM_NTASKS_PER_NODE",
    "TRITON_DIST_AUTOTUNE_COMPILE_WORKERS",
};

static int clear_environment(void **state) {
  (void)state;
  for (size_t i = 0; i < N_OF(variables); i++) {
    (void)unsetenv(variables[i]);
  }
  return 0;
}

static void assert_settings(bool always_tune, bool check, tdt_on_miss on_miss, double timeout_s) {
  tdt_settings settings = {0};
  assert_int_equal(tdt_settings_from_environment(&settings, NULL), TDT_OK);
  assert_int_equal(settings.size, sizeof settings);
  assert_int_equal(settings.always_tune, always_tune);
  assert_int_equal(settings.check_dependencies, check);
  assert_int_equal(settings.on_miss, on_miss);
  assert_true(settings.lock_timeout_s == timeout_s);
}

static void test_defaults_read_no_environment(void **state) {
  (void)state;
  for (size_t i = 0; i < N_OF(variables); i++) {
    (void)setenv(variables[i], i == 2 ? "error" : "1", 1);
  }
  (void)setenv("WORLD_SIZE", "8", 1);
  tdt_settings settings = tdt_settings_default();
  assert_int_equal(settings.size, sizeof settings);
  assert_false(settings.always_tune);
  assert_false(settings.check_dependencies);
  assert_int_equal(settings.on_miss, TDT_ON_MISS_TUNE);
  assert_true(settings.lock_timeout_s == 600.0);
}

static void test_unset_and_empty_are_the_defaults(void **state) {
  (void)state;
  assert_settings(false, false, TDT_ON_MISS_TUNE, 600.0);
  for (size_t i = 0; i < N_OF(variables); i++) {
    (void)setenv(variables[i], "", 1);
  }
  assert_settings(false, false, TDT_ON_MISS_TUNE, 600.0);
}

static void test_F17_F18_switches(void **state) {
  (void)state;
  (void)setenv("TRITON_DIST_AUTOTUNE_ALWAYS_TUNE", "1", 1);
  assert_settings(true, false, TDT_ON_MISS_TUNE, 600.0);
  (void)setenv("TRITON_DIST_AUTOTUNE_VERSION_CHECK", "1", 1);
  assert_settings(true, true, TDT_ON_MISS_TUNE, 600.0);
  (void)setenv("TRITON_DIST_AUTOTUNE_ALWAYS_TUNE", "0", 1);
  assert_settings(false, true, TDT_ON_MISS_TUNE, 600.0);
}

static void test_F24_what_happens_on_a_miss(void **state) {
  (void)state;
  (void)setenv("TRITON_DIST_AUTOTUNE_ON_MISS", "first", 1);
  assert_settings(false, false, TDT_ON_MISS_FIRST, 600.0);
  (void)setenv("TRITON_DIST_AUTOTUNE_ON_MISS", "error", 1);
  assert_settings(false, false, TDT_ON_MISS_ERROR, 600.0);
  (void)setenv("TRITON_DIST_AUTOTUNE_ON_MISS", "tune", 1);
  assert_settings(false, false, TDT_ON_MISS_TUNE, 600.0);
}

static unsigned read_workers(void) {
  tdt_settings settings = {0};
  assert_int_equal(tdt_settings_from_environment(&settings, NULL), TDT_OK);
  return settings.n_workers;
}

/* On this many cores from here on; false where there are too few. */
static bool use_cores(int n) {
  cpu_set_t all;
  cpu_set_t some;
  CPU_ZERO(&some);
  assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
  for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&some) < n; i++) {
    if (CPU_ISSET(i, &all)) {
      CPU_SET(i, &some);
    }
  }
  return CPU_COUNT(&some) == n && sched_setaffinity(0, sizeof some, &some) == 0;
}

static void test_B02_workers_follow_the_cores_of_the_process(void **state) {
  (void)state;
  cpu_set_t before;
  assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
  assert_int_equal(read_workers(), CPU_COUNT(&before));
  for (int n = 1; use_cores(n) && n < 8; n++) {
    assert_int_equal(read_workers(), n);
    assert_int_equal(tdt_settings_default().n_workers, n);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
  }
  assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

static void test_B02_ranks_of_a_machine_share_its_cores(void **state) {
  static const char *const sizes[] = {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE",
                                      "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE"};
  (void)state;
  const unsigned all = read_workers();
  for (size_t i = 0; i < N_OF(sizes); i++) {
    (void)setenv(sizes[i], "2", 1);
    assert_int_equal(read_workers(), all < 2 ? 1 : all / 2);
    (void)setenv(sizes[i], "1", 1);
    assert_int_equal(read_workers(), all);
    (void)setenv(sizes[i], "99999999", 1);
    assert_int_equal(read_workers(), 1);
    (void)setenv(sizes[i], "4(x2)", 1);
    assert_int_equal(read_workers(), all);
    (void)unsetenv(sizes[i]);
  }
}

static void test_B02_the_number_of_workers_may_be_given(void **state) {
  static const char *const wrong[] = {"0", "-1", "many", "2.5", "1 "};
  (void)state;
  (void)setenv("LOCAL_WORLD_SIZE", "8", 1);
  (void)setenv("TRITON_DIST_AUTOTUNE_COMPILE_WORKERS", "3", 1);
  assert_int_equal(read_workers(), 3);
  (void)setenv("TRITON_DIST_AUTOTUNE_COMPILE_WORKERS", "1", 1);
  assert_int_equal(read_workers(), 1);
  for (size_t i = 0; i < N_OF(wrong); i++) {
    tdt_settings settings = {.n_workers = 77};
    tdt_error error = TDT_ERROR_INIT;
    (void)setenv("TRITON_DIST_AUTOTUNE_COMPILE_WORKERS", wrong[i], 1);
    assert_int_equal(tdt_settings_from_environment(&settings, &error), TDT_EINVAL);
    assert_contains(tdt_error_text(&error), "TRITON_DIST_AUTOTUNE_COMPILE_WORKERS");
    assert_contains(tdt_error_text(&error), wrong[i]);
    assert_int_equal(settings.n_workers, 77);
    tdt_error_clear(&error);
  }
}

static void test_several_ranks_never_wait_for_files(void **state) {
  (void)state;
  static const struct {
    const char *value;
    double timeout_s;
  } cases[] = {{"2", 0.0},     {"4096", 0.0}, {"99999999999999999999", 0.0},
               {"1", 600.0},   {"0", 600.0},  {"-4", 600.0},
               {"many", 600.0}};
  for (size_t variable = 3; variable < 7; variable++) {
    for (size_t i = 0; i < N_OF(cases); i++) {
      (void)setenv(variables[variable], cases[i].value, 1);
      assert_settings(false, false, TDT_ON_MISS_TUNE, cases[i].timeout_s);
    }
    (void)unsetenv(variables[variable]);
  }
}

static void test_F17_F18_F24_bad_values_are_named(void **state) {
  (void)state;
  static const struct {
    const char *variable;
    const char *value;
    const char *allowed;
  } cases[] = {
      {"TRITON_DIST_AUTOTUNE_ALWAYS_TUNE", "yes", "0 or 1"},
      {"TRITON_DIST_AUTOTUNE_ALWAYS_TUNE", "2", "0 or 1"},
      {"TRITON_DIST_AUTOTUNE_ALWAYS_TUNE", "true", "0 or 1"},
      {"TRITON_DIST_AUTOTUNE_VERSION_CHECK", " ", "0 or 1"},
      {"TRITON_DIST_AUTOTUNE_VERSION_CHECK", "1\n", "0 or 1"},
      {"TRITON_DIST_AUTOTUNE_ON_MISS", "First", "tune, first or error"},
      {"TRITON_DIST_AUTOTUNE_ON_MISS", "0", "tune, first or error"},
      {"TRITON_DIST_AUTOTUNE_ON_MISS", "tune ", "tune, first or error"},
  };
  for (size_t i = 0; i < N_OF(cases); i++) {
    (void)clear_environment(NULL);
    (void)setenv(cases[i].variable, cases[i].value, 1);
    tdt_settings settings;
    memset(&settings, 0x5A, sizeof settings);
    tdt_settings before;
    memcpy(&before, &settings, sizeof before);
    tdt_error error = TDT_ERROR_INIT;
    assert_int_equal(tdt_settings_from_environment(&settings, &error), TDT_EINVAL);
    assert_memory_equal(&settings, &before, sizeof before);
    assert_contains(tdt_error_text(&error), cases[i].variable);
    assert_contains(tdt_error_text(&error), cases[i].value);
    assert_contains(tdt_error_text(&error), cases[i].allowed);
    tdt_error_clear(&error);
    assert_int_equal(tdt_settings_from_environment(&settings, NULL), TDT_EINVAL);
  }
}

#define in_clear(test) cmocka_unit_test_setup_teardown(test, clear_environment, clear_environment)

int main(void) {
  const struct CMUnitTest tests[] = {
      in_clear(test_defaults_read_no_environment),
      in_clear(test_unset_and_empty_are_the_defaults),
      in_clear(test_F17_F18_switches),
      in_clear(test_F24_what_happens_on_a_miss),
      in_clear(test_B02_workers_follow_the_cores_of_the_process),
      in_clear(test_B02_ranks_of_a_machine_share_its_cores),
      in_clear(test_B02_the_number_of_workers_may_be_given),
      in_clear(test_several_ranks_never_wait_for_files),
      in_clear(test_F17_F18_F24_bad_values_are_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
