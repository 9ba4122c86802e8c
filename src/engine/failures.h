/* SPDX-License-Identifier: MIT */
#ifndef TDT_ENGINE_FAILURES_H
#define TDT_ENGINE_FAILURES_H

#include "group/round.h"

/*
 * Candidates that failed, as ranks tell one another: an object from a candidate's index to its
 * reason. What comes back names the ranks, "rank 1: OutOfResources", unless a candidate failed on
 * all of them for the same reason.
 */

/* One for each of n reasons that is not NULL; a new reference. TDT_ENOMEM. */
tdt_status tdt__failures_list(const char *const *reasons, size_t n, json_t **failed,
                              tdt_error *error);
tdt_status tdt__failures_add(json_t *failed, size_t candidate, const char *reason,
                             tdt_error *error);

/* The reason, borrowed; NULL: it did not fail. */
const char *tdt__failures_reason(const json_t *failed, size_t candidate);

typedef enum tdt__failed_where {
  TDT__FAILED_ON_ANY,  /* rank */
  TDT__FAILED_ON_SOME, /* and not on all */
} tdt__failed_where;

/* A round in which every rank brings its failures, and gets those of all. Facts that are compared
 * in it besides, or NULL. *all is a new reference. Statuses as tdt__round_hold(). */
tdt_status tdt__failures_agree(tdt__talk *talk, const char *what, const tdt__facts *facts,
                               const json_t *mine, tdt__failed_where where, json_t **all,
                               tdt_error *error);

#endif
