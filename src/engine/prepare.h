/* SPDX-License-Identifier: MIT */
#ifndef TDT_ENGINE_PREPARE_H
#define TDT_ENGINE_PREPARE_H

#include "engine/request.h"
#include "engine/slate.h"

/*
 * Prepares every candidate of the slate's queue, if the call has a callback for it. One that
 * cannot be prepared stays in the queue; over several ranks one that fails on some of them and not
 * on all becomes a failed one and leaves it. TDT_ESTOPPED, TDT_ENOMEM, and what ranks may say.
 */
tdt_status tdt__prepare(const tdt__call *call, tdt__slate *slate, tdt_error *error);

#endif
