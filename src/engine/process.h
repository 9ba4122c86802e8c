/* SPDX-License-Identifier: MIT */
#ifndef TDT_ENGINE_PROCESS_H
#define TDT_ENGINE_PROCESS_H

#include "engine/flight.h"

/*
 * Keeps other processes with the same store from tuning the same key: takes the lock between
 * processes into the flight, or waits for it as long as the settings allow, and goes on without it
 * after that. *found tells that the store has the answer by now, *candidate.
 *
 * Nobody waits who could make others wait for ever: a thread inside another tuning only tries once.
 * Returns what poll() returned, TDT_ENOMEM.
 */
tdt_status tdt__process_join(tdt__flight *flight, bool *found, size_t *candidate, tdt_error *error);

/* For one of several ranks, which must not wait: takes the lock if it is free. TDT_ENOMEM. */
tdt_status tdt__process_claim(tdt__flight *flight, tdt_error *error);

#endif
