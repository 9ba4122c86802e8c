/* SPDX-License-Identifier: MIT */
/* The reduction, where a rank does not begin it, or does not see its end. */
#include <stdio.h>

#include "crew.h"

#include "group/greatest.h"
#include "group/round.h"
#include "group/rounds.h"

enum { N_RANKS = 3 };

static unsigned guilty;

/* -- a group whose reductions fail ---------------------------------------------------------------
 */

/* The group of a rank, in whose place it stands. */
typedef struct proxy {
  const tdt_group *inner;
  bool fails_to_begin;
  bool fails_to_end;
  bool never_ends;
  bool stops;
} proxy;

static tdt_status post(void *self, uint64_t round, const void *bytes, size_t size,
                       tdt_error *error) {
  const proxy *me = self;
  return me->inner->table->post(me->inner->self, round, bytes, size, error);
}

static tdt_status take(void *self, uint64_t round, unsigned from, double slice_s,
                       tdt_message *message, tdt_error *error) {
  const proxy *me = self;
  return me->inner->table->take(me->inner->self, round, from, slice_s, message, error);
}

static tdt_status start_max(void *self, const double *values, size_t n_values, tdt_error *error) {
  const proxy *me = self;
  if (me->fails_to_begin) {
    return tdt_error_set(error, TDT_EGROUP, "no beginning");
  }
  return me->inner->table->start_max(me->inner->self, values, n_values, error);
}

static tdt_status wait_max(void *self, double slice_s, double *values, bool *done,
                           tdt_error *error) {
  const proxy *me = self;
  if (me->fails_to_end) {
    return tdt_error_set(error, TDT_EGROUP, "no end");
  }
  if (me->stops) {
    return tdt_error_set(error, TDT_ESTOPPED, "enough");
  }
  if (me->never_ends) {
    return TDT_OK;
  }
  return me->inner->table->wait_max(me->inner->self, slice_s, values, done, error);
}

static const tdt_group_table table = {
    TDT_GROUP_ABI, sizeof table, "proxy", post, take, start_max, wait_max,
};

static tdt_group stand_in(proxy *me, const tdt_group *inner) {
  *me = (proxy){.inner = inner};
  tdt_group group = *inner;
  group.table = &table;
  group.self = me;
  return group;
}

/* -- what ranks do -------------------------------------------------------------------------------
 */

static void begin(tdt__talk *talk, const tdt_group *group) {
  (void)tdt__rounds_enter(group->rounds, 0.0);
  tdt__talk_begin(talk, group);
  talk->who = "f, key k";
  talk->timeout_s = 1.0;
}

/* As in a tuning: a rank that failed leaves. */
static void end(tdt__talk *talk, tdt_status status, const tdt_error *error) {
  if (status != TDT_OK) {
    tdt__talk_leave(talk, tdt_error_text(error));
  }
  tdt__rounds_leave(talk->group->rounds);
}

/* The round before, the reduction, and the round after it. */
static tdt_status reduce(const tdt_group *group, double *value, tdt_error *error) {
  tdt__talk talk;
  char begun[TDT__REDUCTIONS_SIZE];
  begin(&talk, group);
  const tdt__fact fact = tdt__greatest_fact(&talk, begun);
  const tdt__round before = {.what = "before", .facts = {&fact, 1}};
  const tdt__round after = {.what = "after"};
  tdt_status status = tdt__round_hold(&talk, &before, NULL, error);
  if (status == TDT_OK) {
    status = tdt__greatest_find(&talk, "the greatest", value, 1, error);
  }
  if (status == TDT_OK) {
    status = tdt__round_hold(&talk, &after, NULL, error);
  }
  end(&talk, status, error);
  return status;
}

static bool says(crew_member *me, const char *part) {
  const bool found = strstr(tdt_error_text(&me->error), part) != NULL;
  if (!found) {
    print_error("rank %u: %s\n", me->rank, tdt_error_text(&me->error));
  }
  tdt_error_clear(&me->error);
  return found;
}

static void run(bool (*act)(crew_member *me)) {
  for (guilty = 0; guilty < N_RANKS; guilty++) {
    board_world world;
    assert_true(board_world_open(&world, N_RANKS));
    crew_run(&world, act);
    board_world_close(&world);
  }
}

/* -- tests ---------------------------------------------------------------------------------------
 */

static bool reduce_twice(crew_member *me) {
  for (int i = 0; i < 2; i++) {
    double value = me->rank;
    EXPECT(me, reduce(me->group, &value, &me->error) == TDT_OK);
    EXPECT(me, value == N_RANKS - 1);
  }
  return true;
}

static void test_R01_the_greatest_is_found(void **state) {
  (void)state;
  run(reduce_twice);
}

static bool fail_to_begin(crew_member *me) {
  proxy own;
  char text[64];
  double value = 1.0;
  const tdt_group group = stand_in(&own, me->group);
  own.fails_to_begin = me->rank == guilty;
  EXPECT(me, reduce(&group, &value, &me->error) == TDT_EGROUP);
  (void)snprintf(text, sizeof text, "rank %u gave up at f, key k", guilty);
  EXPECT(me, says(me, me->rank == guilty ? "the greatest: no beginning" : text));
  /* Nobody begins one alone. */
  own.fails_to_begin = false;
  EXPECT(me, reduce(&group, &value, &me->error) == TDT_EGROUP);
  (void)snprintf(text, sizeof text, "0, the last one lost on rank %u", guilty);
  EXPECT(me, says(me, text));
  return true;
}

static void test_R05_a_rank_that_does_not_begin_is_named_at_once(void **state) {
  (void)state;
  run(fail_to_begin);
}

static bool stay_away(crew_member *me) {
  char text[64];
  double value = 1.0;
  if (me->rank == guilty) {
    tdt__talk talk;
    char begun[TDT__REDUCTIONS_SIZE];
    begin(&talk, me->group);
    const tdt__fact fact = tdt__greatest_fact(&talk, begun);
    const tdt__round before = {.what = "before", .facts = {&fact, 1}};
    const tdt_status status = tdt__round_hold(&talk, &before, NULL, &me->error);
    end(&talk, TDT_OK, NULL);
    EXPECT(me, status == TDT_OK);
    return true; /* as if it were killed */
  }
  EXPECT(me, reduce(me->group, &value, &me->error) == TDT_EGROUP);
  (void)snprintf(text, sizeof text, "in vain for rank %u; ", guilty);
  EXPECT(me, says(me, text));
  return true;
}

static void test_R05_a_rank_that_died_before_it_began_is_named(void **state) {
  (void)state;
  run(stay_away);
}

/* One sees the failure at once, the others only by their deadline. */
static bool lose_the_end(crew_member *me) {
  proxy own;
  double value = 1.0;
  const tdt_group group = stand_in(&own, me->group);
  own.fails_to_end = me->rank == guilty;
  own.never_ends = me->rank != guilty;
  EXPECT(me, reduce(&group, &value, &me->error) == TDT_EGROUP);
  EXPECT(me, says(me, me->rank == guilty ? "f, key k: the greatest: no end"
                                         : "f, key k: the greatest: waited 1 s in vain"));
  own = (proxy){.inner = me->group};
  EXPECT(me, reduce(&group, &value, &me->error) == TDT_EGROUP);
  EXPECT(me, says(me, "1, the last one lost"));
  return true;
}

static void test_R05_a_lost_reduction_ends_it_for_all(void **state) {
  (void)state;
  run(lose_the_end);
}

/* Where all began, and only some waited too short, the next one goes well. */
static bool come_late(crew_member *me) {
  proxy own;
  double value = me->rank;
  const tdt_group group = stand_in(&own, me->group);
  own.never_ends = true;
  EXPECT(me, reduce(&group, &value, &me->error) == TDT_EGROUP);
  EXPECT(me, says(me, "waited 1 s in vain"));
  own.never_ends = false;
  EXPECT(me, reduce(&group, &value, &me->error) == TDT_OK);
  EXPECT(me, value == N_RANKS - 1);
  return true;
}

static void test_R05_a_reduction_that_all_began_may_end_later(void **state) {
  (void)state;
  run(come_late);
}

/* A stop that comes as a rank looks after the former one does not make that a lost one. */
static bool stop_as_it_looks_back(crew_member *me) {
  proxy own;
  double value = me->rank;
  const tdt_group group = stand_in(&own, me->group);
  own.never_ends = true;
  EXPECT(me, reduce(&group, &value, &me->error) == TDT_EGROUP);
  tdt_error_clear(&me->error);
  own.never_ends = false;
  own.stops = me->rank == guilty;
  EXPECT(me, reduce(&group, &value, &me->error) == TDT_EGROUP);
  /* Without rank 0, which gathers, no rank sees the end. */
  EXPECT(me, says(me, guilty == 0 ? "never finished" : "1, the last one not finished"));
  own.stops = false;
  EXPECT(me, reduce(&group, &value, &me->error) == TDT_OK);
  EXPECT(me, value == N_RANKS - 1);
  return true;
}

static void test_R04_a_stop_loses_no_reduction(void **state) {
  (void)state;
  run(stop_as_it_looks_back);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_R01_the_greatest_is_found),
      cmocka_unit_test(test_R05_a_rank_that_does_not_begin_is_named_at_once),
      cmocka_unit_test(test_R05_a_rank_that_died_before_it_began_is_named),
      cmocka_unit_test(test_R05_a_lost_reduction_ends_it_for_all),
      cmocka_unit_test(test_R05_a_reduction_that_all_began_may_end_later),
      cmocka_unit_test(test_R04_a_stop_loses_no_reduction),
  };
  return cmocka_run_group_tests_name("group-greatest", tests, NULL, NULL);
}
