/* SPDX-License-Identifier: MIT */
#include "group/names.h"

unsigned tdt__rank_number(const tdt_group *group, unsigned rank) {
  return group->numbers != NULL ? group->numbers[rank] : rank;
}

/* The last rank of a run that begins at `first`: all flagged, their numbers one after another. */
static unsigned end_of_run(const tdt_group *group, const bool *flags, unsigned first) {
  unsigned last = first;
  while (last + 1 < group->n_ranks && flags[last + 1] &&
         tdt__rank_number(group, last + 1) == tdt__rank_number(group, last) + 1) {
    last++;
  }
  return last;
}

static unsigned count(const tdt_group *group, const bool *flags) {
  unsigned n = 0;
  for (unsigned rank = 0; rank < group->n_ranks; rank++) {
    n += flags[rank] ? 1 : 0;
  }
  return n;
}

void tdt__ranks_add(tdt__text *text, const tdt_group *group, const bool *flags) {
  const char *separator = count(group, flags) == 1 ? "rank " : "ranks ";
  for (unsigned rank = 0; rank < group->n_ranks; rank++) {
    if (!flags[rank]) {
      continue;
    }
    const unsigned last = end_of_run(group, flags, rank);
    tdt__text_format(text, "%s%u", separator, tdt__rank_number(group, rank));
    if (last > rank) {
      tdt__text_format(text, "-%u", tdt__rank_number(group, last));
    }
    separator = ", ";
    rank = last;
  }
}
