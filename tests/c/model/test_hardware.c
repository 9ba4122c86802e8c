/* SPDX-License-Identifier: MIT */
#include "harness.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include <jansson.h>

#include <tdtune/identity.h>

#include "model/hardware.h"

/* What /proc/cpuinfo looks like on different machines, shortened. */
static const struct {
  const char *cpuinfo;
  const char *model;
} machines[] = {
    {"processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\n"
     "model name\t: Intel(R) Xeon(R) Platinum 8480C\n\nprocessor\t: 1\n"
     "model name\t: another one\n",
     "Intel(R) Xeon(R) Platinum 8480C"},
    {"processor\t: 0\nBogoMIPS\t: 200.00\nCPU implementer\t: 0x48\nCPU architecture: 8\n"
     "CPU part\t: 0xd01\n",
     "implementer 0x48 part 0xd01"},
    {"processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xc07\n\nHardware\t: BCM2835\n",
     "BCM2835"},
    {"processor\t: 0\ncpu\t\t: POWER9, altivec supported\n", "POWER9, altivec supported"},
    {"processor\t: 0\nisa\t\t: rv64imafdc\nuarch\t\t: sifive,u74-mc\n", "sifive,u74-mc"},
    {"model name\t:\nmodel name : second\r\n", "second"},
    {"no colon here\nmodel name", ""},
    {":::\n: value\n\n", ""},
    {"", ""},
};

static void test_processor_names_of_different_machines(void **state) {
  (void)state;
  for (size_t i = 0; i < N_OF(machines); i++) {
    char content[512];
    (void)snprintf(content, sizeof content, "%s", machines[i].cpuinfo);
    FILE *cpuinfo = fmemopen(content, strlen(content) + 1, "r");
    assert_non_null(cpuinfo);
    char model[300] = "untouched";
    tdt__cpu_model(cpuinfo, model, sizeof model);
    assert_string_equal(model, machines[i].model);
    (void)fclose(cpuinfo);
  }
}

static void test_processor_name_may_be_endless(void **state) {
  (void)state;
  char content[9000];
  memset(content, 'x', sizeof content);
  memcpy(content, "model name : ", 13);
  FILE *cpuinfo = fmemopen(content, sizeof content, "r");
  char model[300];
  tdt__cpu_model(cpuinfo, model, sizeof model);
  assert_in_range(strlen(model), 1, sizeof model - 1);
  (void)fclose(cpuinfo);
}

static void test_host_hardware_tells_device_arch_and_cores(void **state) {
  (void)state;
  char *text = NULL;
  assert_int_equal(tdt_host_hardware(&text, NULL), TDT_OK);
  json_t *facts = json_loads(text, 0, NULL);
  assert_non_null(facts);
  assert_int_equal(json_object_size(facts), 3);
  assert_true(json_string_length(json_object_get(facts, "device")) > 0);

  struct utsname system;
  assert_int_equal(uname(&system), 0);
  assert_string_equal(json_string_value(json_object_get(facts, "arch")), system.machine);
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    assert_int_equal(json_integer_value(json_object_get(facts, "cores")), CPU_COUNT(&set));
  }
  json_decref(facts);
  tdt_text_free(text);
  tdt_text_free(NULL);
}

static void test_host_hardware_counts_only_the_cores_allowed(void **state) {
  (void)state;
  cpu_set_t before;
  if (sched_getaffinity(0, sizeof before, &before) != 0) {
    skip();
  }
  int one = 0;
  while (!CPU_ISSET(one, &before)) {
    one++;
  }
  cpu_set_t single;
  CPU_ZERO(&single);
  CPU_SET(one, &single);
  assert_int_equal(sched_setaffinity(0, sizeof single, &single), 0);
  char *text = NULL;
  tdt_status status = tdt_host_hardware(&text, NULL);
  assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
  assert_int_equal(status, TDT_OK);
  assert_contains(text, "\"cores\":1,");
  tdt_text_free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_processor_names_of_different_machines),
      cmocka_unit_test(test_processor_name_may_be_endless),
      cmocka_unit_test(test_host_hardware_tells_device_arch_and_cores),
      cmocka_unit_test(test_host_hardware_counts_only_the_cores_allowed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
