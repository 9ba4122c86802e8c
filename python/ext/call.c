/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include "call.h"

/* A control's truth; `otherwise` if it was not given. -1: its __bool__ failed. */
static int control_truth(const Call *call, PyObject *const *keywords, Control control,
                         int otherwise) {
  Py_ssize_t at = call->shape->at[control];
  return at < 0 ? otherwise : PyObject_IsTrue(keywords[at]);
}

static int read_controls(Call *call, PyObject *const *keywords) {
  int autotune = control_truth(call, keywords, CONTROL_AUTOTUNE, 1);
  int verbose = autotune < 0 ? -1 : control_truth(call, keywords, CONTROL_VERBOSE, 0);
  int allowed = verbose < 0 ? -1 : control_truth(call, keywords, CONTROL_OVERWRITE, 0);
  if (allowed < 0) {
    return -1;
  }
  call->autotune = autotune > 0;
  call->verbose = verbose > 0;
  call->may_overwrite = allowed > 0;
  Py_ssize_t at = call->shape->at[CONTROL_PG];
  call->pg = at < 0 ? NULL : keywords[at];
  return 0;
}

/* Makes args the business arguments alone, with a free slot before them. */
static int close_gaps(Call *call, PyObject *const *args) {
  Py_ssize_t n_names = PyTuple_GET_SIZE(call->shape->business);
  Py_ssize_t n = call->n_args + n_names;
  PyObject **stack = call->small;
  if (n > CALL_SMALL) {
    call->heap = PyMem_Malloc((size_t)(n + 1) * sizeof(PyObject *));
    if (call->heap == NULL) {
      (void)PyErr_NoMemory();
      return -1;
    }
    stack = call->heap;
  }
  stack[0] = NULL;
  for (Py_ssize_t i = 0; i < call->n_args; i++) {
    stack[1 + i] = args[i];
  }
  for (Py_ssize_t i = 0; i < n_names; i++) {
    stack[1 + call->n_args + i] = args[call->n_args + call->shape->values[i]];
  }
  call->args = stack + 1;
  call->nargsf = (size_t)call->n_args | PY_VECTORCALL_ARGUMENTS_OFFSET;
  return 0;
}

int call_open_keywords(AutoTuner *self, Call *call, PyObject *kwnames) {
  call->shape = shape_get(&self->shapes, self->state, &self->candidates, kwnames);
  if (call->shape == NULL) {
    return -1;
  }
  if (call->shape->has_controls) {
    PyObject *const *args = call->args;
    if (read_controls(call, args + call->n_args) < 0 || close_gaps(call, args) < 0) {
      return -1;
    }
  }
  if (PyTuple_GET_SIZE(call->shape->business) > 0) {
    call->names = call->shape->business;
  }
  return 0;
}
