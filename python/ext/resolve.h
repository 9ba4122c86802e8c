/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_RESOLVE_H
#define TDT_EXT_RESOLVE_H

#include "compat.h"

#include "call.h"

/* The slow road: the winner for a key that is not in the front table of the call's lane, which is
 * NULL if there is none yet. 1: *candidate is it; -1: an error is set. */
int resolve_key(AutoTuner *self, const Call *call, Lane *lane, PyObject *key, size_t *candidate);

/* Path of the record for these arguments: str, or None where nothing is stored. */
PyObject *resolve_path(AutoTuner *self, const Call *call, PyObject *key);

#endif
