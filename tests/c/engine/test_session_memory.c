/* SPDX-License-Identifier: MIT */
/*
 * L03: every allocation of a session fails once, and from some allocation on all fail, on one rank
 * alone too.
 */
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"
#include "session_world.h"

static void ignore_line(void *user, tdt_log_level level, const char *message) {
  (void)user;
  (void)level;
  (void)message;
}

static const char long_reason[] =
    "a reason that does not fit into the place that an error has for short ones: "
    "0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 "
    "0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789";

/* Two kernels, one of them late, two candidates that fail. */
static void set_up(stage *s) {
  stage_act *copy = stage_add(s, "copy", "k", 3, (double[]){3, 2, 1});
  stage_act *product = stage_add(s, "product", "k", 2, (double[]){2, 1});
  s->options.log.write = ignore_line; /* the stage's own allocates */
  s->plan.n_warmup = 1;
  s->plan.n_repeat = 2;
  s->plan.statistic = TDT_STATISTIC_MEDIAN;
  copy->per_pass = 2;
  copy->candidates[1].fails = long_reason;
  product->from_pass = 2;
  product->candidates[0].fails = "no";
  product->candidates[0].from_run = 2;
}

static void assert_tuned(const stage *s) {
  for (size_t i = 0; i < 2; i++) {
    tdt_session_tuning tuning;
    assert_true(stage_find(s, &s->acts[i], &tuning));
    assert_int_equal(tuning.winner, i == 0 ? 2 : 1);
  }
}

static void try_one(long at, bool from_then_on, bool *reached) {
  stage s;
  assert_int_equal(stage_open(&s), 0);
  set_up(&s);
  memory_arm(at, from_then_on);
  tdt_status status = stage_run(&s);
  *reached = memory_disarm();
  /* An allocation for a log line or a sentence may fail without harm. */
  if (status != TDT_OK) {
    assert_true(*reached);
    assert_int_equal(status, TDT_ENOMEM);
    assert_string_not_equal(tdt_error_text(&s.error), "");
  } else {
    assert_tuned(&s);
  }
  if (s.session != NULL) {
    s.acts[1].from_pass = 1;
    status = stage_run(&s); /* what was decided before stays so */
    assert_int_equal(status, TDT_OK);
    assert_tuned(&s);
  }
  stage_close(&s);
}

static void test_L03_every_allocation_fails(void **state) {
  (void)state;
  for (int from_then_on = 0; from_then_on < 2; from_then_on++) {
    bool reached = true;
    long at = 0;
    while (reached) {
      at++;
      try_one(at, from_then_on != 0, &reached);
    }
    assert_true(at > 20); /* it is about something */
  }
}

static long fails_at;
static bool was_reached;

static void begins(const rank *me) {
  if (me->number == 1) {
    memory_arm(fails_at, false);
  }
}

static void ends(const rank *me) {
  if (me->number == 1) {
    was_reached = memory_disarm();
  }
}

/* Whether all ranks say that one of them never began a reduction, or lost one. */
static bool cannot_reduce(const world *w) {
  const char *text = tdt_error_text(&w->ranks[0].s.error);
  if (w->ranks[0].status == TDT_OK || strstr(text, "reductions begun") == NULL) {
    return false;
  }
  world_assert_all(w, TDT_EGROUP);
  assert_string_equal(text, tdt_error_text(&w->ranks[1].s.error));
  return true;
}

/* Wherever one rank runs out of memory, no other waits for it for ever. */
static void test_L03_R04_every_allocation_of_one_rank_fails(void **state) {
  (void)state;
  long n_spoilt = 0;
  was_reached = true;
  for (fails_at = 1; was_reached; fails_at++) {
    void *made = NULL;
    assert_int_equal(world_two(&made), 0);
    world *w = made;
    for (unsigned i = 0; i < w->n; i++) {
      set_up(&w->ranks[i].s);
      w->ranks[i].s.options.rank_timeout_s = 0.5;
      /* Made beforehand: a rank that has no session can tell nobody. */
      assert_int_equal(tdt_session_create(&w->ranks[i].s.options, &w->ranks[i].s.session, NULL),
                       TDT_OK);
      w->ranks[i].begins = begins;
      w->ranks[i].ends = ends;
    }
    world_run(w);
    bool spoilt = false; /* the group: a reduction was never finished */
    if (w->ranks[1].status != TDT_OK) {
      assert_int_equal(w->ranks[1].status, TDT_ENOMEM);
    }
    if (w->ranks[1].status != TDT_OK && w->ranks[0].status == TDT_OK) {
      /* It lost the very last answer. Nobody waits now; whoever goes on reads its note next. */
      assert_int_equal(w->ranks[0].s.pass, w->ranks[1].s.pass);
      spoilt = true;
    } else if (w->ranks[1].status != TDT_OK) {
      assert_int_equal(w->ranks[0].status, TDT_EGROUP);
      const char *text = tdt_error_text(&w->ranks[0].s.error);
      assert_true(strstr(text, "rank 1 gave up") != NULL || strstr(text, "waited 0.5 s") != NULL);
    } else {
      assert_int_equal(w->ranks[0].status, TDT_OK);
    }
    for (unsigned i = 0; i < w->n; i++) {
      w->ranks[i].begins = NULL;
      w->ranks[i].ends = NULL;
      if (w->ranks[1].status != TDT_OK) {
        /* It may have lost the very last answer, and then only the other knows the winners. */
        tdt_session_destroy(w->ranks[i].s.session);
        w->ranks[i].s.session = NULL;
      }
      w->ranks[i].s.acts[1].from_pass = 1;
    }
    if (!spoilt) {
      world_run(w);
      spoilt = cannot_reduce(w);
    }
    if (!spoilt) {
      world_assert_all(w, TDT_OK);
      world_assert_winners(w, 0, 2);
      world_assert_winners(w, 1, 1);
    }
    n_spoilt += spoilt ? 1 : 0;
    (void)world_close(&made);
  }
  assert_true(fails_at > 20);
  assert_true(n_spoilt < fails_at / 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_L03_every_allocation_fails),
      cmocka_unit_test(test_L03_R04_every_allocation_of_one_rank_fails),
  };
  return cmocka_run_group_tests_name("session-memory", tests, NULL, NULL);
}
