/* SPDX-License-Identifier: MIT */
#ifndef TDT_ENGINE_AGREE_H
#define TDT_ENGINE_AGREE_H

#include "engine/request.h"
#include "engine/schedule.h"
#include "engine/slate.h"

/*
 * Every conversation between the ranks of a tuning, in the order in which they are held. All are
 * for calls with a talk, and return what tdt__round_hold() does: after TDT_EGROUP by common
 * knowledge the talk is over on all ranks, after any other failure the caller leaves it.
 *
 * For each tuned key these are the check-in, a record handed over if ranks have different ones, the
 * candidates, what was prepared if there is such a callback, two for each candidate that is
 * measured, the times (with a reduction), and the winner: a number that depends on the candidates
 * only as far as they are measured one by one. Where the plan decides on the way there is one more
 * for each candidate that is measured on, and one with a reduction for each comparison; of those
 * the plan has a bound.
 */

/* What came of the check-in. */
typedef struct tdt__agreed {
  bool hands_over; /* the ranks know different things: all go by what rank `from` knows */
  unsigned from;
  bool writes; /* this rank writes the record for its machine and store */
} tdt__agreed;

/* Who tunes what, and what is known of it: compares function, source, key, candidates, rules, plan
 * and settings. `slate` is what this rank's store knows. */
tdt_status tdt__agree_call(const tdt__call *call, bool capturing, const tdt__slate *slate,
                           tdt__agreed *agreed, tdt_error *error);

/* The slate becomes what rank `from` knows; *news tells whether this rank knew something else. */
tdt_status tdt__agree_record(const tdt__call *call, unsigned from, tdt__slate *slate, bool *news,
                             tdt_error *error);

/* Compares what pruning left and what is to be measured. */
tdt_status tdt__agree_candidates(const tdt__call *call, const tdt__slate *slate, tdt_error *error);

/* Candidates whose preparation failed here, with the reasons (NULL elsewhere), one for each
 * candidate. Those that failed on some ranks and not on all become failed ones in the slate. */
tdt_status tdt__agree_prepared(const tdt__call *call, const char *const *reasons, tdt__slate *slate,
                               tdt_error *error);

/* A barrier before a burst: all ranks are about to do it. `reason` (NULL: none) tells that the
 * candidate failed here before it; *elsewhere (NULL: nowhere; free() it) that it did on a rank, and
 * which. */
tdt_status tdt__agree_burst(const tdt__call *call, const tdt__step *step, const char *reason,
                            char **elsewhere, tdt_error *error);

/* Makes the figures by which all ranks decide who is measured on the greatest over all of them.
 * What failed on one of them meanwhile fails in every schedule. `figures_ms` has room for those of
 * the whole schedule. */
tdt_status tdt__agree_figures(const tdt__call *call, tdt__schedule *schedule, double *figures_ms,
                              tdt_error *error);

/* Makes each candidate's time the greatest over all ranks; one that failed on any rank failed on
 * all, for the reason that the lowest of them gives. */
tdt_status tdt__agree_times(const tdt__call *call, tdt__slate *slate, tdt_error *error);

/* Whether all ranks found the same winner by the same times. */
tdt_status tdt__agree_winner(const tdt__call *call, const tdt__slate *slate, size_t winner,
                             tdt_error *error);

#endif
