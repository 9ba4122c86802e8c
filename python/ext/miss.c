/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include "convert.h"
#include "miss.h"

void miss_enter(Miss *miss) {
  if (!miss->has_lock) {
    PyEval_RestoreThread(miss->thread);
    miss->has_lock = true;
  }
}

void miss_leave(Miss *miss) {
  if (miss->has_lock) {
    miss->has_lock = false;
    miss->thread = PyEval_SaveThread();
  }
}

tdt_status miss_stop(Miss *miss, tdt_error *error) {
  PyObject *exception = exception_take();
  tdt_status status = exception_to_error(exception, TDT_ESTOPPED, error);
  if (miss->stop == NULL) { /* the first one is what the caller sees */
    miss->stop = exception;
  } else {
    Py_DECREF(exception);
  }
  return status;
}

tdt_status miss_fail(Miss *miss, tdt_error *error) {
  if (!PyErr_ExceptionMatches(PyExc_Exception)) {
    return miss_stop(miss, error);
  }
  PyObject *exception = exception_take();
  tdt_status status = exception_to_error(exception, TDT_ELAUNCH, error);
  exception_forget_frames(exception, miss->handled);
  Py_XSETREF(miss->failure, exception);
  return status;
}

tdt_status miss_stopped(const Miss *miss, tdt_error *error) {
  if (miss->stop == NULL) {
    return TDT_OK;
  }
  return tdt_error_set(error, TDT_ESTOPPED, "a callback raised an exception");
}

void miss_clear(Miss *miss) {
  Py_CLEAR(miss->handled);
  Py_CLEAR(miss->failure);
  Py_CLEAR(miss->stop);
  Py_CLEAR(miss->place);
}
