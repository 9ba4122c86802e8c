/* SPDX-License-Identifier: MIT */
#ifndef TDT_ENGINE_SELECT_H
#define TDT_ENGINE_SELECT_H

#include "engine/slate.h"

/*
 * The kept candidate with the least time, the lowest index of equals; TDT_NONE if none could run.
 * `queued_only`: among those of this tuning's queue whose time is of this tuning.
 */
size_t tdt__select_fastest(const tdt__slate *slate, bool queued_only);

#endif
