/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include "board.h"
#include "convert.h"
#include "withdraw.h"

/* The group of the call: a new reference; NULL if there is none, possibly with an error set. */
static PyObject *find_group(const AutoTuner *self, const Call *call) {
  PyObject *pg = call->pg == NULL ? Py_None : call->pg;
  PyObject *group = cold_call(self->state, COLD_RESOLVE_GROUP, &pg, 1);
  if (group != NULL && !PyObject_TypeCheck(group, self->state->group_type)) {
    Py_CLEAR(group);
  }
  return group;
}

/* What was called is named, since nobody has said yet what this rank is at. */
static int tell(const AutoTuner *self, PyObject *group, PyObject *exception) {
  tdt_error raised = TDT_ERROR_INIT;
  tdt_error reason = TDT_ERROR_INIT;
  const char *name = text_from_str(self->name, "a function's name");
  if (name == NULL) {
    PyErr_Clear();
  }
  (void)exception_to_error(exception, TDT_EGROUP, &raised);
  (void)tdt_error_set(&reason, TDT_EGROUP, "%s, before it was tuned: %s", name != NULL ? name : "",
                      tdt_error_text(&raised));
  int done = board_withdraw((Group *)group, tdt_error_text(&reason));
  tdt_error_clear(&reason);
  tdt_error_clear(&raised);
  return done;
}

int withdraw_call(const AutoTuner *self, const Call *call) {
  PyObject *exception = exception_take();
  PyObject *group = find_group(self, call);
  if (group != NULL) {
    (void)tell(self, group, exception);
    Py_DECREF(group);
  }
  if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception)) {
    Py_DECREF(exception);
    return -1;
  }
  PyErr_Clear();
  exception_raise(exception);
  return -1;
}
