/* SPDX-License-Identifier: MIT */
#ifndef TDT_ENGINE_TUNING_H
#define TDT_ENGINE_TUNING_H

#include "engine/flight.h"
#include "engine/slate.h"

/*
 * Finds the winner by measuring what the store does not know, stores what was found and remembers
 * the winner. For the owner of the flight. Statuses as of tdt_tuner_resolve().
 */
tdt_status tdt__tuning_run(tdt__flight *flight, tdt_choice *choice, tdt_error *error);

/* The same, where what the store knows has been looked up. */
tdt_status tdt__tuning_measure(tdt__flight *flight, tdt__slate *slate, tdt_choice *choice,
                               tdt_error *error);

#endif
