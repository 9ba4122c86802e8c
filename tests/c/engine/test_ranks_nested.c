/* SPDX-License-Identifier: MIT */
/* Several tunings over the same ranks: one inside of another, one beside another, several groups.
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "ranks_rig.h"

/* -- one inside of another -----------------------------------------------------------------------
 */

/* The candidates call a tuned function themselves; whatever becomes of it becomes of them. */
typedef struct inner {
  tdt_tuner *tuner;
  unsigned n_launched;
  size_t stop_at;
  bool swallows; /* the candidate goes on where the inner call failed */
  tdt_status status;
  rank *me;
  char key[16];
} inner;

static inner inners[RANKS_MOST];

static tdt_status launch_inner(void *user, size_t candidate, tdt_error *error) {
  inner *in = user;
  in->n_launched++;
  if (in->n_launched == in->stop_at) {
    return tdt_error_set(error, TDT_ESTOPPED, "stopped inside");
  }
  in->me->r->now_ms += candidate == 2 ? 1.0 : 2.0;
  return TDT_OK;
}

static tdt_status call_inner(rank *me, size_t candidate, tdt_error *error) {
  inner *in = &inners[me->number];
  tdt_request request = me->r->request;
  tdt_choice choice;
  (void)candidate;
  request.key = in->key;
  request.user = in;
  request.launch = launch_inner;
  request.prune = NULL;
  request.poll = NULL;
  request.discard = NULL;
  in->status = tdt_tuner_resolve(in->tuner, &request, &choice, error);
  return in->swallows ? TDT_OK : in->status;
}

static void open_inner(ranks *all) {
  static unsigned n_keys;
  n_keys++;
  const tdt_function function = {.name = "inner", .module = "ops", .source = "i"};
  for (unsigned i = 0; i < all->n; i++) {
    rank *me = &all->at[i];
    inners[i] = (inner){.me = me};
    (void)snprintf(inners[i].key, sizeof inners[i].key, "inside %u", n_keys);
    assert_int_equal(
        tdt_tuner_create(me->r->context, &function, me->r->space, NULL, &inners[i].tuner, NULL),
        TDT_OK);
    me->on_launch = call_inner;
  }
}

static void close_inner(const ranks *all) {
  for (unsigned i = 0; i < all->n; i++) {
    tdt_tuner_destroy(inners[i].tuner);
  }
}

static void test_F22_a_tuning_inside_of_a_tuning(void **state) {
  ranks *all = *state;
  open_inner(all);
  ranks_run(all, "k");
  ranks_assert_winner(all, 1, TDT_ORIGIN_TUNED);
  for (unsigned i = 0; i < all->n; i++) {
    size_t candidate;
    assert_true(
        tdt_tuner_lookup(inners[i].tuner, inners[i].key, strlen(inners[i].key), &candidate));
    assert_int_equal(candidate, 2);
    assert_int_equal(all->at[i].n_max, 2);
  }
  close_inner(all);
}

/* Both end on all ranks; the next call works. */
static void test_an_inner_tuning_that_stops_on_one_rank(void **state) {
  ranks *all = *state;
  for (unsigned turn = 0; turn < 2 * all->n; turn++) {
    const unsigned odd = turn / 2;
    char key[2] = {(char)('a' + turn), '\0'};
    open_inner(all);
    inners[odd].stop_at = 7;
    for (unsigned i = 0; i < all->n; i++) {
      inners[i].swallows = turn % 2 != 0;
    }
    ranks_run(all, key);
    for (unsigned i = 0; i < all->n; i++) {
      const bool stopped = i == odd && !inners[i].swallows;
      if (all->at[i].status != (stopped ? TDT_ESTOPPED : TDT_EGROUP)) {
        fail_msg("rank %u: %s", i, tdt_error_text(&all->at[i].error));
      }
      if (inners[i].swallows) {
        assert_int_equal(inners[i].status, TDT_OK); /* it was called again */
      } else {
        assert_int_equal(inners[i].status, i == odd ? TDT_ESTOPPED : TDT_EGROUP);
      }
      ranks_assert_forgotten(&all->at[i]);
      if (!stopped) {
        assert_contains(tdt_error_text(&all->at[i].error), "scale, key");
        assert_contains(tdt_error_text(&all->at[i].error), "inside of this one");
      }
    }
    close_inner(all);
    ranks_restore(all);
    ranks_assert_in_step(all, key);
  }
}

/* The inner function has no candidate that works: that is a failure of the outer candidate, the
 * same on all. */
static tdt_status launch_nothing(void *user, size_t candidate, tdt_error *error) {
  (void)user;
  (void)candidate;
  return tdt_error_set(error, TDT_EFAILED, "none");
}

static tdt_status call_hopeless(rank *me, size_t candidate, tdt_error *error) {
  inner *in = &inners[me->number];
  tdt_request request = me->r->request;
  tdt_choice choice;
  if (candidate != 1) {
    return TDT_OK;
  }
  request.key = "inside";
  request.user = in;
  request.launch = launch_nothing;
  request.prune = NULL;
  request.poll = NULL;
  request.discard = NULL;
  return tdt_tuner_resolve(in->tuner, &request, &choice, error);
}

static void test_an_inner_tuning_without_a_winner(void **state) {
  ranks *all = *state;
  open_inner(all);
  for (unsigned i = 0; i < all->n; i++) {
    all->at[i].on_launch = call_hopeless;
  }
  ranks_run(all, "k");
  ranks_assert_winner(all, 2, TDT_ORIGIN_TUNED);
  close_inner(all);
}

/* -- one beside another --------------------------------------------------------------------------
 */

/* A second thread of each rank, with a rig of its own, over the same group and context. */
typedef struct second {
  rank *me;
  rig *r;
  tdt_status status;
  tdt_choice choice;
  tdt_error error;
} second;

static void *run_first(void *argument) {
  rank *me = argument;
  me->status = tdt_tuner_resolve(me->r->tuner, &me->r->request, &me->choice, &me->error);
  return NULL;
}

static void *run_second(void *argument) {
  second *it = argument;
  it->status = tdt_tuner_resolve(it->r->tuner, &it->r->request, &it->choice, &it->error);
  return NULL;
}

static void open_second(second *it, rank *me) {
  const tdt_function function = {.name = "scale", .module = "ops", .source = "abc"};
  void *made = NULL;
  assert_int_equal(rig_setup(&made), 0);
  *it = (second){.me = me, .r = made, .error = TDT_ERROR_INIT};
  tdt_tuner_destroy(it->r->tuner);
  assert_int_equal(
      tdt_tuner_create(me->r->context, &function, it->r->space, NULL, &it->r->tuner, NULL), TDT_OK);
  it->r->request.group = &me->group;
  it->r->request.key = "second";
  it->r->device.id = "scripted:1";
}

static void close_second(second *it) {
  void *made = it->r;
  tdt_error_clear(&it->error);
  (void)rig_teardown(&made);
}

/* Until that rank has posted in a round of this run. */
static void wait_for_post(const rank *me) {
  while (me->n_posts == 0) {
    (void)usleep(1000);
  }
}

/* Each rank's first thread tunes one key, its second another; `second_first` says for each rank
 * which of them comes first. */
static void run_both(ranks *all, second *others, const bool *second_first) {
  pthread_t threads[RANKS_MOST][2];
  (void)alarm(120);
  for (unsigned i = 0; i < all->n; i++) {
    rank *me = &all->at[i];
    me->r->request.key = "first";
    me->n_posts = 0;
    tdt_error_clear(&me->error);
    tdt_error_clear(&others[i].error);
    void *(*earlier)(void *) = second_first[i] ? run_second : run_first;
    void *its = second_first[i] ? (void *)&others[i] : (void *)me;
    assert_int_equal(pthread_create(&threads[i][0], NULL, earlier, its), 0);
  }
  for (unsigned i = 0; i < all->n; i++) {
    void *(*later)(void *) = second_first[i] ? run_first : run_second;
    void *its = second_first[i] ? (void *)&all->at[i] : (void *)&others[i];
    wait_for_post(&all->at[i]);
    assert_int_equal(pthread_create(&threads[i][1], NULL, later, its), 0);
  }
  for (unsigned i = 0; i < all->n; i++) {
    assert_int_equal(pthread_join(threads[i][0], NULL), 0);
    assert_int_equal(pthread_join(threads[i][1], NULL), 0);
  }
  (void)alarm(0);
}

static void test_two_threads_of_each_rank(void **state) {
  static const bool same[RANKS_MOST] = {false};
  ranks *all = *state;
  second others[RANKS_MOST];
  for (unsigned i = 0; i < all->n; i++) {
    open_second(&others[i], &all->at[i]);
  }
  run_both(all, others, same);
  ranks_assert_winner(all, 1, TDT_ORIGIN_TUNED);
  for (unsigned i = 0; i < all->n; i++) {
    assert_int_equal(others[i].status, TDT_OK);
    assert_int_equal(others[i].choice.candidate, 1);
    close_second(&others[i]);
  }
}

/* In another order on each rank: an error that says so, no rank waits for ever. */
static void test_two_threads_in_different_order(void **state) {
  static const bool crossed[RANKS_MOST] = {false, true};
  ranks *all = *state;
  second others[RANKS_MOST];
  for (unsigned i = 0; i < all->n; i++) {
    open_second(&others[i], &all->at[i]);
  }
  run_both(all, others, crossed);
  for (unsigned i = 0; i < all->n; i++) {
    assert_int_equal(all->at[i].status, TDT_EGROUP);
    assert_int_equal(others[i].status, TDT_EGROUP);
    assert_contains(tdt_error_text(&all->at[i].error), "key: ");
    assert_contains(tdt_error_text(&others[i].error), "key: ");
    close_second(&others[i]);
  }
  ranks_restore(all);
  ranks_assert_in_step(all, "k");
}

/* Another thread of the rank withdraws while it tunes: nothing happens. */
static void *withdraw(void *argument) {
  const rank *me = argument;
  (void)tdt_group_withdraw(&me->group, "from another thread", NULL);
  return NULL;
}

static tdt_status let_another_withdraw(rank *me, size_t candidate, tdt_error *error) {
  pthread_t thread;
  if (candidate == 1 && pthread_create(&thread, NULL, withdraw, me) == 0) {
    (void)pthread_join(thread, NULL);
  }
  (void)error;
  return TDT_OK;
}

static void test_another_thread_withdraws_meanwhile(void **state) {
  ranks *all = *state;
  all->at[1].on_launch = let_another_withdraw;
  ranks_run(all, "k");
  ranks_assert_winner(all, 1, TDT_ORIGIN_TUNED);
}

/* -- several tuners, several groups --------------------------------------------------------------
 */

static void test_two_tuners_over_one_group(void **state) {
  ranks *all = *state;
  ranks_assert_in_step(all, "a");
  tdt_tuner *former[RANKS_MOST];
  const tdt_function function = {.name = "other", .module = "ops", .source = "xyz"};
  for (unsigned i = 0; i < all->n; i++) {
    rig *r = all->at[i].r;
    former[i] = r->tuner;
    assert_int_equal(tdt_tuner_create(r->context, &function, r->space, NULL, &r->tuner, NULL),
                     TDT_OK);
  }
  ranks_assert_in_step(all, "a");
  ranks_assert_in_step(all, "b");
  for (unsigned i = 0; i < all->n; i++) {
    tdt_tuner_destroy(all->at[i].r->tuner);
    all->at[i].r->tuner = former[i];
  }
  ranks_assert_in_step(all, "b");
}

/* Ranks 0 and 1, and ranks 2 and 3, at the same time; then 0 and 2, 1 and 3; all in the end. Each
 * pair has its own clocks, and so its own winner. */
static void join_pair(rank *me, board_world *pair, unsigned as) {
  me->carrier = pair->groups[as];
  me->group.rank = as;
  me->group.n_ranks = 2;
  me->group.rounds = pair->groups[as].rounds;
}

static void test_F11_groups_of_a_part_of_the_ranks(void **state) {
  static const unsigned pairings[2][2][2] = {{{0, 1}, {2, 3}}, {{0, 2}, {1, 3}}};
  static const char *const keys[] = {"a", "b"};
  ranks *all = *state;
  board_world pairs[4];
  const tdt_group whole[RANKS_MOST] = {all->at[0].group, all->at[1].group, all->at[2].group,
                                       all->at[3].group};
  const tdt_group carriers[RANKS_MOST] = {all->at[0].carrier, all->at[1].carrier,
                                          all->at[2].carrier, all->at[3].carrier};
  ranks_part_stores(all);
  ranks_set_costs(&all->at[3], (const double[]){1, 9, 2});
  for (unsigned turn = 0; turn < 2; turn++) {
    for (unsigned p = 0; p < 2; p++) {
      board_world *pair = &pairs[2 * turn + p];
      assert_true(board_world_open(pair, 2));
      for (unsigned as = 0; as < 2; as++) {
        join_pair(&all->at[pairings[turn][p][as]], pair, as);
      }
    }
    ranks_run(all, keys[turn]);
    for (unsigned i = 0; i < all->n; i++) {
      const bool with_3 = i == 3 || i == (turn == 0 ? 2 : 1);
      assert_int_equal(all->at[i].status, TDT_OK);
      assert_int_equal(all->at[i].choice.candidate, with_3 ? 2 : 1); /* max: 3, 9, 2 or 3, 1, 2 */
    }
  }
  for (unsigned i = 0; i < all->n; i++) {
    all->at[i].group = whole[i];
    all->at[i].carrier = carriers[i];
  }
  ranks_run(all, "c");
  ranks_assert_winner(all, 2, TDT_ORIGIN_TUNED);
  for (unsigned p = 0; p < 4; p++) {
    board_world_close(&pairs[p]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      RANKS_TEST(3, test_F22_a_tuning_inside_of_a_tuning),
      RANKS_TEST(3, test_an_inner_tuning_that_stops_on_one_rank),
      RANKS_TEST(2, test_an_inner_tuning_without_a_winner),
      RANKS_TEST(2, test_two_threads_of_each_rank),
      RANKS_TEST(2, test_two_threads_in_different_order),
      RANKS_TEST(2, test_another_thread_withdraws_meanwhile),
      RANKS_TEST(3, test_two_tuners_over_one_group),
      RANKS_TEST(4, test_F11_groups_of_a_part_of_the_ranks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
