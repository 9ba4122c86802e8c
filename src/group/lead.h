/* SPDX-License-Identifier: MIT */
#ifndef TDT_GROUP_LEAD_H
#define TDT_GROUP_LEAD_H

#include "group/round.h"

/* Rank 0's part in a round: it collects, compares and judges. */
typedef struct tdt__lead {
  tdt__talk *talk;
  const tdt__round *round;
  json_t **messages; /* of each rank; NULL: not there yet */
  bool *missing;     /* ranks whose message is not there yet */
  unsigned n_missing;
  unsigned swept; /* the rank at which the last look around ended */
  bool hinted;

  /* What it found: one of these. */
  json_t *answer; /* all went well */
  char *failure;  /* what every rank will say */
  bool skip;      /* hold another round */
} tdt__lead;

/* `mine` is rank 0's message, borrowed. TDT_ENOMEM. */
tdt_status tdt__lead_open(tdt__lead *lead, tdt__talk *talk, const tdt__round *round, json_t *mine,
                          tdt_error *error);
void tdt__lead_close(tdt__lead *lead);

/* Waits for all, and finds. Fails where nothing can be found: what the group or poll() said,
 * TDT_ENOMEM. */
tdt_status tdt__lead_find(tdt__lead *lead, tdt_error *error);

#endif
