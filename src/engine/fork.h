/* SPDX-License-Identifier: MIT */
#ifndef TDT_ENGINE_FORK_H
#define TDT_ENGINE_FORK_H

#include <stdbool.h>

#include "engine/context.h"

/*
 * A forked child has one thread. It inherits every context unlocked and consistent, without the
 * tunings, waits and process locks of the parent's other threads.
 */

/* False: out of memory. */
bool tdt__fork_watch(tdt_context *context);
void tdt__fork_unwatch(tdt_context *context);

#endif
