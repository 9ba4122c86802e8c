/* SPDX-License-Identifier: MIT */
#ifndef TDT_GROUP_NAMES_H
#define TDT_GROUP_NAMES_H

#include <stdbool.h>

#include <tdtune/group.h>

#include "base/text.h"

/* What messages call a rank. */
unsigned tdt__rank_number(const tdt_group *group, unsigned rank);

/* Adds "rank 2" or "ranks 0-3, 5": those of the n_ranks flags that are set, of which there must be
 * one at least. */
void tdt__ranks_add(tdt__text *text, const tdt_group *group, const bool *flags);

#endif
