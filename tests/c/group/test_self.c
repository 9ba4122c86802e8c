/* SPDX-License-Identifier: MIT */
#include "harness.h"

#include <tdtune/group.h>

static void test_a_process_alone(void **state) {
  (void)state;
  const double expected[3] = {3.0, 1.0, 2.0};
  double values[3] = {3.0, 1.0, 2.0};
  tdt_group group = tdt_group_self();
  assert_int_equal(group.rank, 0);
  assert_int_equal(group.n_ranks, 1);
  assert_int_equal(group.table->abi, TDT_GROUP_ABI);
  assert_int_equal(group.table->size, sizeof(tdt_group_table));
  bool done = false;
  assert_int_equal(group.table->start_max(group.self, values, 3, NULL), TDT_OK);
  assert_int_equal(group.table->wait_max(group.self, 0.0, values, &done, NULL), TDT_OK);
  assert_true(done);
  assert_memory_equal(values, expected, sizeof values);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_process_alone)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
