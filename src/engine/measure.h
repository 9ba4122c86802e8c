/* SPDX-License-Identifier: MIT */
#ifndef TDT_ENGINE_MEASURE_H
#define TDT_ENGINE_MEASURE_H

#include "engine/flight.h"
#include "engine/journal.h"
#include "engine/schedule.h"
#include "engine/slate.h"

/*
 * Drives the schedule of a slate's queue to its end with the call's device, whose turn it has
 * meanwhile. Warm-ups are launched back to back, then the device is waited for; timed runs are
 * queued back to back with a mark before and after each, and nothing is waited for in between. What
 * before() queues comes ahead of the first mark. Where the schedule wants to compare, ranks agree
 * on the figures.
 *
 * A candidate that fails is data. Returns TDT_ESTOPPED at once where a callback says so,
 * TDT_EDEVICE where the device does not work after a failure, TDT_ENOMEM; the schedule then holds
 * what was measured whole.
 */
tdt_status tdt__measure(tdt__flight *flight, const tdt__slate *slate, tdt__schedule *schedule,
                        tdt__journal *journal, tdt_error *error);

#endif
