/* SPDX-License-Identifier: MIT */
#ifndef TDT_TESTS_RANKS_RIG_H
#define TDT_TESTS_RANKS_RIG_H

#include <stdatomic.h>

#include "board.h"
#include "rig.h"

/*
 * Ranks, each a thread with a scripted world of its own (rig.h), over one board. All use the store
 * of rank 0, unless a test gives them their own. Scripts run in the rank's thread.
 */
enum { RANKS_MOST = 4 };

typedef struct ranks ranks;
typedef struct rank rank;

typedef tdt_status ranks_script(rank *me, size_t candidate, tdt_error *error);

struct rank {
  ranks *all;
  unsigned number;
  rig *r;
  tdt_group group; /* counts what goes through it to the board's */
  tdt_group_table table;
  tdt_group carrier;

  ranks_script *on_launch; /* before the rig's own, which runs if this says TDT_OK */
  ranks_script *on_prune;
  ranks_script *on_poll;  /* the candidate is 0 */
  ranks_script *on_start; /* of the thread, likewise; what it says is of no interest */
  ranks_script *on_end;   /* likewise */
  const char *prepare_fails[RIG_MOST];
  bool stays_away;

  /* Of the last run. Who posts takes part in a round; hints are left out. */
  atomic_uint n_posts;
  atomic_uint n_prepared;
  size_t prepared_first;
  unsigned n_max, n_polls;
  tdt_status status;
  tdt_choice choice;
  tdt_error error;
};

struct ranks {
  board_world world;
  unsigned n;
  rank at[RANKS_MOST];
};

int ranks_setup_2(void **state);
int ranks_setup_3(void **state);
int ranks_setup_4(void **state);
int ranks_teardown(void **state);

/* All ranks that do not stay away resolve `key`; a hang ends the program. */
void ranks_run(ranks *all, const char *key);
/* The same, each what its request says by now. */
void ranks_run_requests(ranks *all);
/* No script fails any more, every rank is as it was set up, and nothing is remembered. Stores and
 * groups stay. */
void ranks_restore(ranks *all);

/* Other groups over another board. */
void ranks_renew_groups(ranks *all);
/* Each rank with a store of its own. */
void ranks_part_stores(ranks *all);
/* Rank `number` tunes `key` alone, as if in an earlier process. */
void ranks_warm(ranks *all, unsigned number, const char *key);
void ranks_set_costs(rank *me, const double *costs_ms);
void ranks_set_prepare(ranks *all);
unsigned ranks_count_launched(const ranks *all);

void ranks_assert_winner(const ranks *all, size_t winner, tdt_origin origin);
/* All who ran failed so with the same text, which is borrowed, and remember nothing. */
const char *ranks_assert_failed(const ranks *all, tdt_status status);
void ranks_assert_forgotten(const rank *me);
/* A tuning of this key by all ranks goes well. */
void ranks_assert_in_step(ranks *all, const char *key);

#define RANKS_TEST(n, test) cmocka_unit_test_setup_teardown(test, ranks_setup_##n, ranks_teardown)

#endif
