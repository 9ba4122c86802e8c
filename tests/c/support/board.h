/* SPDX-License-Identifier: MIT */
#ifndef TDT_TESTS_BOARD_H
#define TDT_TESTS_BOARD_H

#include <stdbool.h>
#include <stddef.h>

#include <tdtune/group.h>

/*
 * A key-value store in memory that ranks, each a thread or all in one, share. It keeps callers to
 * what group.h says of put: a key is used once, a value has at most 1 MiB. Any number of ranks, any
 * number of threads.
 */
typedef struct board board;

/* NULL: out of memory. */
board *board_create(unsigned n_ranks);
void board_destroy(board *at);

/* The board as rank `rank` reaches it, without start_max and wait_max. */
tdt_group_callbacks board_callbacks(board *at, unsigned rank);

/* How often ranks did what so far; calls that failed are not counted. */
typedef struct board_counts {
  size_t n_puts;
  size_t n_hits;   /* gets that found something */
  size_t n_misses; /* gets that found nothing */
  size_t n_drops;
  size_t n_alive;      /* keys now, lost ones not among them */
  size_t n_most_alive; /* at any time */
} board_counts;

board_counts board_count(board *at);

/* Whether there is such a key, seen by get or not yet. */
bool board_has(board *at, const char *key);

typedef enum board_verb { BOARD_PUT, BOARD_GET, BOARD_DROP, BOARD_N_VERBS } board_verb;

/* From that rank's call number `call` of the verb on (1 is its next), calls fail with `status` and
 * `text` (borrowed; NULL: without a word). TDT_OK: they work again. */
void board_fail(board *at, unsigned rank, board_verb verb, size_t call, tdt_status status,
                const char *text);

/* What the rank puts from now on is seen `delay_s` later; for ever later if that is negative (it is
 * lost). 0: at once. Its put does not wait. */
void board_delay(board *at, unsigned rank, double delay_s);

/* A board and the groups of all ranks over it, each with rounds of its own. */
typedef struct board_world {
  board *at;
  unsigned n;
  tdt_group *groups;
} board_world;

/* False: out of memory, and there is nothing to close. */
bool board_world_open(board_world *world, unsigned n);
void board_world_close(board_world *world);

/* Makes the group of a rank anew, over the same rounds. */
tdt_status board_world_renew(board_world *world, unsigned rank);

#endif
