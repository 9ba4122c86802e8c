/* SPDX-License-Identifier: MIT */
#ifndef TDT_GROUP_GREATEST_H
#define TDT_GROUP_GREATEST_H

#include "group/facts.h"
#include "group/talk.h"

/*
 * A reduction by MAX, of which a tuning has one, or more where its plan decides on the way. Unlike
 * messages it is a collective: a rank that begins one alone waits in vain, and is a step ahead in
 * the next. So it comes right after a round in which all ranks said that they will begin it, and
 * that they have begun equally many before.
 */

enum { TDT__REDUCTIONS_SIZE = 64 };

/* The fact to compare in that round, its value in `text`. A former reduction that this rank left
 * may have come to its end by now, and then counts like any other. */
tdt__fact tdt__greatest_fact(const tdt__talk *talk, char text[TDT__REDUCTIONS_SIZE]);

/*
 * The greatest of each value over all ranks, none of them NaN. Where it does not come to its end
 * the ranks hold one round more to find out who is missing. TDT_EGROUP; what poll() returned.
 */
tdt_status tdt__greatest_find(tdt__talk *talk, const char *what, double *values, size_t n_values,
                              tdt_error *error);

#endif
