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

PyObject *inject_overwritten(const AutoTuner *self, const Call *call, const Candidate *candidate) {
  PyObject *result = NULL;
  PyObject *kwargs = callable_keywords(call->args + call->n_args, call->names);
  if (kwargs != NULL && add_free_fields(kwargs, self, call, candidate) == 0) {
    result = PyObject_VectorcallDict(self->fn, call->args, (size_t)call->n_args, kwargs);
  }
  Py_XDECREF(kwargs);
  return result;
}
