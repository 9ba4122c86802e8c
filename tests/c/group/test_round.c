/* SPDX-License-Identifier: MIT */
/* Rounds without the engine: facts, data and verdict, and how their cost grows with the ranks. */
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "crew.h"

#include "group/round.h"
#include "group/rounds.h"

enum { MOST_RANKS = 4096, STACK_SIZE = 128 << 10 };

/* -- talking -------------------------------------------------------------------------------------
 */

static void begin(tdt__talk *talk, const tdt_group *group) {
  (void)tdt__rounds_enter(group->rounds, 0.0);
  tdt__talk_begin(talk, group);
  talk->who = "f, key k";
  talk->timeout_s = 120.0;
}

static void end(const tdt__talk *talk) {
  tdt__rounds_leave(talk->group->rounds);
}

/* Rank 0 counts who brought data, and adds them up. */
static tdt_status add_up(void *user, const tdt_group *group, const json_t *const *data,
                         json_t **answer, tdt_error *error) {
  json_int_t sum = 0;
  json_int_t n = 0;
  (void)user;
  (void)error;
  for (unsigned rank = 0; rank < group->n_ranks; rank++) {
    n += data[rank] != NULL ? 1 : 0;
    sum += json_integer_value(json_object_get(data[rank], "rank"));
  }
  *answer = json_pack("{s:I, s:I}", "n", n, "sum", sum);
  return *answer != NULL ? TDT_OK : TDT_ENOMEM;
}

/* Odd ranks bring something. */
static bool hold_sum(crew_member *me) {
  tdt__talk talk;
  const unsigned n = me->group->n_ranks;
  begin(&talk, me->group);
  for (unsigned turn = 0; turn < 3; turn++) {
    json_t *data = me->rank % 2 != 0 ? json_pack("{s:i}", "rank", (int)me->rank) : NULL;
    const tdt__fact facts[] = {{"colour", "red"}};
    const tdt__round round = {.what = "sum", .facts = {facts, 1}, .data = data, .judge = add_up};
    json_t *answer = NULL;
    tdt_status status = tdt__round_hold(&talk, &round, &answer, &me->error);
    json_decref(data);
    const json_int_t n_brought = json_integer_value(json_object_get(answer, "n"));
    const json_int_t sum = json_integer_value(json_object_get(answer, "sum"));
    json_decref(answer);
    EXPECT(me, status == TDT_OK);
    EXPECT(me, n_brought == n / 2);
    EXPECT(me, sum == (json_int_t)(n / 2) * (n / 2));
  }
  end(&talk);
  return true;
}

static void test_the_verdict_is_the_same_on_all(void **state) {
  (void)state;
  for (unsigned n = 2; n <= 5; n++) {
    board_world world;
    assert_true(board_world_open(&world, n));
    crew_run(&world, hold_sum);
    board_world_close(&world);
  }
}

static bool hold_different(crew_member *me) {
  tdt__talk talk;
  begin(&talk, me->group);
  const tdt__fact facts[] = {{"shape", "round"}, {"colour", me->rank == 2 ? "blue" : "red"}};
  const tdt__round round = {.what = "compare", .facts = {facts, 2}};
  tdt_status status = tdt__round_hold(&talk, &round, NULL, &me->error);
  EXPECT(me, status == TDT_EGROUP);
  EXPECT(me, strcmp(tdt_error_text(&me->error),
                    "f, key k: compare: the ranks are not about to do the same. colour: red on "
                    "ranks 0-1, 3; blue on rank 2") == 0);
  tdt_error_clear(&me->error);
  status = tdt__round_hold(&talk, &round, NULL, &me->error); /* the talk is over */
  EXPECT(me, status == TDT_EGROUP);
  EXPECT(me, strstr(tdt_error_text(&me->error), "no longer talk") != NULL);
  end(&talk);
  return true;
}

static void test_R02_different_facts_end_the_talk(void **state) {
  board_world world;
  (void)state;
  assert_true(board_world_open(&world, 4));
  crew_run(&world, hold_different);
  board_world_close(&world);
}

/* No judge: it is a barrier, with an empty answer. */
static bool hold_barrier(crew_member *me) {
  tdt__talk talk;
  json_t *answer = NULL;
  begin(&talk, me->group);
  const tdt__round round = {.what = "barrier"};
  tdt_status status = tdt__round_hold(&talk, &round, &answer, &me->error);
  const bool empty = json_is_object(answer) && json_object_size(answer) == 0;
  json_decref(answer);
  EXPECT(me, status == TDT_OK);
  EXPECT(me, empty);
  end(&talk);
  return true;
}

static void test_a_barrier(void **state) {
  board_world world;
  (void)state;
  assert_true(board_world_open(&world, 3));
  crew_run(&world, hold_barrier);
  board_world_close(&world);
}

/* What another program posts is an error, not a crash. */
static bool hold_or_post_nonsense(crew_member *me) {
  static const char *const nonsense[] = {"", "{", "[]", "{\"facts\":3}", "{\"note\":{}}", "null"};
  tdt__talk talk;
  if (me->rank > 0) {
    const char *text = nonsense[(me->rank - 1) % N_OF(nonsense)];
    (void)me->group->table->post(me->group->self, 1, text, strlen(text), NULL);
    return true;
  }
  begin(&talk, me->group);
  talk.timeout_s = 1.0;
  const tdt__fact facts[] = {{"colour", "red"}};
  const tdt__round round = {.what = "compare", .facts = {facts, 1}};
  EXPECT(me, tdt__round_hold(&talk, &round, NULL, &me->error) == TDT_EGROUP);
  EXPECT(me, tdt_error_text(&me->error)[0] != '\0');
  end(&talk);
  return true;
}

static void test_nonsense_is_an_error(void **state) {
  (void)state;
  for (unsigned n = 2; n <= 7; n++) {
    board_world world;
    assert_true(board_world_open(&world, n));
    crew_run(&world, hold_or_post_nonsense);
    board_world_close(&world);
  }
}

/* -- growth --------------------------------------------------------------------------------------
 */

/* A rank of many: some rounds, in a thread with a small stack. */
typedef struct many {
  const tdt_group *group;
  unsigned n_rounds;
  tdt_status status;
} many;

static void *hold_some(void *argument) {
  many *me = argument;
  tdt__talk talk;
  begin(&talk, me->group);
  const tdt__fact facts[] = {{"function", "ops.scale"}, {"key", "(64,)"}};
  const tdt__round round = {.what = "check-in", .facts = {facts, 2}};
  for (unsigned i = 0; i < me->n_rounds && me->status == TDT_OK; i++) {
    me->status = tdt__round_hold(&talk, &round, NULL, NULL);
  }
  end(&talk);
  return NULL;
}

static board_counts run_many(board_world *world, unsigned n_rounds) {
  many *ranks = calloc(world->n, sizeof *ranks);
  pthread_t *threads = calloc(world->n, sizeof *threads);
  pthread_attr_t small;
  assert_non_null(ranks);
  assert_non_null(threads);
  assert_int_equal(pthread_attr_init(&small), 0);
  assert_int_equal(pthread_attr_setstacksize(&small, STACK_SIZE), 0);
  const board_counts before = board_count(world->at);
  (void)alarm(240);
  for (unsigned i = 0; i < world->n; i++) {
    ranks[i] = (many){&world->groups[i], n_rounds, TDT_OK};
    assert_int_equal(pthread_create(&threads[i], &small, hold_some, &ranks[i]), 0);
  }
  for (unsigned i = 0; i < world->n; i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(ranks[i].status, TDT_OK);
  }
  (void)alarm(0);
  (void)pthread_attr_destroy(&small);
  free(ranks);
  free(threads);
  const board_counts after = board_count(world->at);
  return (board_counts){
      .n_puts = after.n_puts - before.n_puts,
      .n_hits = after.n_hits - before.n_hits,
      .n_drops = after.n_drops - before.n_drops,
      .n_alive = after.n_alive,
  };
}

/* TDTUNE_MOST_RANKS says how far to go; all the table takes some seconds. */
static unsigned most_ranks(void) {
  const char *text = getenv("TDTUNE_MOST_RANKS");
  const long n = text != NULL ? strtol(text, NULL, 10) : 64;
  return n > MOST_RANKS ? MOST_RANKS : (unsigned)n;
}

static void test_R07_operations_grow_linearly_with_ranks(void **state) {
  static const unsigned sizes[] = {2, 4, 16, 64, 256, 1024, 4096};
  (void)state;
  print_message("%8s %8s %8s %8s %8s %12s\n", "ranks", "puts", "gets", "drops", "all", "per rank");
  for (size_t i = 0; i < N_OF(sizes) && sizes[i] <= most_ranks(); i++) {
    const unsigned n = sizes[i];
    board_world world;
    assert_true(board_world_open(&world, n));
    (void)run_many(&world, 1); /* the group's own beginning */
    const board_counts counts = run_many(&world, 1);
    const size_t all = counts.n_puts + counts.n_hits + counts.n_drops;
    print_message("%8u %8zu %8zu %8zu %8zu %12.2f\n", n, counts.n_puts, counts.n_hits,
                  counts.n_drops, all, (double)all / n);
    assert_int_equal(counts.n_puts, n); /* n - 1 messages and one answer */
    assert_int_equal(counts.n_hits, 2 * (n - 1));
    assert_int_equal(counts.n_drops, n);
    assert_int_equal(counts.n_alive, 1); /* the last answer */
    board_world_close(&world);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_verdict_is_the_same_on_all),
      cmocka_unit_test(test_R02_different_facts_end_the_talk),
      cmocka_unit_test(test_a_barrier),
      cmocka_unit_test(test_nonsense_is_an_error),
      cmocka_unit_test(test_R07_operations_grow_linearly_with_ranks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
