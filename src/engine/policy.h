/* SPDX-License-Identifier: MIT */
#ifndef TDT_ENGINE_POLICY_H
#define TDT_ENGINE_POLICY_H

#include "engine/flight.h"

/*
 * What else may answer a miss than measuring: a graph that is being captured, or the settings, may
 * forbid it. *settled tells that *choice is the answer. TDT_EMISS where the settings want an error,
 * TDT_ENOMEM.
 */
tdt_status tdt__policy_settle(tdt__flight *flight, bool capturing, bool *settled,
                              tdt_choice *choice, tdt_error *error);

/* Whether the device says that nothing may be measured now. TDT_EDEVICE if it cannot tell. */
tdt_status tdt__policy_capturing(const tdt__call *call, bool *capturing, tdt_error *error);

#endif
