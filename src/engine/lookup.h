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

/* The same, if it answers; *found tells. Logs where the answer came from. */
tdt_status tdt__lookup_answer(const tdt__call *call, bool *found, size_t *candidate,
                              tdt_error *error);

/* A warning that this store cannot be used, once for each store. */
void tdt__warn_store(const tdt__call *call, const tdt_error *reason);

#endif
