/* SPDX-License-Identifier: MIT */
#include "crew.h"

#include <stdlib.h>

#include "group/callback.h"
#include "group/message.h"

enum { WORLD = 3 };

#define MIB ((size_t)1 << 20)

static const uint64_t HINT = UINT64_C(1) << 63;

static int open_world(void **state) {
  static board_world world;
  *state = &world;
  return board_world_open(&world, WORLD) ? 0 : -1;
}

static int close_world(void **state) {
  board_world_close(*state);
  return 0;
}

/* What tells one message from another. */
static void fill(char *bytes, size_t size, unsigned seed) {
  for (size_t i = 0; i < size; i++) {
    seed = seed * 1103515245U + 12345U;
    bytes[i] = (char)(seed >> 16);
  }
}

static void post(const board_world *world, uint64_t round, unsigned rank, const char *text) {
  const tdt_group *group = &world->groups[rank];
  assert_int_equal(group->table->post(group->self, round, text, strlen(text), NULL), TDT_OK);
}

/* Whether there is a message; then it must be this one. */
static bool took(const board_world *world, uint64_t round, unsigned rank, unsigned from,
                 const char *text) {
  const tdt_group *group = &world->groups[rank];
  tdt_message message = {0};
  assert_int_equal(group->table->take(group->self, round, from, 0.0, &message, NULL), TDT_OK);
  const bool came = message.bytes != NULL;
  if (came) {
    assert_string_equal(message.bytes, text);
    assert_int_equal(message.size, strlen(text));
  }
  tdt__message_clear(&message);
  return came;
}

static void assert_takes(const board_world *world, uint64_t round, unsigned rank, unsigned from,
                         const char *text) {
  assert_true(took(world, round, rank, from, text));
}

/* A whole round of the world, all ranks in this thread. */
static void whole_round(const board_world *world, uint64_t round) {
  for (unsigned r = 1; r < world->n; r++) {
    post(world, round, r, "question");
  }
  for (unsigned r = 1; r < world->n; r++) {
    assert_takes(world, round, 0, r, "question");
  }
  post(world, round, 0, "answer");
  for (unsigned r = 1; r < world->n; r++) {
    assert_takes(world, round, r, 0, "answer");
  }
}

static void carry(const board_world *world, uint64_t round, unsigned from, unsigned to,
                  size_t size) {
  char *bytes = malloc(size + 1);
  assert_non_null(bytes);
  fill(bytes, size, (unsigned)round);
  const tdt_group *sender = &world->groups[from];
  const tdt_group *receiver = &world->groups[to];
  assert_int_equal(sender->table->post(sender->self, round, size > 0 ? bytes : NULL, size, NULL),
                   TDT_OK);
  tdt_message message = {0};
  assert_int_equal(receiver->table->take(receiver->self, round, from, 0.0, &message, NULL), TDT_OK);
  assert_non_null(message.bytes);
  assert_int_equal(message.size, size);
  assert_memory_equal(message.bytes, bytes, size);
  assert_int_equal(message.bytes[size], '\0');
  tdt__message_clear(&message);
  free(bytes);
}

static void test_messages_of_any_size(void **state) {
  const board_world *world = *state;
  static const size_t sizes[] = {0,   1,       MIB - 9,       MIB - 8,           MIB - 7,
                                 MIB, MIB + 1, 2 * (MIB - 8), 2 * (MIB - 8) + 1, 5 * MIB};
  for (size_t i = 0; i < N_OF(sizes); i++) {
    const uint64_t round = i + 1;
    carry(world, round, 1, 0, sizes[i]);
    post(world, round, 2, "question");
    assert_takes(world, round, 0, 2, "question");
    carry(world, round, 0, 1, sizes[i]);
  }
}

static void test_pieces_are_full(void **state) {
  (void)state;
  const size_t room = TDT__PIECE_ROOM;
  assert_int_equal(tdt__piece_count(0), 1);
  assert_int_equal(tdt__piece_count(1), 1);
  assert_int_equal(tdt__piece_count(room), 1);
  assert_int_equal(tdt__piece_count(room + 1), 2);
  assert_int_equal(tdt__piece_count(2 * room), 2);
  assert_int_equal(tdt__piece_count(2 * room + 1), 3);
}

static void test_nothing_has_come_yet(void **state) {
  const board_world *world = *state;
  assert_false(took(world, 1, 0, 1, ""));
  assert_false(took(world, 1, 1, 0, ""));
  post(world, 1, 1, "late");
  assert_takes(world, 1, 0, 1, "late");
}

static void test_a_message_replaces_what_was_there(void **state) {
  const board_world *world = *state;
  const tdt_group *zero = &world->groups[0];
  tdt_message message = {0};
  assert_int_equal(tdt_message_set(&message, "old", 3, NULL), TDT_OK);
  assert_int_equal(zero->table->take(zero->self, 1, 1, 0.0, &message, NULL), TDT_OK);
  assert_string_equal(message.bytes, "old");
  post(world, 1, 1, "new one");
  assert_int_equal(zero->table->take(zero->self, 1, 1, 0.0, &message, NULL), TDT_OK);
  assert_string_equal(message.bytes, "new one");
  assert_int_equal(message.size, 7);
  tdt__message_clear(&message);
}

static void test_a_rank_that_posts_ahead(void **state) {
  const board_world *world = *state;
  whole_round(world, 1);
  post(world, 2, 1, "two");
  post(world, 3, 1, "note");
  post(world, 4, 1, "four");
  post(world, 2, 2, "two");
  assert_takes(world, 2, 0, 1, "two");
  assert_takes(world, 2, 0, 2, "two");
  post(world, 2, 0, "answer two");
  post(world, 3, 2, "three");
  assert_takes(world, 3, 0, 1, "note");
  assert_takes(world, 3, 0, 2, "three");
  post(world, 3, 0, "answer three");
  /* Rank 2 comes late for an answer that only a whole later round makes void. */
  assert_takes(world, 3, 2, 0, "answer three");
  assert_takes(world, 4, 0, 1, "four");
  assert_takes(world, 3, 1, 0, "answer three");
}

static void test_a_message_that_is_skipped(void **state) {
  const board_world *world = *state;
  post(world, 1, 1, "one");
  post(world, 2, 1, "two");
  assert_takes(world, 2, 0, 1, "two");
}

static void test_a_whole_round_leaves_its_answer_only(void **state) {
  const board_world *world = *state;
  whole_round(world, 1);
  assert_true(board_has(world->at, "1/0"));
  assert_int_equal(board_count(world->at).n_alive, 1);
  whole_round(world, 2);
  assert_false(board_has(world->at, "1/0"));
  assert_true(board_has(world->at, "2/0"));
  assert_int_equal(board_count(world->at).n_alive, 1);
}

static void test_an_answer_stays_while_somebody_may_need_it(void **state) {
  const board_world *world = *state;
  for (unsigned r = 1; r < WORLD; r++) {
    post(world, 1, r, "one");
    assert_takes(world, 1, 0, r, "one");
  }
  post(world, 1, 0, "first answer");
  /* Rank 1 goes on, rank 2 is still on its way to the first answer; rank 0 gives up. */
  assert_takes(world, 1, 1, 0, "first answer");
  post(world, 2, 1, "two");
  assert_takes(world, 2, 0, 1, "two");
  assert_takes(world, 2, 0, 1, "two"); /* counts once */
  post(world, 2, 0, "note");
  assert_takes(world, 1, 2, 0, "first answer");
  post(world, 2, 2, "two");
  assert_takes(world, 2, 2, 0, "note");
  assert_takes(world, 2, 1, 0, "note");
  assert_int_equal(board_count(world->at).n_alive, 4);
  whole_round(world, 3);
  assert_int_equal(board_count(world->at).n_alive, 1);
  assert_true(board_has(world->at, "3/0"));
}

static void test_large_messages_are_dropped_whole(void **state) {
  const board_world *world = *state;
  carry(world, 1, 1, 0, 3 * MIB);
  carry(world, 1, 2, 0, 0);
  carry(world, 1, 0, 1, 5 * MIB);
  assert_int_equal(board_count(world->at).n_alive, 6);
  /* Not taken, of a round that rank 0 gives up. */
  const tdt_group *one = &world->groups[1];
  char *bytes = calloc(2, MIB);
  assert_non_null(bytes);
  assert_int_equal(one->table->post(one->self, 2, bytes, 2 * MIB, NULL), TDT_OK);
  free(bytes);
  post(world, 2, 2, "two");
  post(world, 2, 0, "note");
  assert_int_equal(board_count(world->at).n_alive, 6 + 3 + 1 + 1);
  whole_round(world, 3);
  assert_int_equal(board_count(world->at).n_alive, 1);
}

static void test_a_group_made_anew_drops_what_the_former_left(void **state) {
  board_world *world = *state;
  carry(world, 1, 1, 0, 1);
  carry(world, 1, 2, 0, 1);
  carry(world, 1, 0, 1, 2 * MIB);
  assert_int_equal(board_count(world->at).n_alive, 3);
  assert_int_equal(board_world_renew(world, 0), TDT_OK);
  whole_round(world, 2);
  assert_int_equal(board_count(world->at).n_alive, 1);
  for (uint64_t round = 3; round < 100; round++) {
    for (unsigned r = 0; r < WORLD; r++) {
      assert_int_equal(board_world_renew(world, r), TDT_OK);
    }
    whole_round(world, round);
    assert_int_equal(board_count(world->at).n_alive, 1);
  }
}

static void test_a_hint(void **state) {
  const board_world *world = *state;
  post(world, 1, 1, "question");
  assert_false(took(world, 1 | HINT, 1, 0, ""));
  post(world, 1 | HINT, 0, "waiting for rank 2");
  assert_takes(world, 1 | HINT, 1, 0, "waiting for rank 2");
  assert_false(took(world, 1, 1, 0, ""));
  post(world, 1, 2, "question");
  assert_takes(world, 1, 0, 1, "question");
  assert_takes(world, 1, 0, 2, "question");
  post(world, 1, 0, "answer");
  assert_takes(world, 1, 1, 0, "answer");
  assert_takes(world, 1, 2, 0, "answer");
  assert_int_equal(board_count(world->at).n_alive, 1);
  assert_int_equal(board_count(world->at).n_drops, WORLD); /* two messages and the hint */
  /* Also where rank 0 gives up after it. */
  post(world, 2 | HINT, 0, "waiting");
  post(world, 2, 0, "note");
  assert_false(took(world, 2 | HINT, 1, 0, ""));
  assert_takes(world, 2, 1, 0, "note");
}

static void test_a_large_hint(void **state) {
  const board_world *world = *state;
  carry(world, 1 | HINT, 0, 1, 2 * MIB);
  assert_int_equal(board_count(world->at).n_alive, 3);
  whole_round(world, 1);
  assert_int_equal(board_count(world->at).n_alive, 1);
  /* Once gone, it is no more trouble. */
  const size_t n_drops = board_count(world->at).n_drops;
  whole_round(world, 2);
  assert_int_equal(board_count(world->at).n_drops, n_drops + WORLD);
}

static void test_without_drop_keys_are_left(void **state) {
  board_world *world = *state;
  tdt_group_callbacks callbacks = board_callbacks(world->at, 0);
  callbacks.drop = NULL;
  tdt_group former = world->groups[0];
  assert_int_equal(
      tdt_group_callback_create(&callbacks, 0, WORLD, NULL, former.rounds, &world->groups[0], NULL),
      TDT_OK);
  tdt_group_callback_destroy(&former);
  for (uint64_t round = 1; round <= 5; round++) {
    whole_round(world, round);
  }
  assert_int_equal(board_count(world->at).n_alive, 5 * WORLD);
  assert_int_equal(board_count(world->at).n_drops, 0);
}

/* A way to the board that lets only so many values through. */
typedef struct gate {
  tdt_group_callbacks inner;
  unsigned n_open;
} gate;

static tdt_status gate_put(void *user, const char *key, const void *bytes, size_t size,
                           tdt_error *error) {
  const gate *at = user;
  return at->inner.put(at->inner.user, key, bytes, size, error);
}

static tdt_status gate_get(void *user, const char *key, double slice_s, tdt_message *message,
                           tdt_error *error) {
  gate *at = user;
  if (at->n_open == 0) {
    return TDT_OK;
  }
  const tdt_status status = at->inner.get(at->inner.user, key, slice_s, message, error);
  at->n_open -= message->bytes != NULL;
  return status;
}

static void test_pieces_that_come_one_by_one(void **state) {
  const board_world *world = *state;
  gate way = {board_callbacks(world->at, 1), 0};
  const tdt_group_callbacks callbacks = {
      .size = sizeof callbacks, .user = &way, .put = gate_put, .get = gate_get};
  tdt_group one;
  assert_int_equal(
      tdt_group_callback_create(&callbacks, 1, WORLD, NULL, world->groups[1].rounds, &one, NULL),
      TDT_OK);
  /* Nothing is dropped, so that the hint stays beside the answer. */
  tdt_group_callbacks keeping = board_callbacks(world->at, 0);
  keeping.drop = NULL;
  tdt_group zero;
  assert_int_equal(
      tdt_group_callback_create(&keeping, 0, WORLD, NULL, world->groups[0].rounds, &zero, NULL),
      TDT_OK);
  const size_t size = 5 * MIB;
  char *bytes = malloc(size);
  assert_non_null(bytes);
  fill(bytes, size, 7);
  assert_int_equal(zero.table->post(zero.self, 1 | HINT, bytes, 2 * MIB, NULL), TDT_OK);
  assert_int_equal(zero.table->post(zero.self, 1, bytes, size, NULL), TDT_OK);
  tdt_message message = {0};
  tdt_message hint = {0};
  unsigned n_tries = 0;
  for (; message.bytes == NULL && n_tries < 100; n_tries++) {
    way.n_open = 1;
    assert_int_equal(one.table->take(one.self, 1 | HINT, 0, 0.0, &hint, NULL), TDT_OK);
    way.n_open = 1;
    assert_int_equal(one.table->take(one.self, 1, 0, 0.0, &message, NULL), TDT_OK);
  }
  assert_int_equal(n_tries, tdt__piece_count(size));
  assert_int_equal(message.size, size);
  assert_memory_equal(message.bytes, bytes, size);
  assert_int_equal(hint.size, 2 * MIB);
  assert_memory_equal(hint.bytes, bytes, hint.size);
  tdt__message_clear(&message);
  tdt__message_clear(&hint);
  free(bytes);
  tdt_group_callback_destroy(&one);
  tdt_group_callback_destroy(&zero);
}

/* Whoever is in the middle of a message begins anew in the next round. */
static void test_a_message_that_is_given_up(void **state) {
  const board_world *world = *state;
  gate way = {board_callbacks(world->at, 0), 1};
  const tdt_group_callbacks callbacks = {
      .size = sizeof callbacks, .user = &way, .put = gate_put, .get = gate_get};
  tdt_group zero;
  assert_int_equal(
      tdt_group_callback_create(&callbacks, 0, WORLD, NULL, world->groups[0].rounds, &zero, NULL),
      TDT_OK);
  const tdt_group *one = &world->groups[1];
  char *bytes = calloc(2, MIB);
  assert_non_null(bytes);
  assert_int_equal(one->table->post(one->self, 1, bytes, 2 * MIB, NULL), TDT_OK);
  tdt_message message = {0};
  assert_int_equal(zero.table->take(zero.self, 1, 1, 0.0, &message, NULL), TDT_OK);
  assert_null(message.bytes);
  /* A hint is no next round. */
  assert_int_equal(zero.table->post(zero.self, 1 | HINT, "waiting", 7, NULL), TDT_OK);
  way.n_open = 1;
  assert_int_equal(zero.table->take(zero.self, 1, 1, 0.0, &message, NULL), TDT_OK);
  way.n_open = 1;
  assert_int_equal(zero.table->take(zero.self, 1, 1, 0.0, &message, NULL), TDT_OK);
  assert_int_equal(message.size, 2 * MIB);
  tdt__message_clear(&message);
  assert_int_equal(one->table->post(one->self, 2, bytes, 2 * MIB, NULL), TDT_OK);
  way.n_open = 1;
  assert_int_equal(zero.table->take(zero.self, 2, 1, 0.0, &message, NULL), TDT_OK);
  assert_null(message.bytes);
  assert_int_equal(zero.table->post(zero.self, 2, "note", 4, NULL), TDT_OK);
  way.n_open = 10;
  post(world, 3, 1, "three");
  assert_int_equal(zero.table->take(zero.self, 3, 1, 0.0, &message, NULL), TDT_OK);
  assert_string_equal(message.bytes, "three");
  tdt__message_clear(&message);
  /* And in the middle of another when the group ends. */
  assert_int_equal(one->table->post(one->self, 4, bytes, 2 * MIB, NULL), TDT_OK);
  way.n_open = 1;
  assert_int_equal(zero.table->take(zero.self, 4, 1, 0.0, &message, NULL), TDT_OK);
  assert_null(message.bytes);
  tdt_group_callback_destroy(&zero);
  free(bytes);
}

static void test_a_slice_is_waited_for(void **state) {
  const board_world *world = *state;
  const tdt_group *zero = &world->groups[0];
  tdt_message message = {0};
  board_delay(world->at, 1, 0.05);
  post(world, 1, 1, "late");
  assert_int_equal(zero->table->take(zero->self, 1, 1, 3600.0, &message, NULL), TDT_OK);
  assert_string_equal(message.bytes, "late");
  tdt__message_clear(&message);
  /* Nobody waits for what is lost. */
  board_delay(world->at, 2, -1.0);
  post(world, 1, 2, "lost");
  assert_int_equal(zero->table->take(zero->self, 1, 2, 0.01, &message, NULL), TDT_OK);
  assert_null(message.bytes);
  assert_int_equal(zero->table->take(zero->self, 1, 2, -1.0, &message, NULL), TDT_OK);
  assert_null(message.bytes);
  board_delay(world->at, 2, 0.0);
  post(world, 2, 2, "there");
  assert_takes(world, 2, 0, 2, "there");
}

static void test_half_a_message_is_none(void **state) {
  const board_world *world = *state;
  const tdt_group *one = &world->groups[1];
  char *bytes = calloc(3, MIB);
  assert_non_null(bytes);
  tdt_error error = TDT_ERROR_INIT;
  board_fail(world->at, 1, BOARD_PUT, 3, TDT_EGROUP, "the store is full");
  assert_int_equal(one->table->post(one->self, 1, bytes, 3 * MIB, &error), TDT_EGROUP);
  assert_string_equal(tdt_error_text(&error), "the store is full");
  tdt_error_clear(&error);
  board_fail(world->at, 1, BOARD_PUT, 1, TDT_OK, NULL);
  free(bytes);
  assert_int_equal(board_count(world->at).n_alive, 2);
  assert_false(took(world, 1, 0, 1, ""));
  assert_false(took(world, 1, 0, 1, ""));
  assert_int_equal(board_count(world->at).n_hits, 2);
  /* Later rounds are as ever, and its pieces go. */
  post(world, 1, 2, "one");
  post(world, 1, 0, "note");
  whole_round(world, 2);
  assert_int_equal(board_count(world->at).n_alive, 1);
}

static void test_failures_are_passed_on(void **state) {
  const board_world *world = *state;
  const tdt_group *zero = &world->groups[0];
  tdt_error error = TDT_ERROR_INIT;
  tdt_message message = {0};
  board_fail(world->at, 0, BOARD_GET, 1, TDT_ESTOPPED, "the user is tired");
  assert_int_equal(zero->table->take(zero->self, 1, 1, 0.0, &message, &error), TDT_ESTOPPED);
  assert_string_equal(tdt_error_text(&error), "the user is tired");
  assert_null(message.bytes);
  board_fail(world->at, 0, BOARD_GET, 1, TDT_OK, NULL);
  board_fail(world->at, 0, BOARD_PUT, 1, TDT_EGROUP, NULL);
  assert_int_equal(zero->table->post(zero->self, 1, "x", 1, NULL), TDT_EGROUP);
  board_fail(world->at, 0, BOARD_PUT, 1, TDT_OK, NULL);
  whole_round(world, 2);
  board_fail(world->at, 0, BOARD_DROP, 2, TDT_EGROUP, "stuck");
  for (unsigned r = 1; r < WORLD; r++) {
    post(world, 3, r, "three");
    assert_takes(world, 3, 0, r, "three");
  }
  /* The answer is there, which is what counts, and what could not be dropped goes next time. */
  assert_int_equal(zero->table->post(zero->self, 3, "x", 1, NULL), TDT_OK);
  assert_takes(world, 3, 1, 0, "x");
  board_fail(world->at, 0, BOARD_DROP, 1, TDT_OK, NULL);
  whole_round(world, 4);
  assert_int_equal(board_count(world->at).n_alive, 1);
  tdt_error_clear(&error);
}

static void assert_foreign(const board_world *world, uint64_t round, const void *bytes,
                           size_t size) {
  const tdt_group_callbacks other = board_callbacks(world->at, 1);
  const tdt_group *zero = &world->groups[0];
  char key[TDT__PIECE_KEY];
  tdt__callback_key(key, round, 1);
  assert_int_equal(other.put(other.user, key, bytes, size, NULL), TDT_OK);
  tdt_error error = TDT_ERROR_INIT;
  tdt_message message = {0};
  assert_int_equal(zero->table->take(zero->self, round, 1, 0.0, &message, &error), TDT_EGROUP);
  assert_null(message.bytes);
  assert_contains(tdt_error_text(&error), key);
  assert_contains(tdt_error_text(&error), "prefix");
  tdt_error_clear(&error);
}

static void test_a_value_of_somebody_else(void **state) {
  const board_world *world = *state;
  assert_foreign(world, 1, "short", 5);
  assert_foreign(world, 2, "something that is long enough", 29);
  assert_foreign(world, 3, "\xff\xff\xff\xff\xff\xff\xff\xff", 8);
  assert_foreign(world, 4, "\x01\0\0\0\0\0\0\0", 8);
  assert_foreign(world, 5, "\x01\0\0\0\0\0\0\0ab", 10);
  /* More than there are addresses. */
  char *full = malloc(MIB);
  assert_non_null(full);
  memset(full, '\xff', MIB);
  assert_foreign(world, 6, full, MIB);
  free(full);
}

/* The second piece is one of another message, which has as many bytes in its second. */
static void test_a_piece_of_another_message(void **state) {
  const board_world *world = *state;
  const tdt_group *one = &world->groups[1];
  const tdt_group_callbacks other = board_callbacks(world->at, 2);
  char *bytes = calloc(4, MIB);
  assert_non_null(bytes);
  board_fail(world->at, 1, BOARD_PUT, 2, TDT_EGROUP, NULL);
  assert_int_equal(one->table->post(one->self, 1, bytes, 3 * MIB, NULL), TDT_EGROUP);
  bytes[2] = 0x20; /* 2 MiB in all */
  assert_int_equal(other.put(other.user, "1/1/1", bytes, MIB, NULL), TDT_OK);
  free(bytes);
  tdt_error error = TDT_ERROR_INIT;
  tdt_message message = {0};
  const tdt_group *zero = &world->groups[0];
  assert_int_equal(zero->table->take(zero->self, 1, 1, 0.0, &message, &error), TDT_EGROUP);
  assert_contains(tdt_error_text(&error), "\"1/1/1\" holds something");
  assert_null(message.bytes);
  tdt_error_clear(&error);
}

/* Numbers and sizes that differ, for some milliseconds of work. */
static bool talk_for_long(crew_member *me) {
  const tdt_group *group = me->group;
  for (uint64_t round = 1; round <= 1000; round++) {
    uint64_t sum = 0;
    tdt_message message = {0};
    const uint64_t mine[2] = {round * (me->rank + 1), me->rank};
    if (me->rank > 0) {
      EXPECT(me, group->table->post(group->self, round, mine, sizeof mine, &me->error) == TDT_OK);
    }
    for (unsigned from = me->rank == 0 ? 1 : 0; from < (me->rank == 0 ? group->n_ranks : 1);
         from++) {
      tdt__message_clear(&message);
      while (message.bytes == NULL) {
        EXPECT(me,
               group->table->take(group->self, round, from, 0.05, &message, &me->error) == TDT_OK);
      }
      uint64_t other[2];
      EXPECT(me, message.size == sizeof other);
      memcpy(other, message.bytes, sizeof other);
      EXPECT(me, other[1] == from);
      sum += other[0];
    }
    tdt__message_clear(&message);
    if (me->rank == 0) {
      const uint64_t answer[2] = {sum, 0};
      EXPECT(me,
             group->table->post(group->self, round, answer, sizeof answer, &me->error) == TDT_OK);
    }
    EXPECT(me, sum == round * (group->n_ranks * (group->n_ranks + 1) / 2 - 1));
  }
  return true;
}

static void test_keys_stay_few_over_many_rounds(void **state) {
  (void)state;
  board_world world;
  assert_true(board_world_open(&world, 5));
  crew_run(&world, talk_for_long);
  const board_counts counts = board_count(world.at);
  /* Messages of two rounds and their answers. */
  assert_in_range(counts.n_most_alive, 5, 2 * 5);
  assert_int_equal(counts.n_alive, 1);
  assert_int_equal(counts.n_puts, 5 * 1000);
  board_world_close(&world);
}

static void test_calls_grow_with_the_ranks(void **state) {
  (void)state;
  for (unsigned n = 2; n <= 4096; n *= 2) {
    board_world world;
    assert_true(board_world_open(&world, n));
    whole_round(&world, 1);
    const board_counts first = board_count(world.at);
    whole_round(&world, 2);
    const board_counts counts = board_count(world.at);
    assert_int_equal(counts.n_puts - first.n_puts, n);
    assert_int_equal(counts.n_hits - first.n_hits, 2 * (n - 1));
    assert_int_equal(counts.n_misses - first.n_misses, 0);
    assert_int_equal(counts.n_drops - first.n_drops, n);
    assert_int_equal(counts.n_alive, 1);
    board_world_close(&world);
  }
}

static tdt_status no_start(void *user, const double *values, size_t n, tdt_error *error) {
  (void)user;
  (void)values;
  return tdt_error_set(error, TDT_EGROUP, "%zu values to reduce with nobody", n);
}

static tdt_status no_wait(void *user, double slice_s, double *values, bool *done,
                          tdt_error *error) {
  (void)user;
  (void)slice_s;
  (void)values;
  (void)done;
  return tdt_error_set(error, TDT_EGROUP, "nobody to wait for");
}

static void test_one_rank_talks_to_nobody(void **state) {
  (void)state;
  board *at = board_create(1);
  tdt_group_callbacks callbacks = board_callbacks(at, 0);
  callbacks.start_max = no_start;
  callbacks.wait_max = no_wait;
  tdt_group group;
  assert_int_equal(tdt_group_callback_create(&callbacks, 0, 1, NULL, NULL, &group, NULL), TDT_OK);
  assert_int_equal(group.table->post(group.self, 1, "x", 1, NULL), TDT_OK);
  double value = 0.0;
  const double mine = 3.5;
  bool done = false;
  assert_int_equal(group.table->start_max(group.self, &mine, 1, NULL), TDT_OK);
  assert_int_equal(group.table->wait_max(group.self, 0.0, &value, &done, NULL), TDT_OK);
  assert_true(done);
  assert_true(value == 3.5);
  const board_counts nothing = {0};
  const board_counts counts = board_count(at);
  assert_memory_equal(&counts, &nothing, sizeof counts);
  tdt_group_callback_destroy(&group);
  board_destroy(at);
}

static void test_taking_from_the_wrong_rank(void **state) {
  const board_world *world = *state;
  static const unsigned pairs[][2] = {{0, 0}, {1, 1}, {1, 2}, {0, WORLD}, {1, WORLD}};
  post(world, 1, 2, "for rank 0");
  for (size_t i = 0; i < N_OF(pairs); i++) {
    const tdt_group *group = &world->groups[pairs[i][0]];
    tdt_message message = {0};
    tdt_error error = TDT_ERROR_INIT;
    assert_int_equal(group->table->take(group->self, 1, pairs[i][1], 0.0, &message, &error),
                     TDT_EGROUP);
    assert_contains(tdt_error_text(&error), "nothing to take");
    assert_null(message.bytes);
    tdt_error_clear(&error);
  }
}

static void assert_refused(const tdt_group_callbacks *callbacks, unsigned rank, unsigned n_ranks,
                           tdt_group_rounds *rounds, const char *why) {
  tdt_group group = tdt_group_self();
  const tdt_group before = group;
  tdt_error error = TDT_ERROR_INIT;
  assert_int_equal(
      tdt_group_callback_create(callbacks, rank, n_ranks, NULL, rounds, &group, &error),
      TDT_EINVAL);
  assert_contains(tdt_error_text(&error), why);
  assert_memory_equal(&group, &before, sizeof group);
  tdt_error_clear(&error);
}

static void test_misuse(void **state) {
  const board_world *world = *state;
  tdt_group_rounds *rounds = world->groups[0].rounds;
  const tdt_group_callbacks good = board_callbacks(world->at, 0);
  tdt_group_callbacks bad = good;
  assert_refused(NULL, 0, 2, rounds, "size is 0");
  bad.size--;
  assert_refused(&bad, 0, 2, rounds, "size is");
  bad = good;
  bad.put = NULL;
  assert_refused(&bad, 0, 2, rounds, "put is missing");
  bad = good;
  bad.get = NULL;
  assert_refused(&bad, 0, 2, rounds, "get is missing");
  bad = good;
  bad.start_max = no_start;
  assert_refused(&bad, 0, 2, rounds, "wait_max is missing");
  bad = good;
  bad.wait_max = no_wait;
  assert_refused(&bad, 0, 2, rounds, "start_max is missing");
  assert_refused(&good, 2, 2, rounds, "rank 2 is not below the number of ranks, 2");
  assert_refused(&good, 0, 0, rounds, "rank 0 is not below");
  assert_refused(&good, 0, 2, NULL, "tdt_group_rounds");
}

static void test_the_group_made(void **state) {
  const board_world *world = *state;
  static const unsigned numbers[2] = {4, 9};
  const tdt_group_callbacks callbacks = board_callbacks(world->at, 1);
  tdt_group group;
  assert_int_equal(
      tdt_group_callback_create(&callbacks, 1, 2, numbers, world->groups[1].rounds, &group, NULL),
      TDT_OK);
  assert_int_equal(group.table->abi, TDT_GROUP_ABI);
  assert_int_equal(group.table->size, sizeof(tdt_group_table));
  assert_int_equal(group.rank, 1);
  assert_int_equal(group.n_ranks, 2);
  assert_ptr_equal(group.rounds, world->groups[1].rounds);
  assert_ptr_equal(group.numbers, numbers);
  tdt_group_callback_destroy(&group);
  tdt_group_callback_destroy(&group);
  tdt_group_callback_destroy(NULL);
}

#define WORLD_TEST(f) cmocka_unit_test_setup_teardown(f, open_world, close_world)

int main(void) {
  const struct CMUnitTest tests[] = {
      WORLD_TEST(test_messages_of_any_size),
      cmocka_unit_test(test_pieces_are_full),
      WORLD_TEST(test_nothing_has_come_yet),
      WORLD_TEST(test_a_message_replaces_what_was_there),
      WORLD_TEST(test_a_rank_that_posts_ahead),
      WORLD_TEST(test_a_message_that_is_skipped),
      WORLD_TEST(test_a_whole_round_leaves_its_answer_only),
      WORLD_TEST(test_an_answer_stays_while_somebody_may_need_it),
      WORLD_TEST(test_large_messages_are_dropped_whole),
      WORLD_TEST(test_a_group_made_anew_drops_what_the_former_left),
      WORLD_TEST(test_a_hint),
      WORLD_TEST(test_a_large_hint),
      WORLD_TEST(test_without_drop_keys_are_left),
      WORLD_TEST(test_pieces_that_come_one_by_one),
      WORLD_TEST(test_a_message_that_is_given_up),
      WORLD_TEST(test_a_slice_is_waited_for),
      WORLD_TEST(test_half_a_message_is_none),
      WORLD_TEST(test_failures_are_passed_on),
      WORLD_TEST(test_a_value_of_somebody_else),
      WORLD_TEST(test_a_piece_of_another_message),
      cmocka_unit_test(test_keys_stay_few_over_many_rounds),
      cmocka_unit_test(test_calls_grow_with_the_ranks),
      cmocka_unit_test(test_one_rank_talks_to_nobody),
      WORLD_TEST(test_taking_from_the_wrong_rank),
      WORLD_TEST(test_misuse),
      WORLD_TEST(test_the_group_made),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
