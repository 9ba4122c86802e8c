/* SPDX-License-Identifier: MIT */
#ifndef TDT_ENGINE_CALLBACK_H
#define TDT_ENGINE_CALLBACK_H

#include "engine/request.h"

/*
 * Calls out to the user's code; never to be made under a lock. Each starts with an empty error, so
 * that one which fails without a word does not seem to say what an earlier call said.
 */

/* Why the candidate could not run goes into *reason, which the caller clears. */
tdt_status tdt__call_launch(const tdt__call *call, size_t candidate, tdt_error *reason);

/* Likewise: nothing to do is TDT_OK. */
tdt_status tdt__call_before(const tdt__call *call, size_t candidate, tdt_error *reason);
tdt_status tdt__call_check(const tdt__call *call, size_t candidate, tdt_error *reason);

tdt_status tdt__call_prune(const tdt__call *call, size_t candidate, bool *keep, tdt_error *error);
/* Why it could not be prepared goes into *reason, which the caller clears. */
tdt_status tdt__call_prepare(const tdt__call *call, size_t candidate, tdt_error *reason);
void tdt__call_anticipate(const tdt__call *call, size_t candidate);
void tdt__call_discard(const tdt__call *call, size_t candidate);
tdt_status tdt__call_poll(const tdt__call *call, tdt_error *error);
void tdt__call_progress(const tdt__call *call, const tdt_progress *progress);

/* Hands on what `told` says (or the text of `status` if it says nothing), clears it and returns
 * `status`. */
tdt_status tdt__pass_on(tdt_status status, tdt_error *told, tdt_error *error);

#endif
