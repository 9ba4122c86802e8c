/* SPDX-License-Identifier: MIT */
/* How a rank leaves a talk, and that the counts of rounds stay the same on all ranks. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "crew.h"

#include "group/note.h"
#include "group/round.h"
#include "group/rounds.h"

static void begin(tdt__talk *talk, const tdt_group *group) {
  (void)tdt__rounds_enter(group->rounds, 0.0);
  tdt__talk_begin(talk, group);
  talk->who = "f, key k";
  talk->timeout_s = 60.0;
}

static void end(const tdt__talk *talk) {
  tdt__rounds_leave(talk->group->rounds);
}

static tdt_status meet(tdt__talk *talk, tdt_error *error) {
  const tdt__round round = {.what = "meeting"};
  return tdt__round_hold(talk, &round, NULL, error);
}

/* A talk of one round goes well: all are in step. */
static bool meet_once(crew_member *me) {
  tdt__talk talk;
  begin(&talk, me->group);
  const tdt_status status = meet(&talk, &me->error);
  end(&talk);
  EXPECT(me, status == TDT_OK);
  return true;
}

static unsigned leaver;

/* The others end with the note; who left ends as well. */
static bool leave_after_a_meeting(crew_member *me) {
  tdt__talk talk;
  char text[64];
  begin(&talk, me->group);
  EXPECT(me, meet(&talk, &me->error) == TDT_OK);
  if (me->rank == leaver) {
    tdt__talk_leave(&talk, "enough");
    tdt__talk_leave(&talk, "once is enough");
  } else {
    (void)snprintf(text, sizeof text, "rank %u gave up at f, key k: enough", leaver);
    EXPECT(me, meet(&talk, &me->error) == TDT_EGROUP);
    EXPECT(me, strcmp(tdt_error_text(&me->error), text) == 0);
    tdt__talk_leave(&talk, "all know");
  }
  EXPECT(me, talk.over);
  tdt_error_clear(&me->error);
  end(&talk);
  return meet_once(me);
}

static void test_R04_a_rank_leaves(void **state) {
  (void)state;
  for (leaver = 0; leaver < 3; leaver++) {
    board_world world;
    assert_true(board_world_open(&world, 3));
    crew_run(&world, leave_after_a_meeting);
    board_world_close(&world);
  }
}

/* All leave at once, each for a reason of its own. */
static bool all_leave(crew_member *me) {
  tdt__talk talk;
  begin(&talk, me->group);
  EXPECT(me, meet(&talk, &me->error) == TDT_OK);
  tdt__talk_leave(&talk, "enough");
  end(&talk);
  return meet_once(me);
}

static void test_all_ranks_leave(void **state) {
  board_world world;
  (void)state;
  assert_true(board_world_open(&world, 4));
  crew_run(&world, all_leave);
  board_world_close(&world);
}

/* Whoever leaves after the last round of a tuning that went well for the others does not end their
 * next one. */
static bool leave_after_the_end(crew_member *me) {
  tdt__talk talk;
  begin(&talk, me->group);
  EXPECT(me, meet(&talk, &me->error) == TDT_OK);
  if (me->rank == leaver) {
    tdt__talk_leave(&talk, "no memory to remember it");
  }
  end(&talk);
  EXPECT(me, meet_once(me));
  return meet_once(me);
}

static void test_a_note_about_an_earlier_tuning_is_skipped(void **state) {
  (void)state;
  for (leaver = 0; leaver < 3; leaver++) {
    board_world world;
    assert_true(board_world_open(&world, 3));
    crew_run(&world, leave_after_the_end);
    board_world_close(&world);
  }
}

/* A talk inside of another: its failure ends both, with one note. */
static bool leave_an_inner_talk(crew_member *me) {
  tdt__talk outer;
  tdt__talk inner;
  begin(&outer, me->group);
  EXPECT(me, meet(&outer, &me->error) == TDT_OK);
  begin(&inner, me->group);
  if (me->rank == leaver) {
    tdt__talk_leave(&inner, "enough");
  } else {
    EXPECT(me, meet(&inner, &me->error) == TDT_EGROUP);
    tdt_error_clear(&me->error);
  }
  end(&inner);
  if (me->rank == leaver) {
    tdt__talk_leave(&outer, "enough");
  } else {
    EXPECT(me, meet(&outer, &me->error) == TDT_EGROUP);
    EXPECT(me, strstr(tdt_error_text(&me->error), "inside of this one") != NULL);
    tdt_error_clear(&me->error);
  }
  end(&outer);
  return meet_once(me);
}

static void test_an_inner_failure_ends_the_outer_talk(void **state) {
  (void)state;
  for (leaver = 0; leaver < 3; leaver++) {
    board_world world;
    assert_true(board_world_open(&world, 3));
    crew_run(&world, leave_an_inner_talk);
    board_world_close(&world);
  }
}

/* A note that cannot be posted is owed; the others do not know why, but all are in step again. */
static bool leave_without_a_word(crew_member *me) {
  tdt__talk talk;
  begin(&talk, me->group);
  talk.timeout_s = 0.3;
  EXPECT(me, meet(&talk, &me->error) == TDT_OK);
  if (me->rank == leaver) {
    board_fail(me->world->at, me->rank, BOARD_PUT, 1, TDT_ENOMEM, NULL);
    tdt__talk_leave(&talk, "enough");
    board_fail(me->world->at, me->rank, BOARD_PUT, 1, TDT_OK, NULL);
  } else {
    const tdt_status status = meet(&talk, &me->error);
    EXPECT(me, status == TDT_EGROUP);
    tdt_error_clear(&me->error);
    tdt__talk_leave(&talk, "waited in vain");
  }
  end(&talk);
  EXPECT(me, meet_once(me));
  return meet_once(me);
}

static void test_a_note_that_is_owed(void **state) {
  (void)state;
  for (leaver = 0; leaver < 3; leaver++) {
    board_world world;
    assert_true(board_world_open(&world, 3));
    crew_run(&world, leave_without_a_word);
    board_world_close(&world);
  }
}

/* -- withdrawing ---------------------------------------------------------------------------------
 */

static bool withdraw_or_meet(crew_member *me) {
  tdt__talk talk;
  if (me->rank == leaver) {
    EXPECT(me, tdt_group_withdraw(me->group, "key_fn raised", &me->error) == TDT_OK);
  } else {
    char text[64];
    begin(&talk, me->group);
    (void)snprintf(text, sizeof text, "rank %u gave up: key_fn raised", leaver);
    EXPECT(me, meet(&talk, &me->error) == TDT_EGROUP);
    EXPECT(me, strcmp(tdt_error_text(&me->error), text) == 0);
    end(&talk);
    tdt_error_clear(&me->error);
  }
  return meet_once(me);
}

static void test_R04_a_rank_withdraws(void **state) {
  (void)state;
  for (leaver = 0; leaver < 3; leaver++) {
    board_world world;
    assert_true(board_world_open(&world, 3));
    crew_run(&world, withdraw_or_meet);
    board_world_close(&world);
  }
}

static void test_withdrawing_alone_does_nothing(void **state) {
  const tdt_group self = tdt_group_self();
  (void)state;
  assert_int_equal(tdt_group_withdraw(&self, "nobody hears it", NULL), TDT_OK);
}

/* -- notes ---------------------------------------------------------------------------------------
 */

static json_t *read_note(const char *text) {
  json_t *note = json_loads(text, 0, NULL);
  assert_non_null(note);
  assert_true(tdt__note_is(note));
  return note;
}

static void test_notes(void **state) {
  board_world world;
  (void)state;
  assert_true(board_world_open(&world, 2));
  const tdt_group *group = &world.groups[0];
  assert_true(tdt__rounds_enter(group->rounds, 0.0)); /* the first round is 1 */
  char *text = tdt__note_write("f", "a \"reason\"\n\xff", 1);
  json_t *note = read_note(text);
  char *told = tdt__note_text(note, group, 1);
  assert_contains(told, "rank 1 gave up at f: a \"reason\"\n");
  assert_true(tdt__note_counts(note, group));
  assert_int_equal(json_object_set_new(note, "time", json_integer(time(NULL) - 31)), 0);
  assert_false(tdt__note_counts(note, group));
  free(told);
  json_decref(note);
  free(text);
  char plain[TDT__NOTE_PLAIN_SIZE];
  tdt__note_write_plain(plain, 1);
  note = read_note(plain);
  assert_true(tdt__note_counts(note, group));
  (void)tdt__rounds_next(group->rounds);
  tdt__rounds_leave(group->rounds);
  assert_true(tdt__rounds_enter(group->rounds, 0.0)); /* the first round is 2 */
  assert_false(tdt__note_counts(note, group));
  json_decref(note);
  tdt__note_write_late(plain, UINT64_MAX >> 1);
  note = read_note(plain);
  assert_true(tdt__note_counts(note, group));
  json_decref(note);
  tdt__rounds_leave(group->rounds);
  board_world_close(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_R04_a_rank_leaves),
      cmocka_unit_test(test_all_ranks_leave),
      cmocka_unit_test(test_a_note_about_an_earlier_tuning_is_skipped),
      cmocka_unit_test(test_an_inner_failure_ends_the_outer_talk),
      cmocka_unit_test(test_a_note_that_is_owed),
      cmocka_unit_test(test_R04_a_rank_withdraws),
      cmocka_unit_test(test_withdrawing_alone_does_nothing),
      cmocka_unit_test(test_notes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
