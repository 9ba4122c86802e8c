/* SPDX-License-Identifier: MIT */
#include "session_world.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

int world_open(void **state, unsigned n) {
  world *w = calloc(1, sizeof *w);
  if (w == NULL || !board_world_open(&w->between, n)) {
    free(w);
    return -1;
  }
  w->n = n;
  for (unsigned i = 0; i < n; i++) {
    rank *r = &w->ranks[i];
    (void)stage_open(&r->s);
    r->number = i;
    r->s.options.group = &w->between.groups[i];
    r->s.options.rank_timeout_s = 30.0;
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
  }
  board_world_close(&w->between);
  free(w);
  return 0;
}

static void *take_part(void *argument) {
  rank *me = argument;
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
