/* SPDX-License-Identifier: MIT */
/* R04: one rank fails, or stops; the others end with it, at once. No deadline passes here: it is
 * ten minutes away. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "ranks_rig.h"

#include "group/note.h"
#include "group/rounds.h"

static void set_key(char key[32], unsigned number) {
  (void)snprintf(key, 32, "k%u", number);
}

/* -- candidates ----------------------------------------------------------------------------------
 */

static void assert_reason(ranks *all, const char *key, size_t candidate, const char *reason) {
  tdt_record *record = rig_record(all->at[0].r, key);
  tdt_candidate found;
  assert_non_null(record);
  assert_int_equal(tdt_record_candidate(record, candidate, &found, NULL), TDT_OK);
  assert_int_equal(found.outcome, TDT_OUTCOME_FAILED);
  assert_string_equal(found.error, reason);
  tdt_record_destroy(record);
}

/* In the first warm-up, a later one, the first timed run, the last. */
static void test_R04_case_R2_a_candidate_fails_on_one_rank(void **state) {
  static const unsigned runs[] = {1, 3, 6, 15};
  static const size_t winners[] = {1, 2, 1}; /* without that candidate */
  ranks *all = *state;
  unsigned n_keys = 0;
  for (size_t c = 0; c < 3; c++) {
    for (unsigned odd = 0; odd < all->n; odd++) {
      for (size_t i = 0; i < N_OF(runs); i++) {
        char key[32];
        char reason[64];
        set_key(key, n_keys++);
        ranks_restore(all);
        all->at[odd].r->candidates[c].fails = "OutOfMemoryError";
        all->at[odd].r->candidates[c].from_run = runs[i];
        ranks_run(all, key);
        ranks_assert_winner(all, winners[c], TDT_ORIGIN_TUNED);
        (void)snprintf(reason, sizeof reason, "rank %u: OutOfMemoryError", odd);
        assert_reason(all, key, c, reason);
        assert_int_equal(all->at[odd].r->candidates[c].n_discarded, 1);
      }
    }
  }
}

static pthread_barrier_t collective;

/* As a launcher that communicates: no rank gets through it alone. */
static tdt_status communicate(rank *me, size_t candidate, tdt_error *error) {
  (void)me;
  (void)candidate;
  (void)error;
  (void)pthread_barrier_wait(&collective);
  return TDT_OK;
}

/* A rank on which a candidate fails after its communication stays in step with the others, who have
 * the rest of the burst before them. */
static void test_R04_a_candidate_that_communicates_fails_on_one_rank(void **state) {
  static const unsigned runs[] = {1, 3, 6, 12};
  ranks *all = *state;
  unsigned n_keys = 0;
  assert_int_equal(pthread_barrier_init(&collective, NULL, all->n), 0);
  for (unsigned odd = 0; odd < all->n; odd++) {
    for (size_t i = 0; i < N_OF(runs); i++) {
      char key[32];
      set_key(key, n_keys++);
      ranks_restore(all);
      for (unsigned r = 0; r < all->n; r++) {
        all->at[r].on_launch = communicate;
      }
      all->at[odd].r->candidates[1].fails = "OutOfMemoryError";
      all->at[odd].r->candidates[1].from_run = runs[i];
      ranks_run(all, key);
      ranks_assert_winner(all, 2, TDT_ORIGIN_TUNED);
      for (unsigned r = 0; r < all->n; r++) {
        assert_int_equal(all->at[r].r->candidates[1].n_launched,
                         all->at[0].r->candidates[1].n_launched);
      }
    }
  }
  (void)pthread_barrier_destroy(&collective);
}

/* None is run for its timed runs that failed in a warm-up anywhere. */
static void test_R04_a_failed_warm_up_spares_the_others(void **state) {
  ranks *all = *state;
  all->at[1].r->candidates[1].fails = "no";
  ranks_run(all, "k");
  ranks_assert_winner(all, 2, TDT_ORIGIN_TUNED);
  assert_int_equal(all->at[0].r->candidates[1].n_launched, tdt_plan_documented().n_warmup);
  assert_int_equal(all->at[0].r->candidates[1].n_discarded, 1);
}

static void test_R04_two_ranks_give_reasons(void **state) {
  ranks *all = *state;
  all->at[1].r->candidates[0].fails = "this";
  all->at[2].r->candidates[0].fails = "that";
  ranks_run(all, "k");
  ranks_assert_winner(all, 1, TDT_ORIGIN_TUNED);
  assert_reason(all, "k", 0, "ranks 1-2: this");
}

static void test_R04_the_same_reason_on_all_needs_no_names(void **state) {
  ranks *all = *state;
  for (unsigned i = 0; i < all->n; i++) {
    all->at[i].r->candidates[0].fails = "no";
  }
  ranks_run(all, "k");
  ranks_assert_winner(all, 1, TDT_ORIGIN_TUNED);
  assert_reason(all, "k", 0, "no");
}

static void test_R04_F14_none_works_on_all_ranks(void **state) {
  ranks *all = *state;
  all->at[0].r->candidates[0].fails = "zero here";
  all->at[1].r->candidates[1].fails = "one there";
  all->at[0].r->candidates[2].fails = "two here";
  ranks_run(all, "k");
  const char *text = ranks_assert_failed(all, TDT_EFAILED);
  assert_contains(text, "rank 0: zero here");
  assert_contains(text, "rank 1: one there");
  assert_contains(text, "rank 0: two here");
  assert_null(rig_record(all->at[0].r, "k"));
  ranks_restore(all);
  ranks_assert_in_step(all, "k");
}

/* A candidate's word is passed on as text, whatever bytes it has. */
static void test_R04_a_reason_that_is_no_text(void **state) {
  ranks *all = *state;
  all->at[1].r->candidates[0].fails = "bad \xff\xfe bytes\n\"quoted\"";
  ranks_run(all, "k");
  ranks_assert_winner(all, 1, TDT_ORIGIN_TUNED);
  tdt_record *record = rig_record(all->at[0].r, "k");
  tdt_candidate found;
  assert_int_equal(tdt_record_candidate(record, 0, &found, NULL), TDT_OK);
  assert_contains(found.error, "rank 1: bad ");
  assert_contains(found.error, "bytes\n\"quoted\"");
  tdt_record_destroy(record);
}

/* -- preparation ---------------------------------------------------------------------------------
 */

static void test_B02_not_prepared_on_some_is_run_on_none(void **state) {
  ranks *all = *state;
  for (unsigned odd = 0; odd < all->n; odd++) {
    char key[32];
    char reason[64];
    set_key(key, odd);
    ranks_restore(all);
    ranks_set_prepare(all);
    all->at[odd].prepare_fails[1] = "ptxas";
    ranks_run(all, key);
    ranks_assert_winner(all, 2, TDT_ORIGIN_TUNED);
    (void)snprintf(reason, sizeof reason, "rank %u: ptxas", odd);
    assert_reason(all, key, 1, reason);
    for (unsigned i = 0; i < all->n; i++) {
      assert_int_equal(all->at[i].n_prepared, 3);
      assert_int_equal(all->at[i].r->candidates[1].n_launched, 0);
    }
  }
}

static void test_B02_not_prepared_on_all_has_its_chance(void **state) {
  ranks *all = *state;
  ranks_set_prepare(all);
  for (unsigned i = 0; i < all->n; i++) {
    all->at[i].prepare_fails[1] = i == 0 ? "ptxas" : "another reason";
  }
  ranks_run(all, "k");
  ranks_assert_winner(all, 1, TDT_ORIGIN_TUNED);
}

static void test_B02_each_is_not_prepared_somewhere(void **state) {
  ranks *all = *state;
  ranks_set_prepare(all);
  for (size_t c = 0; c < 3; c++) {
    all->at[c % all->n].prepare_fails[c] = "ptxas";
  }
  ranks_run(all, "k");
  (void)ranks_assert_failed(all, TDT_EFAILED);
  assert_int_equal(ranks_count_launched(all), 0);
  ranks_restore(all);
  ranks_assert_in_step(all, "k");
}

static void test_B02_each_rank_begins_at_another_place(void **state) {
  ranks *all = *state;
  ranks_set_prepare(all);
  for (unsigned i = 0; i < all->n; i++) {
    all->at[i].r->settings.n_workers = 1;
  }
  ranks_run(all, "k");
  ranks_assert_winner(all, 1, TDT_ORIGIN_TUNED);
  for (unsigned i = 0; i < all->n; i++) {
    assert_int_equal(all->at[i].n_prepared, 3);
    assert_int_equal(all->at[i].prepared_first, i);
  }
}

/* -- a rank that leaves --------------------------------------------------------------------------
 */

/* It failed so; the others say that it gave up, and why. */
static void assert_left(const ranks *all, unsigned who, tdt_status status, const char *reason) {
  char name[32];
  (void)snprintf(name, sizeof name, "rank %u gave up", who);
  for (unsigned i = 0; i < all->n; i++) {
    const rank *me = &all->at[i];
    if (me->stays_away) {
      continue;
    }
    const tdt_status expected = i == who ? status : TDT_EGROUP;
    if (me->status != expected) {
      fail_msg("rank %u: %s: %s", i, tdt_status_name(me->status), tdt_error_text(&me->error));
    }
    assert_contains(tdt_error_text(&me->error), reason);
    ranks_assert_forgotten(me);
    if (i != who) {
      assert_contains(tdt_error_text(&me->error), name);
    }
  }
  assert_null(rig_record(all->at[0].r, all->at[0].r->request.key));
}

static tdt_status refuse_candidate_2(rank *me, size_t candidate, tdt_error *error) {
  (void)me;
  return candidate == 2 ? tdt_error_set(error, TDT_EFAILED, "KeyError: 'BLOCK'") : TDT_OK;
}

static void test_R04_pruning_fails_on_one_rank(void **state) {
  ranks *all = *state;
  for (unsigned odd = 0; odd < all->n; odd++) {
    char key[32];
    set_key(key, odd);
    all->at[odd].on_prune = refuse_candidate_2;
    ranks_run(all, key);
    assert_left(all, odd, TDT_EFAILED, "KeyError: 'BLOCK'");
    assert_int_equal(ranks_count_launched(all), 0);
    ranks_restore(all);
    ranks_assert_in_step(all, key);
  }
}

static void test_R04_the_device_is_ruined_on_one_rank(void **state) {
  ranks *all = *state;
  for (unsigned odd = 0; odd < all->n; odd++) {
    char key[32];
    set_key(key, odd);
    all->at[odd].r->candidates[1].fails = "illegal address";
    all->at[odd].r->candidates[1].ruins = true;
    ranks_run(all, key);
    assert_left(all, odd, TDT_EDEVICE, "candidate [1]");
    ranks_restore(all);
    ranks_assert_in_step(all, key);
  }
}

/* At the first launch, in the timed runs, at the last. */
static void test_R04_F13_a_rank_stops_in_a_launch(void **state) {
  static const size_t launches[] = {1, 5, 6, 16, 45};
  ranks *all = *state;
  unsigned n_keys = 0;
  for (size_t i = 0; i < N_OF(launches); i++) {
    for (unsigned odd = 0; odd < all->n; odd++) {
      char key[32];
      set_key(key, n_keys++);
      all->at[odd].r->stop_at = launches[i];
      ranks_run(all, key);
      assert_left(all, odd, TDT_ESTOPPED, "the user pressed a key");
      ranks_restore(all);
      ranks_assert_in_step(all, key);
    }
  }
}

static tdt_status stop(rank *me, size_t candidate, tdt_error *error) {
  (void)me;
  (void)candidate;
  return tdt_error_set(error, TDT_ESTOPPED, "the user pressed a key");
}

static void test_R04_F13_a_rank_stops_while_pruning(void **state) {
  ranks *all = *state;
  for (unsigned odd = 0; odd < all->n; odd++) {
    char key[32];
    set_key(key, odd);
    all->at[odd].on_prune = stop;
    ranks_run(all, key);
    assert_left(all, odd, TDT_ESTOPPED, "the user pressed a key");
    ranks_restore(all);
    ranks_assert_in_step(all, key);
  }
}

/* It begins when the other has stopped waiting. */
static tdt_status come_late(rank *me, size_t candidate, tdt_error *error) {
  const struct timespec slices = {.tv_nsec = 250 * 1000 * 1000};
  (void)me;
  (void)candidate;
  (void)error;
  (void)nanosleep(&slices, NULL);
  return TDT_OK;
}

static void test_R04_F13_a_rank_stops_while_it_waits(void **state) {
  ranks *all = *state;
  for (unsigned odd = 0; odd < all->n; odd++) {
    char key[32];
    set_key(key, odd);
    all->at[odd].on_poll = stop;
    all->at[odd == 0 ? 1 : 0].on_start = come_late;
    ranks_run(all, key);
    assert_left(all, odd, TDT_ESTOPPED, "the user pressed a key");
    ranks_restore(all);
    ranks_assert_in_step(all, key);
  }
}

/* While others are anticipated the thread that resolves asks poll() again and again. */
static void take_long(void *user, size_t candidate) {
  rank *me = user;
  (void)candidate;
  (void)come_late(me, 0, NULL);
}

static tdt_status end_after_a_launch(rank *me, size_t candidate, tdt_error *error) {
  (void)candidate;
  return me->r->n_launched == 0 ? TDT_OK : tdt_error_set(error, TDT_EIO, "the lid was shut");
}

static void test_R04_B02_a_rank_ends_while_it_anticipates(void **state) {
  ranks *all = *state;
  for (unsigned odd = 0; odd < all->n; odd++) {
    char key[32];
    set_key(key, odd);
    all->at[odd].r->settings.n_workers = 2;
    all->at[odd].r->request.anticipate = take_long;
    all->at[odd].on_poll = end_after_a_launch;
    ranks_run(all, key);
    assert_left(all, odd, TDT_EIO, "the lid was shut");
    assert_int_equal(all->at[odd].r->n_launched, 1); /* and not on for the others' sake */
    ranks_restore(all);
    ranks_assert_in_step(all, key);
  }
}

static void test_R04_the_text_of_dependencies_is_bad_on_one_rank(void **state) {
  ranks *all = *state;
  for (unsigned odd = 0; odd < all->n; odd++) {
    char key[32];
    set_key(key, odd);
    all->at[odd].r->request.dependencies = "no JSON";
    ranks_run(all, key);
    assert_left(all, odd, TDT_EINVAL, "dependencies");
    ranks_restore(all);
    ranks_assert_in_step(all, key);
  }
}

static void test_the_group_fails_on_one_rank(void **state) {
  ranks *all = *state;
  static const board_verb verbs[] = {BOARD_PUT, BOARD_GET};
  unsigned n_keys = 0;
  for (size_t i = 0; i < N_OF(verbs); i++) {
    for (unsigned odd = 0; odd < all->n; odd++) {
      char key[32];
      set_key(key, n_keys++);
      for (unsigned k = 0; k < all->n; k++) {
        all->at[k].r->settings.rank_timeout_s = 1.0; /* nobody is told where put fails */
      }
      board_fail(all->world.at, odd, verbs[i], 3, TDT_EGROUP, "the network is down");
      ranks_run(all, key);
      for (unsigned k = 0; k < all->n; k++) {
        assert_int_equal(all->at[k].status, TDT_EGROUP);
      }
      assert_contains(tdt_error_text(&all->at[odd].error), "the network is down");
      board_fail(all->world.at, odd, verbs[i], 1, TDT_OK, NULL);
      ranks_restore(all);
      ranks_assert_in_step(all, key);
    }
  }
}

/* Only rank 0 cleans; what it leaves behind is in nobody's way. */
static void test_keys_that_cannot_be_removed_are_no_failure(void **state) {
  ranks *all = *state;
  board_fail(all->world.at, 0, BOARD_DROP, 1, TDT_EGROUP, "the network is down");
  ranks_assert_in_step(all, "a");
  ranks_assert_in_step(all, "b");
}

/* -- a rank that never begins --------------------------------------------------------------------
 */

static void test_R04_a_rank_withdraws_before(void **state) {
  ranks *all = *state;
  for (unsigned odd = 0; odd < all->n; odd++) {
    char key[32];
    set_key(key, odd);
    all->at[odd].stays_away = true;
    assert_int_equal(tdt_group_withdraw(&all->at[odd].group, "key_fn: ZeroDivisionError", NULL),
                     TDT_OK);
    ranks_run(all, key);
    assert_left(all, odd, TDT_OK, "key_fn: ZeroDivisionError");
    ranks_restore(all);
    ranks_assert_in_step(all, key);
  }
}

static void test_R04_two_ranks_withdraw(void **state) {
  ranks *all = *state;
  for (unsigned i = 1; i < all->n; i++) {
    all->at[i].stays_away = true;
    assert_int_equal(tdt_group_withdraw(&all->at[i].group, "no", NULL), TDT_OK);
  }
  ranks_run(all, "k");
  assert_left(all, 1, TDT_OK, "no");
  ranks_restore(all);
  ranks_assert_in_step(all, "k");
}

/* From inside of a tuning, whose launch then fails in whatever way. */
static tdt_status withdraw_and_stop(rank *me, size_t candidate, tdt_error *error) {
  if (candidate != 1) {
    return TDT_OK;
  }
  assert_int_equal(tdt_group_withdraw(&me->group, "an inner key_fn", NULL), TDT_OK);
  return tdt_error_set(error, TDT_ESTOPPED, "and so it stops");
}

static tdt_status withdraw_and_fail(rank *me, size_t candidate, tdt_error *error) {
  if (candidate != 1 || me->r->candidates[1].n_launched > 0) {
    return TDT_OK;
  }
  me->r->candidates[1].n_launched++;
  assert_int_equal(tdt_group_withdraw(&me->group, "an inner key_fn", NULL), TDT_OK);
  return tdt_error_set(error, TDT_EFAILED, "and so it fails");
}

static tdt_status withdraw_and_go_on(rank *me, size_t candidate, tdt_error *error) {
  (void)error;
  if (candidate == 1 && me->r->candidates[1].n_launched == 0) {
    assert_int_equal(tdt_group_withdraw(&me->group, "an inner key_fn", NULL), TDT_OK);
  }
  return TDT_OK;
}

static void test_R04_a_rank_withdraws_inside_of_a_tuning(void **state) {
  ranks_script *const scripts[] = {withdraw_and_stop, withdraw_and_fail, withdraw_and_go_on};
  ranks *all = *state;
  unsigned n_keys = 0;
  for (size_t i = 0; i < N_OF(scripts); i++) {
    for (unsigned odd = 0; odd < all->n; odd++) {
      char key[32];
      set_key(key, n_keys++);
      all->at[odd].on_launch = scripts[i];
      ranks_run(all, key);
      for (unsigned k = 0; k < all->n; k++) {
        const bool stopped = k == odd && scripts[i] == withdraw_and_stop;
        assert_int_equal(all->at[k].status, stopped ? TDT_ESTOPPED : TDT_EGROUP);
        if (k != odd) {
          assert_contains(tdt_error_text(&all->at[k].error), "gave up: an inner key_fn");
        }
      }
      ranks_restore(all);
      ranks_assert_in_step(all, key);
    }
  }
}

/* As withdrawing does it, a while ago. */
static void leave_old_note(rank *me, int age_s) {
  char note[128];
  (void)snprintf(note, sizeof note,
                 "{\"note\": \"long forgotten\", \"who\": \"\", \"time\": %" PRId64 "}",
                 (int64_t)time(NULL) - age_s);
  assert_true(tdt__rounds_enter(me->group.rounds, 0.0));
  assert_int_equal(tdt__note_post(&me->group, tdt__rounds_next(me->group.rounds), note, NULL),
                   TDT_OK);
  tdt__rounds_leave(me->group.rounds);
}

static void test_R04_an_old_note_is_skipped(void **state) {
  ranks *all = *state;
  for (unsigned odd = 0; odd < all->n; odd++) {
    char key[32];
    set_key(key, odd);
    leave_old_note(&all->at[odd], TDT__NOTE_FRESH_S + 1);
    ranks_run(all, key);
    ranks_assert_winner(all, 1, TDT_ORIGIN_TUNED);
  }
}

/* Several, from several ranks; and two after one another of one rank. */
static void test_R04_old_notes_are_skipped(void **state) {
  ranks *all = *state;
  for (unsigned i = 0; i < all->n; i++) {
    leave_old_note(&all->at[i], 1000);
  }
  leave_old_note(&all->at[1], 999);
  leave_old_note(&all->at[2], 999);
  leave_old_note(&all->at[2], 998);
  ranks_run(all, "k");
  ranks_assert_winner(all, 1, TDT_ORIGIN_TUNED);
}

static void test_R04_a_young_note_counts(void **state) {
  ranks *all = *state;
  leave_old_note(&all->at[1], TDT__NOTE_FRESH_S - 15);
  all->at[1].stays_away = true;
  ranks_run(all, "k");
  assert_left(all, 1, TDT_OK, "long forgotten");
  ranks_restore(all);
  ranks_assert_in_step(all, "k");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      RANKS_TEST(2, test_R04_case_R2_a_candidate_fails_on_one_rank),
      RANKS_TEST(3, test_R04_a_candidate_that_communicates_fails_on_one_rank),
      RANKS_TEST(2, test_R04_a_failed_warm_up_spares_the_others),
      RANKS_TEST(3, test_R04_two_ranks_give_reasons),
      RANKS_TEST(3, test_R04_the_same_reason_on_all_needs_no_names),
      RANKS_TEST(2, test_R04_F14_none_works_on_all_ranks),
      RANKS_TEST(2, test_R04_a_reason_that_is_no_text),
      RANKS_TEST(3, test_B02_not_prepared_on_some_is_run_on_none),
      RANKS_TEST(3, test_B02_not_prepared_on_all_has_its_chance),
      RANKS_TEST(2, test_B02_each_is_not_prepared_somewhere),
      RANKS_TEST(3, test_B02_each_rank_begins_at_another_place),
      RANKS_TEST(3, test_R04_pruning_fails_on_one_rank),
      RANKS_TEST(3, test_R04_the_device_is_ruined_on_one_rank),
      RANKS_TEST(3, test_R04_F13_a_rank_stops_in_a_launch),
      RANKS_TEST(3, test_R04_F13_a_rank_stops_while_pruning),
      RANKS_TEST(2, test_R04_F13_a_rank_stops_while_it_waits),
      RANKS_TEST(2, test_R04_B02_a_rank_ends_while_it_anticipates),
      RANKS_TEST(3, test_R04_the_text_of_dependencies_is_bad_on_one_rank),
      RANKS_TEST(2, test_the_group_fails_on_one_rank),
      RANKS_TEST(2, test_keys_that_cannot_be_removed_are_no_failure),
      RANKS_TEST(3, test_R04_a_rank_withdraws_before),
      RANKS_TEST(3, test_R04_two_ranks_withdraw),
      RANKS_TEST(3, test_R04_a_rank_withdraws_inside_of_a_tuning),
      RANKS_TEST(3, test_R04_an_old_note_is_skipped),
      RANKS_TEST(3, test_R04_old_notes_are_skipped),
      RANKS_TEST(3, test_R04_a_young_note_counts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
