/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_RESOLVE_H
#define TDT_EXT_RESOLVE_H

#include "compat.h"

#include "call.h"

/* The slow road: the winner for a key that is not in the front table. 1: *candidate is it; -1: an
 * error is set. */
int resolve_key(AutoTuner *self, const Call *call, PyObject *key, size_t *candidate);

/* Path of the record for these arguments: str, or None where nothing is stored. */
PyObject *resolve_path(AutoTuner *self, const Call *call, PyObject *key);

#endif
