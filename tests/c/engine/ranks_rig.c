/* SPDX-License-Identifier: MIT */
#include "ranks_rig.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { LONGEST_S = 120 };

/* -- a group that counts -------------------------------------------------------------------------
 */

static bool is_hint(uint64_t round) {
  return (round >> 63) != 0;
}

static tdt_status post(void *self, uint64_t round, const void *bytes, size_t size,
                       tdt_error *error) {
  rank *me = self;
  me->n_posts += is_hint(round) ? 0 : 1;
  return me->carrier.table->post(me->carrier.self, round, bytes, size, error);
}

static tdt_status take(void *self, uint64_t round, unsigned from, double slice_s,
                       tdt_message *message, tdt_error *error) {
  const rank *me = self;
  return me->carrier.table->take(me->carrier.self, round, from, slice_s, message, error);
}

static tdt_status start_max(void *self, const double *values, size_t n_values, tdt_error *error) {
  rank *me = self;
  me->n_max++;
  return me->carrier.table->start_max(me->carrier.self, values, n_values, error);
}

static tdt_status wait_max(void *self, double slice_s, double *values, bool *done,
                           tdt_error *error) {
  const rank *me = self;
  return me->carrier.table->wait_max(me->carrier.self, slice_s, values, done, error);
}

static void join_group(rank *me) {
  me->carrier = me->all->world.groups[me->number];
  me->table = (tdt_group_table){TDT_GROUP_ABI, sizeof me->table, "counted", post,
                                take,          start_max,        wait_max};
  me->group = me->carrier;
  me->group.table = &me->table;
  me->group.self = me;
}

/* -- callbacks that follow a script --------------------------------------------------------------
 */

static tdt_status launch(void *user, size_t candidate, tdt_error *error) {
  rank *me = user;
  tdt_status status = me->on_launch == NULL ? TDT_OK : me->on_launch(me, candidate, error);
  return status != TDT_OK ? status : rig_launch(me->r, candidate, error);
}

static tdt_status prune(void *user, size_t candidate, bool *keep, tdt_error *error) {
  rank *me = user;
  tdt_status status = me->on_prune == NULL ? TDT_OK : me->on_prune(me, candidate, error);
  *keep = !me->r->candidates[candidate].pruned;
  return status;
}

static void discard(void *user, size_t candidate) {
  const rank *me = user;
  me->r->candidates[candidate].n_discarded++;
}

static tdt_status poll(void *user, tdt_error *error) {
  rank *me = user;
  me->n_polls++;
  return me->on_poll == NULL ? TDT_OK : me->on_poll(me, 0, error);
}

static tdt_status prepare(void *user, size_t candidate, tdt_error *error) {
  rank *me = user;
  if (atomic_fetch_add(&me->n_prepared, 1) == 0) {
    me->prepared_first = candidate;
  }
  return me->prepare_fails[candidate] == NULL
             ? TDT_OK
             : tdt_error_set(error, TDT_EFAILED, "%s", me->prepare_fails[candidate]);
}

static void reset_request(rank *me) {
  tdt_request *request = &me->r->request;
  const tdt_log log = request->log;
  tdt_store *store = request->store;
  tdt_request_init(request);
  request->settings = &me->r->settings;
  request->device = &me->r->device;
  request->group = &me->group;
  request->store = store;
  request->log = log;
  request->user = me;
  request->launch = launch;
  request->prune = prune;
  request->discard = discard;
  request->poll = poll;
}

/* -- set-up --------------------------------------------------------------------------------------
 */

static int setup(void **state, unsigned n) {
  ranks *all = calloc(1, sizeof *all);
  if (all == NULL || !board_world_open(&all->world, n)) {
    return -1;
  }
  all->n = n;
  for (unsigned i = 0; i < n; i++) {
    void *made = NULL;
    if (rig_setup(&made) != 0) {
      return -1;
    }
    all->at[i].all = all;
    all->at[i].number = i;
    all->at[i].r = made;
    all->at[i].r->request.store = all->at[0].r->store;
    join_group(&all->at[i]);
    reset_request(&all->at[i]);
  }
  *state = all;
  return 0;
}

int ranks_setup_2(void **state) {
  return setup(state, 2);
}

int ranks_setup_3(void **state) {
  return setup(state, 3);
}

int ranks_setup_4(void **state) {
  return setup(state, 4);
}

int ranks_teardown(void **state) {
  ranks *all = *state;
  for (unsigned i = all->n; i-- > 0;) {
    void *made = all->at[i].r;
    tdt_error_clear(&all->at[i].error);
    (void)rig_teardown(&made);
  }
  board_world_close(&all->world);
  free(all);
  return 0;
}

void ranks_restore(ranks *all) {
  for (unsigned i = 0; i < all->n; i++) {
    rank *me = &all->at[i];
    rig *r = me->r;
    me->on_launch = NULL;
    me->on_prune = NULL;
    me->on_poll = NULL;
    me->on_start = NULL;
    me->on_end = NULL;
    me->stays_away = false;
    memset((void *)me->prepare_fails, 0, sizeof me->prepare_fails);
    r->settings = tdt_settings_default();
    r->ruined = false;
    r->is_capturing = false;
    r->stop_at = 0;
    reset_request(me);
    rig_offer(r, 3, (const int[]){3, 1, 2});
  }
}

void ranks_renew_groups(ranks *all) {
  board_world_close(&all->world);
  assert_true(board_world_open(&all->world, all->n));
  for (unsigned i = 0; i < all->n; i++) {
    join_group(&all->at[i]);
  }
}

void ranks_part_stores(ranks *all) {
  for (unsigned i = 0; i < all->n; i++) {
    all->at[i].r->request.store = all->at[i].r->store;
  }
}

void ranks_warm(ranks *all, unsigned number, const char *key) {
  rig *r = all->at[number].r;
  (void)alarm(LONGEST_S);
  r->request.group = NULL;
  (void)rig_resolve(r, key);
  r->request.group = &all->at[number].group;
  rig_restart(r);
  (void)alarm(0);
}

void ranks_set_costs(rank *me, const double *costs_ms) {
  for (size_t c = 0; c < me->r->n_candidates; c++) {
    me->r->candidates[c].cost_ms = costs_ms[c];
  }
}

void ranks_set_prepare(ranks *all) {
  for (unsigned i = 0; i < all->n; i++) {
    all->at[i].r->request.prepare = prepare;
  }
}

unsigned ranks_count_launched(const ranks *all) {
  unsigned n = 0;
  for (unsigned i = 0; i < all->n; i++) {
    n += all->at[i].r->n_launched;
  }
  return n;
}

/* -- a run ---------------------------------------------------------------------------------------
 */

static void *take_part(void *argument) {
  rank *me = argument;
  if (me->on_start != NULL) {
    (void)me->on_start(me, 0, NULL);
  }
  me->status = tdt_tuner_resolve(me->r->tuner, &me->r->request, &me->choice, &me->error);
  if (me->on_end != NULL) {
    (void)me->on_end(me, 0, NULL);
  }
  return NULL;
}

static void reset(rank *me) {
  rig_reset_counters(me->r);
  tdt_error_clear(&me->error);
  me->n_posts = 0;
  me->n_max = me->n_polls = 0;
  atomic_store(&me->n_prepared, 0);
  me->choice = (tdt_choice){77, TDT_ORIGIN_FIRST, false};
}

void ranks_run_requests(ranks *all) {
  pthread_t threads[RANKS_MOST];
  (void)alarm(LONGEST_S);
  for (unsigned i = 0; i < all->n; i++) {
    reset(&all->at[i]);
  }
  for (unsigned i = 0; i < all->n; i++) {
    if (!all->at[i].stays_away) {
      assert_int_equal(pthread_create(&threads[i], NULL, take_part, &all->at[i]), 0);
    }
  }
  for (unsigned i = 0; i < all->n; i++) {
    if (!all->at[i].stays_away) {
      assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
  }
  (void)alarm(0);
}

void ranks_run(ranks *all, const char *key) {
  for (unsigned i = 0; i < all->n; i++) {
    all->at[i].r->request.key = key;
  }
  ranks_run_requests(all);
}

/* -- what came out -------------------------------------------------------------------------------
 */

void ranks_assert_winner(const ranks *all, size_t winner, tdt_origin origin) {
  for (unsigned i = 0; i < all->n; i++) {
    const rank *me = &all->at[i];
    if (me->status != TDT_OK) {
      fail_msg("rank %u: %s: %s", i, tdt_status_name(me->status), tdt_error_text(&me->error));
    }
    assert_int_equal(me->choice.candidate, winner);
    assert_int_equal(me->choice.origin, origin);
  }
}

void ranks_assert_forgotten(const rank *me) {
  const char *key = me->r->request.key;
  size_t candidate;
  assert_false(tdt_tuner_lookup(me->r->tuner, key, strlen(key), &candidate));
  assert_int_equal(me->choice.candidate, 77);
}

const char *ranks_assert_failed(const ranks *all, tdt_status status) {
  const char *text = NULL;
  for (unsigned i = 0; i < all->n; i++) {
    const rank *me = &all->at[i];
    if (me->stays_away) {
      continue;
    }
    if (me->status != status) {
      fail_msg("rank %u: %s: %s", i, tdt_status_name(me->status), tdt_error_text(&me->error));
    }
    assert_int_equal(me->error.code, status);
    ranks_assert_forgotten(me);
    text = text != NULL ? text : tdt_error_text(&me->error);
    assert_string_equal(tdt_error_text(&me->error), text);
  }
  return text;
}

void ranks_assert_in_step(ranks *all, const char *key) {
  ranks_run(all, key);
  ranks_assert_winner(all, 1, TDT_ORIGIN_TUNED);
}
