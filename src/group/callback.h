/* SPDX-License-Identifier: MIT */
#ifndef TDT_GROUP_CALLBACK_H
#define TDT_GROUP_CALLBACK_H

#include "group/callback_pieces.h"
#include "group/rounds.h"

/*
 * A group over a key-value store. Keys:
 *
 *   <round>/<sender>            a message; rank 0's is the answer of the round
 *   <round>/0/hint              what rank 0 posts in a round with the top bit set
 *   max<round>.<index>/<rank>   values to reduce; rank 0's are the result. The round is the last
 *                               one posted, the index counts reductions since then
 *
 * All ranks have the same of each, also where the group was made anew in between.
 */

/* What rank 0 knows of the keys that it will remove; zeroed at first. */
typedef struct tdt__callback_litter {
  uint64_t taking;  /* the round of which messages were taken last, */
  unsigned n_taken; /* from so many ranks */
  size_t n_hint;    /* pieces of the present round's hint; 0: none */
  bool begun;       /* the next two say something */
  uint64_t oldest;  /* answers from this round on may be there; messages only from after it on */
  size_t n_oldest;  /* pieces of that answer; 0: not known */
  char result[TDT__PIECE_KEY]; /* of the last reduction; "": none */
  size_t n_result;             /* its pieces; 0: not known */
} tdt__callback_litter;

/* A reduction by way of the store. */
typedef struct tdt__callback_max {
  unsigned n_begun; /* since the last round was posted */
  bool under_way;   /* begun and never finished */
  bool failed;      /* so it never will be */
  uint64_t round;   /* these two are in its keys */
  unsigned index;
  double *values;
  size_t n_values;
  unsigned n_come; /* rank 0: values of this many ranks are in `values`, its own too */
} tdt__callback_max;

typedef struct tdt__callback_group {
  tdt__pieces pieces;
  tdt_group face; /* as the caller has it */
  uint64_t round; /* the last one posted since the group was made; 0: none */
  tdt__callback_litter litter;
  tdt__callback_max max;
  size_t taken[]; /* rank 0: pieces of each rank's message in the round `taking`; 0: not taken */
} tdt__callback_group;

/* `round` may have the top bit, which makes it the key of a hint. */
void tdt__callback_key(char key[TDT__PIECE_KEY], uint64_t round, unsigned sender);
void tdt__callback_max_key(char key[TDT__PIECE_KEY], uint64_t round, unsigned index, unsigned rank);

/* callback_litter.c. For rank 0; `n` is the number of a message's pieces. */
void tdt__callback_took(tdt__callback_group *group, uint64_t round, unsigned from, size_t n);

/* A reduction ended, for which all ranks gave their values: `key` is its result, the one before is
 * of no use any more. */
void tdt__callback_reduced(tdt__callback_group *group, const char *key, size_t n);

/* Rank 0 posted the answer of `round`, in `n` pieces: removes the messages and answers that nobody
 * can need any more. */
tdt_status tdt__callback_clean(tdt__callback_group *group, uint64_t round, size_t n,
                               tdt_error *error);

/* callback_max.c. As in tdt_group_table. */
tdt_status tdt__callback_start_max(tdt__callback_group *group, const double *values,
                                   size_t n_values, tdt_error *error);
tdt_status tdt__callback_wait_max(tdt__callback_group *group, double slice_s, double *values,
                                  bool *done, tdt_error *error);

#endif
