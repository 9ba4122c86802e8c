/* SPDX-License-Identifier: MIT */
#ifndef TDT_ENGINE_SELECT_H
#define TDT_ENGINE_SELECT_H

#include "engine/slate.h"

/* What a slate says: the answer without measuring, what to measure, and who wins. */

/*
 * Whether the record answers without any pruning or measuring, and with which candidate: every
 * live one is known, and one could run. `prunes`: a changed pruning rule must be asked first.
 */
bool tdt__select_stored(const tdt__slate *slate, bool prunes, size_t *candidate);

/* After pruning: queues what must be measured; nothing, where the record knows all that is kept. */
void tdt__select_queue(tdt__slate *slate);

/* The winner among what is known, TDT_NONE if none of those kept could run. */
size_t tdt__select_winner(const tdt__slate *slate);

#endif
