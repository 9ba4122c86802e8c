/* SPDX-License-Identifier: MIT */
#include "session_world.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static tdt_status group_max(void *self, double *values, size_t n, tdt_error *error) {
  rank *me = self;
  meeting *at = me->at;
  if (me->n_exchanges < MOST_EXCHANGES) {
    me->lengths[me->n_exchanges] = n;
  }
  me->n_exchanges++;
  me->outside = me->outside || me->s.in_outer;
  at->n_values[me->number] = n;
  memcpy(at->values[me->number], values, (n < MOST_VALUES ? n : MOST_VALUES) * sizeof *values);
  (void)pthread_barrier_wait(&at->barrier);
  for (unsigned r = 0; r < at->n_ranks; r++) {
    me->mixed_up = me->mixed_up || at->n_values[r] != n || n > MOST_VALUES;
    for (size_t i = 0; i < n && i < MOST_VALUES; i++) {
      me->mixed_up = me->mixed_up || isnan(at->values[r][i]);
      values[i] = at->values[r][i] > values[i] ? at->values[r][i] : values[i];
    }
  }
  (void)pthread_barrier_wait(&at->barrier);
  if (me->n_exchanges == me->exchange_fails) {
    return tdt_error_set(error, TDT_EGROUP, "the line is dead");
  }
  return TDT_OK;
}

static tdt_status start_max(void *self, const double *values, size_t n, tdt_error *error) {
  rank *me = self;
  memcpy(me->wire, values, (n < MOST_VALUES ? n : MOST_VALUES) * sizeof *values);
  me->n_wire = n;
  (void)error;
  return TDT_OK;
}

static tdt_status wait_max(void *self, double slice_s, double *values, bool *done,
                           tdt_error *error) {
  rank *me = self;
  (void)slice_s;
  *done = true;
  return group_max(self, values, me->n_wire, error);
}

static tdt_status no_post(void *self, uint64_t round, const void *bytes, size_t size,
                          tdt_error *error) {
  (void)self;
  (void)round;
  (void)bytes;
  (void)size;
  (void)error;
  return TDT_OK;
}

static tdt_status no_take(void *self, uint64_t round, unsigned from, double slice_s,
                          tdt_message *message, tdt_error *error) {
  (void)self;
  (void)round;
  (void)from;
  (void)slice_s;
  (void)message;
  return tdt_error_set(error, TDT_EGROUP, "not here");
}

static const tdt_group_table table = {TDT_GROUP_ABI, sizeof table, "threads", no_post,
                                      no_take,       start_max,    wait_max};

int world_open(void **state, unsigned n) {
  world *w = calloc(1, sizeof *w);
  if (w == NULL || pthread_barrier_init(&w->at.barrier, NULL, n) != 0) {
    free(w);
    return -1;
  }
  w->n = n;
  w->at.n_ranks = n;
  for (unsigned i = 0; i < n; i++) {
    rank *r = &w->ranks[i];
    (void)stage_open(&r->s);
    r->at = &w->at;
    r->number = i;
    if (tdt_group_rounds_create(&r->rounds, NULL) != TDT_OK) {
      return -1;
    }
    r->group = (tdt_group){&table, r, i, n, r->rounds, NULL};
    r->s.options.group = &r->group;
  }
  *state = w;
  return 0;
}

int world_two(void **state) {
  return world_open(state, 2);
}

int world_three(void **state) {
  return world_open(state, 3);
}

int world_close(void **state) {
  world *w = *state;
  for (unsigned i = 0; i < w->n; i++) {
    stage_close(&w->ranks[i].s);
    tdt_group_rounds_destroy(w->ranks[i].rounds);
  }
  (void)pthread_barrier_destroy(&w->at.barrier);
  free(w);
  return 0;
}

static void *take_part(void *argument) {
  rank *me = argument;
  me->n_exchanges = 0;
  if (me->begins != NULL) {
    me->begins(me);
  }
  me->status = stage_run(&me->s);
  if (me->ends != NULL) {
    me->ends(me);
  }
  return NULL;
}

void world_run(world *w) {
  pthread_t threads[MOST_RANKS];
  (void)alarm(120); /* ranks that wait for one another for ever */
  for (unsigned i = 0; i < w->n; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, take_part, &w->ranks[i]), 0);
  }
  for (unsigned i = 0; i < w->n; i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
  }
  (void)alarm(0);
  for (unsigned i = 0; i < w->n; i++) {
    assert_false(w->ranks[i].mixed_up);
    assert_false(w->ranks[i].outside);
    assert_int_equal(w->ranks[i].n_exchanges, w->ranks[0].n_exchanges);
  }
}

void world_add(world *w, const char *kernel, const char *key, size_t n, const double *costs) {
  for (unsigned i = 0; i < w->n; i++) {
    (void)stage_add(&w->ranks[i].s, kernel, key, n, costs);
  }
}

void world_assert_all(const world *w, tdt_status status) {
  for (unsigned i = 0; i < w->n; i++) {
    const rank *r = &w->ranks[i];
    if (r->status != status) {
      fail_msg("rank %u: %s: %s", i, tdt_status_name(r->status), tdt_error_text(&r->s.error));
    }
  }
}

void world_find(const world *w, unsigned number, size_t act, tdt_session_tuning *tuning) {
  const stage *s = &w->ranks[number].s;
  assert_true(stage_find(s, &s->acts[act], tuning));
}

void world_assert_winners(const world *w, size_t act, size_t winner) {
  for (unsigned i = 0; i < w->n; i++) {
    tdt_session_tuning tuning;
    world_find(w, i, act, &tuning);
    assert_int_equal(tuning.winner, winner);
    assert_int_equal(w->ranks[i].s.acts[act].last_ran, winner);
  }
}
