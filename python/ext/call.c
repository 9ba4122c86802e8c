/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include "call.h"
#include "front.h"
#include "overwrite.h"
#include "resolve.h"

/*
 * The road of a hit: sort out the keywords if there are any, ask the key function, look into the
 * front table, call the function. Nothing here takes a lock, reads the environment, looks up an
 * attribute or allocates (but for a call with very many arguments).
 */

/* A control's truth; `otherwise` if it was not given. -1: its __bool__ failed. */
static int control_truth(const Call *call, PyObject *const *keywords, Control control,
                         int otherwise) {
  Py_ssize_t at = call->shape->at[control];
  return at < 0 ? otherwise : PyObject_IsTrue(keywords[at]);
}

static int read_controls(Call *call, PyObject *const *keywords, bool *overwrite) {
  int autotune = control_truth(call, keywords, CONTROL_AUTOTUNE, 1);
  int verbose = autotune < 0 ? -1 : control_truth(call, keywords, CONTROL_VERBOSE, 0);
  int allowed = verbose < 0 ? -1 : control_truth(call, keywords, CONTROL_OVERWRITE, 0);
  if (allowed < 0) {
    return -1;
  }
  call->autotune = autotune > 0;
  call->verbose = verbose > 0;
  *overwrite = allowed > 0;
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

static int open_keywords(AutoTuner *self, Call *call, PyObject *kwnames, bool *overwrite) {
  call->shape = shape_get(&self->shapes, self->state, &self->candidates, kwnames);
  if (call->shape == NULL) {
    return -1;
  }
  if (call->shape->has_controls) {
    PyObject *const *args = call->args;
    if (read_controls(call, args + call->n_args, overwrite) < 0 || close_gaps(call, args) < 0) {
      return -1;
    }
  }
  if (PyTuple_GET_SIZE(call->shape->business) > 0) {
    call->names = call->shape->business;
  }
  return 0;
}

int call_open(AutoTuner *self, Call *call, PyObject *const *args, size_t nargsf,
              PyObject *kwnames) {
  /* Field by field: `small` need not be cleared. */
  call->args = args;
  call->nargsf = nargsf;
  call->n_args = PyVectorcall_NARGS(nargsf);
  call->names = NULL;
  call->shape = NULL;
  call->overwritten = NULL;
  call->pg = NULL;
  call->autotune = true;
  call->verbose = false;
  call->heap = NULL;
  bool overwrite = false;
  if (kwnames != NULL && PyTuple_GET_SIZE(kwnames) > 0 &&
      open_keywords(self, call, kwnames, &overwrite) < 0) {
    return -1;
  }
  if (call->n_args > self->n_positional_free ||
      (call->shape != NULL && call->shape->conflict != NULL)) {
    return overwrite_open(self, call, overwrite);
  }
  return 0;
}

void call_close(Call *call) {
  shape_release(call->shape);
  Py_XDECREF(call->overwritten);
  PyMem_Free(call->heap);
}

PyObject *call_key(AutoTuner *self, const Call *call) {
  return PyObject_Vectorcall(self->key_fn, call->args, call->nargsf, call->names);
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

PyObject *call_run(AutoTuner *self, const Call *call, const Candidate *candidate) {
  if (call->overwritten != NULL) {
    return overwrite_run(self, call, candidate);
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

/* 1: *candidate is what to run; -1: an error is set. */
static int choose(AutoTuner *self, const Call *call, size_t *candidate) {
  if (!call->autotune || overwrite_fixes_all(self, call)) {
    *candidate = 0;
    return 1;
  }
  PyObject *key = call_key(self, call);
  if (key == NULL) {
    return -1;
  }
  int found = 0;
  if (call->overwritten == NULL && !call->verbose) {
    found = front_find(self->front, key, candidate);
  }
  if (found == 0) {
    found = resolve_key(self, call, key, candidate);
  }
  Py_DECREF(key);
  return found;
}

PyObject *autotuner_vectorcall(PyObject *callable, PyObject *const *args, size_t nargsf,
                               PyObject *kwnames) {
  AutoTuner *self = (AutoTuner *)callable;
  PyObject *result = NULL;
  size_t candidate = 0;
  Call call;
  if (call_open(self, &call, args, nargsf, kwnames) == 0 && choose(self, &call, &candidate) > 0) {
    result = call_run(self, &call, &self->candidates.items[candidate]);
  }
  call_close(&call);
  return result;
}
