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

/* overwrite_meet() for a call that has, or may have, one. */
int overwrite_look(AutoTuner *self, Call *call);

/* Fills call->overwritten. -1: not allowed, or another error. */
static inline int overwrite_meet(AutoTuner *self, Call *call) {
  bool none = call->n_args <= self->n_positional_free &&
              (call->shape == NULL || call->shape->conflict == NULL);
  return none ? 0 : overwrite_look(self, call);
}

/* Whether the call fixes every field there is, so that nothing is left to tune. */
static inline bool overwrite_fixes_all(const AutoTuner *self, const Call *call) {
  return call->overwritten != NULL &&
         PyDict_GET_SIZE(call->overwritten) == PySet_GET_SIZE(self->candidates.fields);
}

/* The key's text with the fixed fields added. Steals `text`, which may be NULL. */
PyObject *overwrite_key(const AutoTuner *self, const Call *call, PyObject *text);

#endif
