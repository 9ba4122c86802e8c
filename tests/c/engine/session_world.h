/* SPDX-License-Identifier: MIT */
#ifndef TDT_TESTS_SESSION_WORLD_H
#define TDT_TESTS_SESSION_WORLD_H

#include <pthread.h>

#include "board.h"
#include "session_stage.h"

/* Up to three ranks, each a thread with a stage of its own, and a board between them. */
enum { MOST_RANKS = 3 };

typedef struct rank {
  stage s;
  unsigned number;
  tdt_status status;
  void (*begins)(const struct rank *me); /* on the rank's thread, around the run; NULL: nothing */
  void (*ends)(const struct rank *me);
} rank;

typedef struct world {
  board_world between;
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

/* Runs all ranks to their end. */
void world_run(world *w);

void world_assert_all(const world *w, tdt_status status);
void world_find(const world *w, unsigned number, size_t act, tdt_session_tuning *tuning);
void world_assert_winners(const world *w, size_t act, size_t winner);

#endif
