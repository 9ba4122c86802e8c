/* SPDX-License-Identifier: MIT */
#ifndef TDT_ENGINE_TURN_H
#define TDT_ENGINE_TURN_H

#include "engine/flight.h"

/*
 * A device's turn: of the threads that measure on one device id, one at a time has it. A thread
 * inside nested tunings may need several; it takes all of them at once and never waits, for
 * whatever, while it has one. So no two threads can wait for each other's.
 */

/* Takes the turn of the call's device for the flight, and back any that its thread paused. At once
 * if it has them all. Fails with what poll() returned. */
tdt_status tdt__turn_take(tdt__flight *flight, tdt_error *error);
void tdt__turn_release(tdt__flight *flight);

/* With the mutex held: gives up what this thread has, and takes it back. The latter may wait; it
 * fails with what poll() returned, and then the thread has no turn until the next
 * tdt__turn_take(). */
void tdt__turn_pause(tdt_context *context);
tdt_status tdt__turn_resume(tdt_context *context, const tdt__call *call, tdt_error *error);

#endif
