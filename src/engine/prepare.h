/* SPDX-License-Identifier: MIT */
#ifndef TDT_ENGINE_PREPARE_H
#define TDT_ENGINE_PREPARE_H

#include "engine/request.h"
#include "engine/slate.h"

/*
 * Prepares every candidate of the slate's queue, if the call has a callback for it, on as many
 * threads as the settings allow. One that cannot be prepared stays in the queue; over several ranks
 * one that fails on some of them and not on all becomes a failed one and leaves it. TDT_ESTOPPED,
 * TDT_ENOMEM, and what ranks may say.
 *
 * Each rank begins at another place of the queue: where what is prepared is kept on disk, ranks of
 * one machine do each other's work.
 */
tdt_status tdt__prepare(const tdt__call *call, tdt__slate *slate, tdt_error *error);

/*
 * After the first launch, that of `launched`: has the others of these `n` candidates anticipated,
 * if the call has a callback for that and it can gain anything. Fails with what poll() returned
 * only: without memory there is less help.
 */
tdt_status tdt__anticipate(const tdt__call *call, const size_t *candidates, size_t n,
                           size_t launched, tdt_error *error);

#endif
