/* SPDX-License-Identifier: MIT */
#ifndef TDT_ENGINE_SLATE_H
#define TDT_ENGINE_SLATE_H

#include "model/record.h"
#include "model/space.h"

/*
 * What is known of each live candidate, from a stored record and from this tuning, and what is to
 * be measured. A record's candidates are matched to live ones by description; no more of it is
 * believed.
 */
typedef struct tdt__slate {
  const tdt_space *space;
  tdt_record *record; /* owned; NULL: nothing is stored */
  bool same_rule;     /* what the record calls pruned was so under the rule of today */
  bool comparable;    /* its times came about as those of today will */
  size_t n;           /* live candidates; the arrays below have that many */
  size_t *entries;    /* each one's entry in the record, TDT_NONE if it has none */
  size_t best;        /* the recorded winner, TDT_NONE if there is none or it is not offered */
  bool *kept;         /* by pruning; all, before that */
  size_t *queue;      /* candidates to measure, in order */
  size_t n_queued;
  bool contested; /* the recorded winner takes part again, so only new times compare with it */
  bool *queued;   /* whether in `queue` */
  bool *level;    /* called equal to the fastest of the queue */
  tdt__timing *timings; /* what this tuning found; UNKNOWN elsewhere */
} tdt__slate;

/* Takes the record over, also on failure. TDT_ENOMEM. */
tdt_status tdt__slate_create(const tdt_space *space, tdt_record *record, const char *prune_rule,
                             tdt__slate *slate, tdt_error *error);
void tdt__slate_clear(tdt__slate *slate);

/* What this tuning found, else what the record knows and is still true, else UNKNOWN. */
const tdt__timing *tdt__slate_known(const tdt__slate *slate, size_t candidate);

size_t tdt__slate_count_kept(const tdt__slate *slate);

#endif
