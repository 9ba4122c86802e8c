/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include "convert.h"
#include "crossing.h"

void crossing_enter(Crossing *crossing) {
  if (!crossing->has_lock) {
    PyEval_RestoreThread(crossing->thread);
    crossing->has_lock = true;
  }
}

void crossing_leave(Crossing *crossing) {
  if (crossing->has_lock) {
    crossing->has_lock = false;
    crossing->thread = PyEval_SaveThread();
  }
}

tdt_status crossing_stop(Crossing *crossing, tdt_error *error) {
  PyObject *exception = exception_take();
  tdt_status status = exception_to_error(exception, TDT_ESTOPPED, error);
  if (crossing->stop == NULL) { /* the first one is what the caller sees */
    crossing->stop = exception;
  } else {
    Py_DECREF(exception);
  }
  return status;
}

tdt_status crossing_fail(Crossing *crossing, tdt_error *error) {
  if (!PyErr_ExceptionMatches(PyExc_Exception)) {
    return crossing_stop(crossing, error);
  }
  PyObject *exception = exception_take();
  tdt_status status = exception_to_error(exception, TDT_ELAUNCH, error);
  exception_forget_frames(exception, crossing->handled);
  Py_XSETREF(crossing->failure, exception);
  return status;
}

tdt_status crossing_stopped(const Crossing *crossing, tdt_error *error) {
  if (crossing->stop == NULL) {
    return TDT_OK;
  }
  return tdt_error_set(error, TDT_ESTOPPED, "a callback raised an exception");
}

void crossing_clear(Crossing *crossing) {
  Py_CLEAR(crossing->handled);
  Py_CLEAR(crossing->failure);
  Py_CLEAR(crossing->stop);
}
