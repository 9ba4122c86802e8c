/* SPDX-License-Identifier: MIT */
#ifndef TDT_ENGINE_RANKS_H
#define TDT_ENGINE_RANKS_H

#include "engine/flight.h"
#include "group/talk.h"

/* A miss over several ranks: agree first, act then. */

/*
 * Opens the call's talk: waits until no other thread tunes over the group, giving up its devices'
 * turns meanwhile. TDT_ESTOPPED. Close it in the end.
 */
tdt_status tdt__ranks_open(tdt__call *call, tdt__talk *talk, tdt_error *error);
void tdt__ranks_close(tdt__call *call);

/* The winner for the flight's key, the same on all ranks: from the store of any of them, or by
 * tuning. For the owner of the flight. Statuses as of tdt_tuner_resolve(). */
tdt_status tdt__ranks_resolve(tdt__flight *flight, bool capturing, tdt_choice *choice,
                              tdt_error *error);

#endif
