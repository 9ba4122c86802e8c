/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include "callable.h"
#include "inject.h"

/* Adds the fields that the call leaves free. */
static int add_free_fields(PyObject *kwargs, const AutoTuner *self, const Call *call,
                           const Candidate *candidate) {
  PyObject *fields = candidate_names(&self->candidates, candidate);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fields); i++) {
    PyObject *name = PyTuple_GET_ITEM(fields, i);
    int fixed = PyDict_Contains(call->overwritten, name);
    if (fixed < 0 || (fixed == 0 && PyDict_SetItem(kwargs, name, candidate->values[i]) < 0)) {
      return -1;
    }
  }
  return 0;
}

static PyObject *run_overwritten(const AutoTuner *self, const Call *call,
                                 const Candidate *candidate) {
  PyObject *result = NULL;
  PyObject *kwargs = callable_keywords(call->args + call->n_args, call->names);
  if (kwargs != NULL && add_free_fields(kwargs, self, call, candidate) == 0) {
    result = PyObject_VectorcallDict(self->fn, call->args, (size_t)call->n_args, kwargs);
  }
  Py_XDECREF(kwargs);
  return result;
}

static PyObject *run_on_stack(AutoTuner *self, const Call *call, const Candidate *candidate,
                              PyObject *names, PyObject **stack) {
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

PyObject *inject_run(AutoTuner *self, const Call *call, const Candidate *candidate) {
  if (call->overwritten != NULL) {
    return run_overwritten(self, call, candidate);
  }
  PyObject *names = call->shape == NULL ? candidate_names(&self->candidates, candidate)
                                        : shape_merged(call->shape, &self->candidates, candidate);
  if (names == NULL) {
    return NULL;
  }
  size_t n = (size_t)(call->n_args + PyTuple_GET_SIZE(names));
  if (n <= CALL_SMALL) {
    PyObject *small[CALL_SMALL + 1];
    return run_on_stack(self, call, candidate, names, small);
  }
  PyObject **stack = PyMem_Malloc((n + 1) * sizeof(PyObject *));
  if (stack == NULL) {
    return PyErr_NoMemory();
  }
  PyObject *result = run_on_stack(self, call, candidate, names, stack);
  PyMem_Free(stack);
  return result;
}
