/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_INJECT_H
#define TDT_EXT_INJECT_H

#include "compat.h"

#include "call.h"

/*
 * Runs the function with a candidate. Inline, as the rest of the road of a hit: one function call
 * more is noticeable there.
 */

/* inject_run() for a call that fixes fields: those are left out. */
PyObject *inject_overwritten(const AutoTuner *self, const Call *call, const Candidate *candidate);

static inline PyObject *inject_on_stack(AutoTuner *self, const Call *call,
                                        const Candidate *candidate, PyObject *names,
                                        PyObject **stack) {
  Py_ssize_t n_own = call->n_args + call_n_names(call);
  Py_ssize_t n = call->n_args + PyTuple_GET_SIZE(names);
  stack[0] = NULL; /* the called function's, during the call */
  for (Py_ssize_t i = 0; i < n_own; i++) {
    stack[1 + i] = call->args[i];
  }
  for (Py_ssize_t i = n_own; i < n; i++) {
    stack[1 + i] = candidate->values[i - n_own];
  }
  return PyObject_Vectorcall(self->fn, stack + 1,
                             (size_t)call->n_args | PY_VECTORCALL_ARGUMENTS_OFFSET, names);
}

/* Calls the function as this call does, with the candidate's fields added. */
static inline PyObject *inject_run(AutoTuner *self, const Call *call, const Candidate *candidate) {
  if (call->overwritten != NULL) {
    return inject_overwritten(self, call, candidate);
  }
  PyObject *names = call->shape == NULL ? candidate_names(&self->candidates, candidate)
                                        : shape_merged(call->shape, &self->candidates, candidate);
  if (names == NULL) {
    return NULL;
  }
  size_t n = (size_t)(call->n_args + PyTuple_GET_SIZE(names));
  if (n <= CALL_SMALL) {
    PyObject *small[CALL_SMALL + 1];
    return inject_on_stack(self, call, candidate, names, small);
  }
  PyObject **stack = PyMem_Malloc((n + 1) * sizeof(PyObject *));
  if (stack == NULL) {
    return PyErr_NoMemory();
  }
  PyObject *result = inject_on_stack(self, call, candidate, names, stack);
  PyMem_Free(stack);
  return result;
}

#endif
