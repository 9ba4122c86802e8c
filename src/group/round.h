/* SPDX-License-Identifier: MIT */
#ifndef TDT_GROUP_ROUND_H
#define TDT_GROUP_ROUND_H

#include <jansson.h>

#include "group/facts.h"
#include "group/talk.h"

/*
 * One round of a talk: every rank brings the same kind of thing, rank 0 compares, judges and
 * answers all. It is also a barrier: no rank gets its answer before all have come.
 */
typedef struct tdt__round {
  const char *what;   /* the ranks do in it, for messages: "check-in". Compared before all facts */
  tdt__facts facts;   /* that must be equal on all ranks */
  const json_t *data; /* of this rank, may differ; NULL: none */
  /* On rank 0: makes the answer of what all ranks brought (data[rank], NULL: none). NULL: there is
   * no more to answer than that all have come. */
  tdt_status (*judge)(void *user, const tdt_group *group, const json_t *const *data,
                      json_t **answer, tdt_error *error);
  void *user;
} tdt__round;

/*
 * Takes part. *answer is a new reference, an object. TDT_EGROUP: a rank gave up, did not come
 * before the deadline, or brought other facts; where all ranks learn of it the text is the same on
 * all and the talk is over. What poll() returned; TDT_ENOMEM. Where the talk is not over after a
 * failure the others do not know of it yet.
 */
tdt_status tdt__round_hold(tdt__talk *talk, const tdt__round *round, json_t **answer,
                           tdt_error *error);

#endif
