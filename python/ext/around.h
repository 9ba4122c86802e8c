/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_AROUND_H
#define TDT_EXT_AROUND_H

#include "compat.h"

#include "miss.h"

/* What happens around a candidate's runs: its first result is checked, arguments are put back. */

/* Puts its callbacks into the request, as far as they have something to do. */
void around_install(tdt_request *request, Miss *miss);

/* Takes over the result of a run, and keeps it until it is checked if it is to be. -1: an error is
 * set. */
int around_take_result(Miss *miss, size_t candidate, PyObject *result);

/* After a tuning that went well: arguments are put back once more, for the run that follows. */
int around_finish(Miss *miss);

void around_close(Miss *miss);

#endif
