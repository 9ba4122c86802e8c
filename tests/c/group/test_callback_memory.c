/* SPDX-License-Identifier: MIT */
#include "board.h"
#include "harness.h"
#include "memory.h"

#include <stdlib.h>

#include "group/message.h"

enum { MIB = 1 << 20, MOST_ALLOCATIONS = 200 };

static const char large[2 * MIB] = {'a', 'b'};

/* One call, with everything before it done; what it returns. */
typedef tdt_status (*step)(board_world *world, tdt_error *error);

static tdt_status renew(board_world *world, tdt_error *error) {
  const tdt_group_callbacks callbacks = board_callbacks(world->at, 0);
  tdt_group made = {0};
  const tdt_status status = tdt_group_callback_create(&callbacks, 0, world->n, NULL,
                                                      world->groups[0].rounds, &made, error);
  tdt_group_callback_destroy(&made);
  return status;
}

static tdt_status make_rounds(board_world *world, tdt_error *error) {
  (void)world;
  tdt_group_rounds *rounds = NULL;
  const tdt_status status = tdt_group_rounds_create(&rounds, error);
  tdt_group_rounds_destroy(rounds);
  return status;
}

static tdt_status post_large(board_world *world, tdt_error *error) {
  const tdt_group *one = &world->groups[1];
  return one->table->post(one->self, 1, large, sizeof large, error);
}

static tdt_status take_large(board_world *world, tdt_error *error) {
  const tdt_group *zero = &world->groups[0];
  tdt_message message = {0};
  const tdt_status status = zero->table->take(zero->self, 1, 1, 0.0, &message, error);
  /* Nothing has come where it failed; all of it where not. */
  assert_true((status == TDT_OK) == (message.bytes != NULL));
  if (message.bytes != NULL) {
    assert_int_equal(message.size, sizeof large);
    assert_memory_equal(message.bytes, large, sizeof large);
  }
  tdt__message_clear(&message);
  return status;
}

static tdt_status answer(board_world *world, tdt_error *error) {
  const tdt_group *zero = &world->groups[0];
  return zero->table->post(zero->self, 1, "answer", 6, error);
}

static tdt_status start_max(board_world *world, tdt_error *error) {
  const tdt_group *one = &world->groups[1];
  const double values[2] = {1.0, 2.0};
  return one->table->start_max(one->self, values, 2, error);
}

static tdt_status start_zero(board_world *world, tdt_error *error) {
  const tdt_group *zero = &world->groups[0];
  const double values[2] = {2.0, 1.0};
  return zero->table->start_max(zero->self, values, 2, error);
}

static tdt_status end_of(const tdt_group *group, tdt_error *error) {
  double values[2] = {0.0, 0.0};
  bool done = false;
  const tdt_status status = group->table->wait_max(group->self, 0.0, values, &done, error);
  assert_true(done == (status == TDT_OK));
  assert_true(values[0] == (done ? 2.0 : 0.0));
  assert_true(values[1] == (done ? 2.0 : 0.0));
  return status;
}

static tdt_status end_zero(board_world *world, tdt_error *error) {
  return end_of(&world->groups[0], error);
}

static tdt_status end_one(board_world *world, tdt_error *error) {
  return end_of(&world->groups[1], error);
}

/* In a life of two ranks; those marked may be called again after they failed. */
static const struct {
  step run;
  bool again;
} life[] = {
    {make_rounds, true}, {renew, true},     {post_large, false},
    {take_large, true},  {answer, false},   {start_zero, true},
    {start_max, false},  {end_zero, false}, {end_one, false},
};

/* Memory ends at allocation `at` of step `last`; false: the step needs fewer. */
static bool run_out(size_t last, long at, bool from_then_on) {
  board_world world;
  assert_true(board_world_open(&world, 2));
  for (size_t i = 0; i < last; i++) {
    assert_int_equal(life[i].run(&world, NULL), TDT_OK);
  }
  tdt_error error = TDT_ERROR_INIT;
  memory_arm(at, from_then_on);
  const tdt_status status = life[last].run(&world, &error);
  const bool reached = memory_disarm();
  assert_int_equal(status, reached ? TDT_ENOMEM : TDT_OK);
  if (reached && life[last].again) {
    assert_int_equal(life[last].run(&world, NULL), TDT_OK);
  }
  tdt_error_clear(&error);
  board_world_close(&world);
  return reached;
}

static void test_out_of_memory_anywhere(void **state) {
  (void)state;
  size_t n_reached = 0;
  const long before = memory_live();
  for (size_t last = 0; last < N_OF(life); last++) {
    for (unsigned from_then_on = 0; from_then_on < 2; from_then_on++) {
      long at = 1;
      for (; run_out(last, at, from_then_on == 1); at++) {
        n_reached++;
        assert_int_equal(memory_live(), before);
      }
      assert_true(at > 1); /* each step needs some */
    }
  }
  assert_in_range(n_reached, 2 * N_OF(life), 2 * MOST_ALLOCATIONS);
  assert_int_equal(memory_live(), before);
}

/* A message that never came whole is not kept for ever. */
static void test_beginnings_are_let_go_with_their_round(void **state) {
  (void)state;
  board_world world;
  assert_true(board_world_open(&world, 2));
  const tdt_group *zero = &world.groups[0];
  board_fail(world.at, 1, BOARD_PUT, 2, TDT_EGROUP, NULL);
  assert_int_equal(post_large(&world, NULL), TDT_EGROUP);
  const long before = memory_live();
  tdt_message message = {0};
  assert_int_equal(zero->table->take(zero->self, 1, 1, 0.0, &message, NULL), TDT_OK);
  assert_null(message.bytes);
  assert_true(memory_live() > before);
  board_fail(world.at, 0, BOARD_PUT, 1, TDT_EGROUP, NULL);
  assert_int_equal(answer(&world, NULL), TDT_EGROUP);
  assert_int_equal(memory_live(), before);
  board_world_close(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_out_of_memory_anywhere),
      cmocka_unit_test(test_beginnings_are_let_go_with_their_round),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
