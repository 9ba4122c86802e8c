/* SPDX-License-Identifier: MIT */
#ifndef TDT_TESTS_SESSION_WORLD_H
#define TDT_TESTS_SESSION_WORLD_H

#include <pthread.h>

#include "session_stage.h"

/* Up to three ranks, each a thread with a stage of its own, and a group between them. */
enum { MOST_RANKS = 3, MOST_VALUES = 64, MOST_EXCHANGES = 256 };

typedef struct meeting {
  pthread_barrier_t barrier;
  double values[MOST_RANKS][MOST_VALUES];
  size_t n_values[MOST_RANKS];
  unsigned n_ranks;
} meeting;

typedef struct rank {
  stage s;
  meeting *at;
  unsigned number;
  tdt_group group;
  tdt_group_rounds *rounds;
  double wire[MOST_VALUES];
  size_t n_wire;
  unsigned n_exchanges; /* in this run */
  size_t lengths[MOST_EXCHANGES];
  unsigned exchange_fails; /* this one, from 1; on all ranks alike. 0: none */
  bool mixed_up;           /* ranks exchanged vectors of different lengths, or a NaN */
  bool outside;            /* an exchange inside the outer function */
  tdt_status status;
  void (*begins)(const struct rank *me); /* on the rank's thread, around the run; NULL: nothing */
  void (*ends)(const struct rank *me);
} rank;

typedef struct world {
  meeting at;
  unsigned n;
  rank ranks[MOST_RANKS];
} world;

/* As cmocka's state. */
int world_open(void **state, unsigned n);
int world_two(void **state);
int world_three(void **state);
int world_close(void **state);

/* The same act on every rank. */
void world_add(world *w, const char *kernel, const char *key, size_t n, const double *costs);

/* Runs all ranks to their end, and sees that their exchanges fitted. */
void world_run(world *w);

void world_assert_all(const world *w, tdt_status status);
void world_find(const world *w, unsigned number, size_t act, tdt_session_tuning *tuning);
void world_assert_winners(const world *w, size_t act, size_t winner);

#endif
