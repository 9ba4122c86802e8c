/* SPDX-License-Identifier: MIT */
#ifndef TDT_ENGINE_SESSION_SLOTS_H
#define TDT_ENGINE_SESSION_SLOTS_H

#include "engine/session_site.h"

/*
 * Which candidate's turn it is at a site.
 *
 * Inside a pass each launch takes one slot, that is one run of one candidate in the schedule's
 * order, whatever then runs in it. So slots are counted alike on every rank. The schedule itself
 * learns outcomes between passes only, when all ranks know the same ones; inside a pass the site
 * is ahead of it.
 */

/* What a launch may do: run number `run` (from 1) of a burst for `candidate`. Where every slot is
 * taken, kind DONE, the candidate of the last one, 0. */
typedef struct tdt__slot {
  tdt__step_kind kind;
  size_t candidate;
  unsigned run;
} tdt__slot;

tdt__slot tdt__site_take_slot(tdt__site *site);

/* The time of the candidate's next timed run, in order. TDT_ENOMEM. */
tdt_status tdt__site_add_sample(tdt__site *site, size_t candidate, double ms, tdt_error *error);

/*
 * Between passes, after `dropped` was set alike on all ranks: gives up the slots of a dropped
 * candidate. Allocates nothing, so it cannot be different from rank to rank.
 */
void tdt__site_skip_dropped(tdt__site *site);

/* Whether all slots are taken, so that the tuning ends with this pass. */
bool tdt__site_through(const tdt__site *site);

/*
 * After that: brings the schedule where the slots are, one burst at a time. *more: call again.
 * *timed is the candidate whose time became known by it, TDT_NONE if none did. TDT_ENOMEM.
 */
tdt_status tdt__site_catch_up(tdt__site *site, bool *more, size_t *timed, tdt_error *error);

#endif
