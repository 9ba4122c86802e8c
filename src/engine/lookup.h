/* SPDX-License-Identifier: MIT */
#ifndef TDT_ENGINE_LOOKUP_H
#define TDT_ENGINE_LOOKUP_H

#include "engine/request.h"
#include "engine/slate.h"

/*
 * What the store knows about a call's candidates; nothing, where there is no store or it must be
 * ignored. A store or record that cannot be used is a warning, once, and counts as nothing. Fails
 * with TDT_ENOMEM only; clear the slate otherwise.
 */
tdt_status tdt__lookup(const tdt__call *call, tdt__slate *slate, tdt_error *error);

/* Makes the slate what another rank's record knows, which is taken over, also on failure. The slate
 * then has to be cleared in any case. TDT_ENOMEM. */
tdt_status tdt__lookup_adopt(const tdt__call *call, tdt_record *record, tdt__slate *slate,
                             tdt_error *error);

/* The same, if it answers; *found tells. Logs where the answer came from. */
tdt_status tdt__lookup_answer(const tdt__call *call, bool *found, size_t *candidate,
                              tdt_error *error);

/* Logs that the store had the answer. */
void tdt__lookup_tell(const tdt__call *call, size_t candidate);

/* A warning that this store cannot be used, once for each store. */
void tdt__warn_store(const tdt__call *call, const tdt_error *reason);

#endif
