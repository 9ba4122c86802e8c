/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_BAR_H
#define TDT_EXT_BAR_H

#include "compat.h"

#include "miss.h"

/* The progress bar of a long tuning: see tdtune.progress. With the lock; what ends the tuning
 * (KeyboardInterrupt) is kept for the caller, other failures end in Python. */
void bar_show(Miss *miss, const tdt_progress *progress);
void bar_close(Miss *miss);

#endif
