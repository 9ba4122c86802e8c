/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include "around.h"
#include "callable.h"

/* -- putting back --------------------------------------------------------------------------------
 */

/* Notes what the arguments hold before anything has run: a new reference. */
static PyObject *begin(const Miss *miss) {
  const Call *call = miss->call;
  PyObject *args = callable_positional(call->args, call->n_args);
  PyObject *kwargs = callable_keywords(call->args + call->n_args, call->names);
  PyObject *kept = NULL;
  if (args != NULL && kwargs != NULL) {
    kept = PyObject_CallMethod(miss->tuner->keep, "begin", "OO", args, kwargs);
  }
  Py_XDECREF(args);
  Py_XDECREF(kwargs);
  return kept;
}

static int put_back(const Miss *miss) {
  PyObject *done = PyObject_CallMethod(miss->kept, "put_back", NULL);
  Py_XDECREF(done);
  return done == NULL ? -1 : 0;
}

/* Arguments that cannot be put back are the caller's error, and none of a candidate. Keeps the lock
 * afterwards: see Crossing. */
static tdt_status on_before(void *user, size_t candidate, tdt_error *error) {
  (void)candidate;
  Miss *miss = user;
  tdt_status status = crossing_stopped(&miss->crossing, error);
  if (status != TDT_OK) {
    return status;
  }
  crossing_enter(&miss->crossing);
  if (miss->kept == NULL) {
    miss->kept = begin(miss);
  }
  if (miss->kept == NULL) {
    return crossing_stop(&miss->crossing, error);
  }
  return put_back(miss) < 0 ? crossing_fail(&miss->crossing, error) : TDT_OK;
}

int around_finish(Miss *miss) {
  return miss->kept == NULL ? 0 : put_back(miss);
}

/* -- checking ------------------------------------------------------------------------------------
 */

int around_take_result(Miss *miss, size_t candidate, PyObject *result) {
  if (miss->tuner->check_fn == Py_None) {
    Py_DECREF(result);
    return 0;
  }
  if (miss->checked == NULL) {
    miss->checked = PyMem_Calloc(miss->tuner->candidates.n, sizeof *miss->checked);
    if (miss->checked == NULL) {
      Py_DECREF(result);
      (void)PyErr_NoMemory();
      return -1;
    }
  }
  if (miss->checked[candidate]) {
    Py_DECREF(result);
  } else {
    Py_XSETREF(miss->result, result);
  }
  return 0;
}

/* check_fn(result, *args, **kwargs) */
static int is_right(Miss *miss, size_t candidate) {
  PyObject *result = miss->result;
  miss->result = NULL;
  miss->checked[candidate] = true;
  PyObject *verdict = miss_call(miss, miss->tuner->check_fn, result);
  Py_DECREF(result);
  int truth = verdict == NULL ? -1 : PyObject_IsTrue(verdict);
  Py_XDECREF(verdict);
  return truth;
}

static tdt_status on_check(void *user, size_t candidate, bool *right, tdt_error *error) {
  Miss *miss = user;
  tdt_status status = crossing_stopped(&miss->crossing, error);
  if (status != TDT_OK) {
    return status;
  }
  crossing_enter(&miss->crossing);
  int truth = is_right(miss, candidate);
  if (truth < 0) {
    return crossing_fail(&miss->crossing, error);
  }
  *right = truth > 0;
  return TDT_OK;
}

/* ------------------------------------------------------------------------------------------------
 */

void around_install(tdt_request *request, Miss *miss) {
  if (miss->tuner->keep != Py_None) {
    request->before = on_before;
  }
  if (miss->tuner->check_fn != Py_None) {
    request->check = on_check;
  }
}

void around_close(Miss *miss) {
  Py_CLEAR(miss->kept);
  Py_CLEAR(miss->result);
  PyMem_Free(miss->checked);
  miss->checked = NULL;
}
