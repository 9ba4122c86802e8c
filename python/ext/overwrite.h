/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_OVERWRITE_H
#define TDT_EXT_OVERWRITE_H

#include "compat.h"

#include "call.h"

/*
 * Calls that bring a configuration's field along. Not allowed: a ValueError that names the field.
 * Allowed: the caller's value stays, the field is left out of what is injected, and the call is
 * tuned under a key of its own.
 */
int overwrite_open(AutoTuner *self, Call *call, bool allowed);

/* Whether the call fixes every field there is, so that nothing is left to tune. */
static inline bool overwrite_fixes_all(const AutoTuner *self, const Call *call) {
  return call->overwritten != NULL &&
         PyDict_GET_SIZE(call->overwritten) == PySet_GET_SIZE(self->candidates.fields);
}

/* call_run() for such a call. */
PyObject *overwrite_run(AutoTuner *self, const Call *call, const Candidate *candidate);

/* The key's text with the fixed fields added. Steals `text`, which may be NULL. */
PyObject *overwrite_key(const AutoTuner *self, const Call *call, PyObject *text);

#endif
