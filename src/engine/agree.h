/* SPDX-License-Identifier: MIT */
#ifndef TDT_ENGINE_AGREE_H
#define TDT_ENGINE_AGREE_H

#include "engine/request.h"
#include "engine/slate.h"

/*
 * Makes each candidate's time the greatest over all ranks, in one exchange; one that failed on any
 * rank failed on all. Afterwards every rank sees equal times and so finds the same winner. Nothing
 * to do for a process alone. Returns TDT_EGROUP (or what the group did), TDT_ENOMEM.
 */
tdt_status tdt__agree_times(const tdt__call *call, tdt__slate *slate, tdt_error *error);

#endif
