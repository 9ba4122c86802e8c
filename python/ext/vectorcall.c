/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include "autotuner.h"
#include "call.h"
#include "front.h"
#include "inject.h"
#include "overwrite.h"
#include "resolve.h"
#include "vectorcall.h"
#include "withdraw.h"

/*
 * The road of a hit: sort out the keywords if there are any, ask the key function, look into the
 * front table, call the function. Nothing here takes a lock, reads the environment, looks up an
 * attribute or allocates (but for a call with very many arguments).
 */

/* 1: *candidate is what to run; -1: an error is set. */
static int choose(AutoTuner *self, const Call *call, size_t *candidate) {
  if (!call->autotune || overwrite_fixes_all(self, call)) {
    *candidate = 0;
    return 1;
  }
  PyObject *key = call_key(self, call);
  if (key == NULL) {
    return withdraw_call(self, call);
  }
  Lane *lane = lane_find(&self->lane, call->pg);
  int found = 0;
  if (lane != NULL && call->overwritten == NULL && !call->verbose) {
    found = front_find(lane->front, key, candidate);
  }
  if (found == 0) {
    found = resolve_key(self, call, lane, key, candidate);
  } else if (found < 0) {
    (void)withdraw_call(self, call);
  }
  Py_DECREF(key);
  return found;
}

static inline int meet_fields(AutoTuner *self, Call *call) {
  if (overwrite_meet(self, call) == 0) {
    return 0;
  }
  return call->autotune ? withdraw_call(self, call) : -1;
}

PyObject *autotuner_vectorcall(PyObject *callable, PyObject *const *args, size_t nargsf,
                               PyObject *kwnames) {
  AutoTuner *self = (AutoTuner *)callable;
  PyObject *result = NULL;
  size_t candidate = 0;
  Call call;
  if (call_open(self, &call, args, nargsf, kwnames) == 0 && meet_fields(self, &call) == 0 &&
      choose(self, &call, &candidate) > 0) {
    result = inject_run(self, &call, &self->candidates.items[candidate]);
  }
  call_close(&call);
  return result;
}
