/* SPDX-License-Identifier: MIT */
/* L03 over ranks: every allocation of one rank's part in a tuning fails once, and from some
 * allocation on all fail. The other rank ends as well, and nothing stays wrong. */
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"
#include "ranks_rig.h"

/* Thousands of records are written: none has to outlive a power cut. */
int __wrap_fsync(int file);
int __wrap_fsync(int file) {
  (void)file;
  return 0;
}

static void ignore_line(void *user, tdt_log_level level, const char *message) {
  (void)user;
  (void)level;
  (void)message;
}

static int setup(void **state) {
  int failed = ranks_setup_2(state);
  if (failed == 0) {
    ranks *all = *state;
    for (unsigned i = 0; i < all->n; i++) {
      all->at[i].r->request.log.write = ignore_line; /* the rig's own log allocates */
    }
  }
  return failed;
}

/* The thread of the rank that runs out of memory is armed when it starts. */
static struct {
  unsigned who;
  long at;
  bool from_then_on;
  bool reached;
} script;

static tdt_status arm(rank *me, size_t candidate, tdt_error *error) {
  (void)me;
  (void)candidate;
  (void)error;
  memory_arm(script.at, script.from_then_on);
  return TDT_OK;
}

static tdt_status disarm(rank *me, size_t candidate, tdt_error *error) {
  (void)me;
  (void)candidate;
  (void)error;
  script.reached = memory_disarm();
  return TDT_OK;
}

/* One way through a tuning. */
typedef struct road {
  const char *name;
  void (*prepare)(ranks *all, const char *key);
  bool spares_jansson; /* which asserts (2.14) where a string with escapes finds no memory */
  long step;           /* where every allocation would take too long */
} road;

static void prepare_nothing(ranks *all, const char *key) {
  (void)all;
  (void)key;
}

static void prepare_hit(ranks *all, const char *key) {
  ranks_run(all, key);
  ranks_assert_winner(all, 1, TDT_ORIGIN_TUNED);
  for (unsigned i = 0; i < all->n; i++) {
    rig_restart(all->at[i].r);
  }
}

static void prepare_hand_over(ranks *all, const char *key) {
  ranks_part_stores(all);
  ranks_warm(all, 0, key);
}

static void prepare_failures(ranks *all, const char *key) {
  (void)key;
  ranks_set_prepare(all);
  all->at[0].prepare_fails[0] = "not here";
  all->at[1].r->candidates[2].fails = "not there";
}

static void assert_outcome(const ranks *all, const road *way) {
  for (unsigned i = 0; i < all->n; i++) {
    const rank *me = &all->at[i];
    const bool mine = i == script.who;
    const bool good =
        me->status == TDT_OK || me->status == TDT_EGROUP || (mine && me->status == TDT_ENOMEM);
    if (!good) {
      fail_msg("%s, rank %u, allocation %ld of rank %u: %s: %s", way->name, i, script.at,
               script.who, tdt_status_name(me->status), tdt_error_text(&me->error));
    }
    if (me->status == TDT_OK) {
      assert_int_equal(me->choice.candidate, 1);
    } else {
      assert_int_equal(me->error.code, me->status);
      ranks_assert_forgotten(me);
    }
  }
}

/* Nobody reduces any more over a group that lost a reduction: a new one is needed. */
static bool lost_a_reduction(const ranks *all) {
  return strstr(tdt_error_text(&all->at[0].error), "reductions begun") != NULL;
}

/* Whatever happened, a few attempts later all is well: a note that came late may end one. */
static void assert_nothing_lost(ranks *all, const char *key) {
  for (unsigned attempt = 0; attempt < 3; attempt++) {
    bool good = true;
    ranks_restore(all);
    for (unsigned i = 0; i < all->n; i++) {
      all->at[i].r->settings.rank_timeout_s = 0.25;
    }
    ranks_run(all, key);
    for (unsigned i = 0; i < all->n; i++) {
      good = good && all->at[i].status == TDT_OK;
    }
    if (good) {
      assert_int_equal(all->at[0].choice.candidate, 1);
      assert_int_equal(all->at[1].choice.candidate, 1);
      return;
    }
    if (lost_a_reduction(all)) {
      ranks_renew_groups(all);
    }
  }
  fail_msg("allocation %ld of rank %u: %s; %s", script.at, script.who,
           tdt_error_text(&all->at[0].error), tdt_error_text(&all->at[1].error));
}

static void attempt(ranks *all, const road *way, const char *key) {
  ranks_restore(all);
  way->prepare(all, key);
  for (unsigned i = 0; i < all->n; i++) {
    all->at[i].r->settings.rank_timeout_s = 0.25;
  }
  all->at[script.who].on_start = arm;
  all->at[script.who].on_end = disarm;
  ranks_run(all, key);
  all->at[script.who].on_end = NULL;
  assert_outcome(all, way);
  assert_nothing_lost(all, key);
}

/* Every so many allocations, and fewer of them where each takes its time (valgrind, sanitizers). */
static long step_of(const road *way, bool from_then_on) {
#ifdef __SANITIZE_THREAD__
  const bool slow = true;
#else
  const bool slow = getenv("TDTUNE_SLOW") != NULL;
#endif
  return way->step * (from_then_on ? 60 : 1) * (slow ? 9 : 1) + 1;
}

static void walk(ranks *all, const road *way, bool from_then_on) {
  static unsigned n_keys;
  const long step = step_of(way, from_then_on);
  unsigned n_failed = 0;
  script.from_then_on = from_then_on;
  if (way->spares_jansson) {
    memory_spare_jansson();
  }
  for (script.who = 0; script.who < all->n; script.who++) {
    script.at = 1;
    do {
      char key[32];
      (void)snprintf(key, sizeof key, "k%u", n_keys++);
      attempt(all, way, key);
      n_failed += script.reached ? 1 : 0;
      script.at += step;
    } while (script.reached);
  }
  memory_give_to_jansson();
  assert_true(n_failed > 0);
}

static const road roads[] = {
    {"tuning", prepare_nothing, false, 5},
    {"hit", prepare_hit, false, 3},
    {"hand-over", prepare_hand_over, true, 2},
    {"failures", prepare_failures, false, 13},
};

static void test_L03_one_allocation_fails(void **state) {
  for (size_t i = 0; i < N_OF(roads); i++) {
    walk(*state, &roads[i], false);
  }
}

static void test_L03_none_works_any_more(void **state) {
  for (size_t i = 0; i < N_OF(roads); i++) {
    walk(*state, &roads[i], true);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_L03_one_allocation_fails, setup, ranks_teardown),
      cmocka_unit_test_setup_teardown(test_L03_none_works_any_more, setup, ranks_teardown),
  };
  memory_give_to_jansson();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
