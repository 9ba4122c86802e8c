/* SPDX-License-Identifier: MIT */
/* R05: how long ranks wait for one another, and what they say. The clock of waiting is in the
 * tests' hands: nobody waits for ten seconds or minutes. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "ranks_rig.h"

/* -- the clock -----------------------------------------------------------------------------------
 */

static atomic_uint skipped_s;

uint64_t __real_tdt__clock_ns(void);
uint64_t __wrap_tdt__clock_ns(void);
uint64_t __wrap_tdt__clock_ns(void) {
  return __real_tdt__clock_ns() + skipped_s * UINT64_C(1000000000);
}

/* What a rank's poll does to the clock: up to three times, between two slices of its wait. */
static tdt_status skip_201_s(rank *me, size_t candidate, tdt_error *error) {
  (void)candidate;
  (void)error;
  if (me->n_polls <= 3) {
    skipped_s += 201; /* 603 in all: more than rank 0 waits, less than the others do */
  }
  return TDT_OK;
}

static tdt_status skip_400_s(rank *me, size_t candidate, tdt_error *error) {
  (void)candidate;
  (void)error;
  if (me->n_polls <= 2) {
    skipped_s += 400;
  }
  return TDT_OK;
}

/* -- a line after ten seconds --------------------------------------------------------------------
 */

/* Ranks 0 and 2 wait for rank 1, until both have said so. */
static struct {
  pthread_mutex_t mutex;
  unsigned n_polls[3];
  int step;
} play = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static bool both_polled(unsigned times) {
  return play.n_polls[0] >= times && play.n_polls[2] >= times;
}

/* After 6 s rank 0 hints, after 12 s both tell; then rank 1 comes. */
static tdt_status play_on(rank *me, size_t candidate, tdt_error *error) {
  (void)candidate;
  (void)error;
  (void)pthread_mutex_lock(&play.mutex);
  play.n_polls[me->number]++;
  if (play.step < 3 && both_polled(2)) {
    play.step++;
    skipped_s += play.step <= 2 ? 6 : 0;
    memset(play.n_polls, 0, sizeof play.n_polls);
  }
  (void)pthread_mutex_unlock(&play.mutex);
  return TDT_OK;
}

static void wait_for_end_of_play(void) {
  const struct timespec a_while = {.tv_nsec = 1000 * 1000};
  bool over = false;
  while (!over) {
    (void)nanosleep(&a_while, NULL);
    (void)pthread_mutex_lock(&play.mutex);
    over = play.step >= 3;
    (void)pthread_mutex_unlock(&play.mutex);
  }
}

static tdt_status come_at_the_end(rank *me, size_t candidate, tdt_error *error) {
  (void)me;
  (void)candidate;
  (void)error;
  wait_for_end_of_play();
  return TDT_OK;
}

static void begin_play(ranks *all) {
  memset(play.n_polls, 0, sizeof play.n_polls);
  play.step = 0;
  all->at[0].on_poll = play_on;
  all->at[2].on_poll = play_on;
}

static void assert_told(const ranks *all, const char *what) {
  char mine[128];
  for (unsigned i = 0; i < all->n; i++) {
    const rig *r = all->at[i].r;
    assert_int_equal(r->n_warnings, i == 1 ? 0 : 1);
    if (i != 1) {
      (void)snprintf(mine, sizeof mine, "W scale, key k: %s: rank %u has waited 1", what, i);
      assert_contains(r->log, mine);
      assert_contains(r->log, " s for rank 1, and will for at most 600 s");
    }
  }
}

static void test_R05_after_10_s_a_line_names_who_is_missing(void **state) {
  ranks *all = *state;
  begin_play(all);
  all->at[1].on_start = come_at_the_end;
  ranks_run(all, "k");
  ranks_assert_winner(all, 1, TDT_ORIGIN_TUNED);
  assert_told(all, "check-in");
}

static tdt_status be_slow_once(rank *me, size_t candidate, tdt_error *error) {
  (void)error;
  if (candidate == 1 && me->r->candidates[1].n_launched == 0) {
    wait_for_end_of_play();
  }
  return TDT_OK;
}

static void test_R05_the_line_says_what_for(void **state) {
  ranks *all = *state;
  begin_play(all);
  all->at[1].on_launch = be_slow_once;
  ranks_run(all, "k");
  ranks_assert_winner(all, 1, TDT_ORIGIN_TUNED);
  assert_told(all, "candidate [1], timed runs");
}

/* -- the deadline --------------------------------------------------------------------------------
 */

static void set_timeout(ranks *all, double timeout_s) {
  for (unsigned i = 0; i < all->n; i++) {
    all->at[i].r->settings.rank_timeout_s = timeout_s;
  }
}

/* One after the other: each comes when the one before has given up. */
static void run_alone(ranks *all, unsigned who, const char *key) {
  for (unsigned i = 0; i < all->n; i++) {
    all->at[i].stays_away = i != who;
  }
  ranks_run(all, key);
  for (unsigned i = 0; i < all->n; i++) {
    all->at[i].stays_away = false;
  }
}

static void test_R05_a_rank_that_never_comes(void **state) {
  ranks *all = *state;
  for (unsigned absent = 1; absent < all->n; absent++) {
    char part[64];
    char key[2] = {(char)('a' + absent), '\0'};
    all->at[absent].stays_away = true;
    all->at[0].on_poll = skip_201_s;
    ranks_run(all, key);
    const char *text = ranks_assert_failed(all, TDT_EGROUP);
    (void)snprintf(part, sizeof part, "waited 600 s in vain for rank %u; ranks 0", absent);
    assert_contains(text, part);
    (void)snprintf(part, sizeof part, "at scale, key %s: check-in", key);
    assert_contains(text, part);
    ranks_restore(all);
    run_alone(all, absent, key); /* it hears what became of it */
    assert_int_equal(all->at[absent].status, TDT_EGROUP);
  }
}

/* Where the others are stands in the text, too. */
static tdt_status hang(rank *me, size_t candidate, tdt_error *error) {
  (void)me;
  if (candidate == 1) {
    return tdt_error_set(error, TDT_ESTOPPED, "killed");
  }
  return TDT_OK;
}

/* All that a rank sends is lost from the middle on, its note as well: as if it were killed. */
static tdt_status die(rank *me, size_t candidate, tdt_error *error) {
  if (candidate == 1) {
    board_delay(me->all->world.at, me->number, -1.0);
  }
  return hang(me, candidate, error);
}

static void test_R05_a_rank_dies_in_a_candidate(void **state) {
  ranks *all = *state;
  all->at[2].on_launch = die;
  all->at[0].on_poll = skip_201_s;
  ranks_run(all, "k");
  assert_int_equal(all->at[2].status, TDT_ESTOPPED);
  for (unsigned i = 0; i < 2; i++) {
    assert_int_equal(all->at[i].status, TDT_EGROUP);
    assert_contains(tdt_error_text(&all->at[i].error),
                    "waited 600 s in vain for rank 2; ranks 0-1 at scale, key k: candidate [1], "
                    "timed runs");
    ranks_assert_forgotten(&all->at[i]);
  }
}

static void test_R05_rank_0_dies_in_a_candidate(void **state) {
  ranks *all = *state;
  all->at[0].on_launch = die;
  all->at[1].on_poll = skip_400_s;
  ranks_run(all, "k");
  for (unsigned i = 1; i < 3; i++) {
    char part[128];
    assert_int_equal(all->at[i].status, TDT_EGROUP);
    (void)snprintf(part, sizeof part,
                   "waited 600 s in vain for rank 0; rank %u at scale, key k: candidate [1], timed "
                   "runs",
                   i);
    assert_contains(tdt_error_text(&all->at[i].error), part);
    ranks_assert_forgotten(&all->at[i]);
  }
}

static void test_R05_rank_0_never_comes(void **state) {
  ranks *all = *state;
  all->at[0].stays_away = true;
  all->at[1].on_poll = skip_400_s;
  ranks_run(all, "k");
  for (unsigned i = 1; i < 3; i++) {
    assert_int_equal(all->at[i].status, TDT_EGROUP);
    assert_contains(tdt_error_text(&all->at[i].error), "waited 600 s in vain for rank 0");
    assert_contains(tdt_error_text(&all->at[i].error), "scale, key k: check-in");
  }
}

/* -- and afterwards ------------------------------------------------------------------------------
 */

static void test_R05_who_comes_too_late_gets_an_error(void **state) {
  ranks *all = *state;
  for (unsigned late = 0; late < all->n; late++) {
    char key[2] = {(char)('a' + late), '\0'};
    set_timeout(all, 0.3);
    all->at[late].stays_away = true;
    ranks_run(all, key);
    for (unsigned i = 0; i < all->n; i++) {
      if (i != late) {
        assert_int_equal(all->at[i].status, TDT_EGROUP);
        ranks_assert_forgotten(&all->at[i]);
      }
    }
    set_timeout(all, 600.0); /* it learns of it at once */
    run_alone(all, late, key);
    assert_int_equal(all->at[late].status, TDT_EGROUP);
    assert_contains(tdt_error_text(&all->at[late].error), "in vain for rank");
    assert_contains(tdt_error_text(&all->at[late].error), late == 0 ? "rank 0" : "key");
    ranks_restore(all);
    ranks_assert_in_step(all, key);
  }
}

/* Rank 0 was late in a candidate and leaves: the others had given up already. */
static tdt_status oversleep_and_stop(rank *me, size_t candidate, tdt_error *error) {
  const struct timespec time = {.tv_sec = 1};
  (void)me;
  (void)candidate;
  (void)nanosleep(&time, NULL);
  return tdt_error_set(error, TDT_ESTOPPED, "interrupted");
}

static void test_R05_in_step_after_a_late_stop(void **state) {
  ranks *all = *state;
  for (unsigned late = 0; late < all->n; late++) {
    char key[2] = {(char)('a' + late), '\0'};
    set_timeout(all, 0.3);
    all->at[late].on_launch = oversleep_and_stop;
    ranks_run(all, key);
    for (unsigned i = 0; i < all->n; i++) {
      assert_int_equal(all->at[i].status, i == late ? TDT_ESTOPPED : TDT_EGROUP);
    }
    ranks_restore(all);
    ranks_assert_in_step(all, key);
  }
}

/* A message that was lost on the way is an error, and the next tuning works. */
static tdt_status lose_from_candidate_1(rank *me, size_t candidate, tdt_error *error) {
  (void)error;
  if (candidate == 1) {
    board_delay(me->all->world.at, me->number, -1.0);
  }
  return TDT_OK;
}

static void test_R05_in_step_after_lost_messages(void **state) {
  ranks *all = *state;
  for (unsigned odd = 0; odd < all->n; odd++) {
    char key[2] = {(char)('a' + odd), '\0'};
    set_timeout(all, 0.3);
    all->at[odd].on_launch = lose_from_candidate_1;
    ranks_run(all, key);
    for (unsigned i = 0; i < all->n; i++) {
      assert_int_equal(all->at[i].status, TDT_EGROUP);
      ranks_assert_forgotten(&all->at[i]);
    }
    board_delay(all->world.at, odd, 0.0);
    ranks_restore(all);
    ranks_assert_in_step(all, key);
  }
}

/* A message may take its time. */
static void test_R05_slow_messages(void **state) {
  ranks *all = *state;
  board_delay(all->world.at, 1, 0.15);
  ranks_run(all, "k");
  ranks_assert_winner(all, 1, TDT_ORIGIN_TUNED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      RANKS_TEST(3, test_R05_after_10_s_a_line_names_who_is_missing),
      RANKS_TEST(3, test_R05_the_line_says_what_for),
      RANKS_TEST(3, test_R05_a_rank_that_never_comes),
      RANKS_TEST(3, test_R05_a_rank_dies_in_a_candidate),
      RANKS_TEST(3, test_R05_rank_0_dies_in_a_candidate),
      RANKS_TEST(3, test_R05_rank_0_never_comes),
      RANKS_TEST(3, test_R05_who_comes_too_late_gets_an_error),
      RANKS_TEST(3, test_R05_in_step_after_a_late_stop),
      RANKS_TEST(3, test_R05_in_step_after_lost_messages),
      RANKS_TEST(2, test_R05_slow_messages),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
