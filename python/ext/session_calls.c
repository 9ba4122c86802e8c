/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include "convert.h"
#include "session.h"
#include "state.h"

/* -- the outer function and its launches --------------------------------------------------------
 */

tdt_status session_on_outer(void *user, tdt_error *error) {
  Session *self = user;
  crossing_enter(&self->crossing);
  tdt_status status = crossing_stopped(&self->crossing, error);
  if (status != TDT_OK) {
    return status;
  }
  Py_CLEAR(self->result);
  self->result = PyObject_CallNoArgs(self->outer);
  if (self->result != NULL) {
    return TDT_OK;
  }
  bool is_failure = PyErr_ExceptionMatches(PyExc_Exception);
  PyObject *exception = exception_take();
  status = exception_to_error(exception, TDT_ESTOPPED, error);
  if (!is_failure && self->crossing.stop == NULL) { /* it waits for nobody any more */
    self->crossing.stop = Py_NewRef(exception);
  }
  Py_XSETREF(self->raised, exception);
  return status;
}

/* Calls a method of the job; its failure is the candidate's. */
static tdt_status call_job(const Launch *launch, const char *format, const char *method,
                           size_t candidate, bool marked, tdt_error *error) {
  Crossing *crossing = &launch->session->crossing;
  PyObject *done = PyObject_CallMethod(launch->job, method, format, (Py_ssize_t)candidate,
                                       marked ? Py_True : Py_False);
  if (done == NULL) {
    return crossing_fail(crossing, error);
  }
  Py_DECREF(done);
  return TDT_OK;
}

tdt_status session_on_before(void *user, size_t candidate, bool marked, tdt_error *error) {
  const Launch *launch = user;
  crossing_enter(&launch->session->crossing);
  tdt_status status = crossing_stopped(&launch->session->crossing, error);
  return status != TDT_OK ? status : call_job(launch, "nO", "before", candidate, marked, error);
}

tdt_status session_on_launch(void *user, size_t candidate, tdt_error *error) {
  const Launch *launch = user;
  crossing_enter(&launch->session->crossing);
  return call_job(launch, "n", "launch", candidate, false, error);
}

/* -- what it tells -------------------------------------------------------------------------------
 */

/* Steals the arguments, any of which may be NULL with an error set. */
static void tell(Session *self, PyObject *function, PyObject *args) {
  PyObject *done = args == NULL ? NULL : PyObject_CallObject(function, args);
  Py_XDECREF(args);
  if (done == NULL) {
    (void)crossing_stop(&self->crossing, NULL);
  }
  Py_XDECREF(done);
}

/* Events go to the log of contextual tuning; a warning is none, and somebody may sit and wait. */
void session_on_log(void *user, tdt_log_level level, const char *message) {
  Session *self = user;
  crossing_enter(&self->crossing);
  if (level >= TDT_LOG_WARNING) {
    const ModuleState *state = PyType_GetModuleState(Py_TYPE(self));
    if (cold_emit(state, level, text_to_str(message), false) < 0) {
      (void)crossing_stop(&self->crossing, NULL);
    }
    return;
  }
  tell(self, self->on_log, Py_BuildValue("(N)", text_to_str(message)));
}

/* (time in milliseconds or None, its samples) */
static PyObject *candidate_tuple(const tdt_candidate *candidate) {
  bool timed = candidate->outcome == TDT_OUTCOME_TIMED;
  PyObject *samples = PyTuple_New(timed ? (Py_ssize_t)candidate->n_samples : 0);
  for (Py_ssize_t i = 0; samples != NULL && i < PyTuple_GET_SIZE(samples); i++) {
    PyObject *sample = PyFloat_FromDouble(candidate->samples_ms[i]);
    if (sample == NULL) {
      Py_CLEAR(samples);
      break;
    }
    PyTuple_SET_ITEM(samples, i, sample);
  }
  PyObject *time = timed ? PyFloat_FromDouble(candidate->time_ms) : Py_NewRef(Py_None);
  return Py_BuildValue("(NN)", time, samples);
}

static PyObject *candidates_list(const tdt_session_tuning *tuning) {
  PyObject *list = PyList_New((Py_ssize_t)tuning->n_candidates);
  for (size_t i = 0; list != NULL && i < tuning->n_candidates; i++) {
    PyObject *candidate = candidate_tuple(&tuning->candidates[i]);
    if (candidate == NULL) {
      Py_CLEAR(list);
      break;
    }
    PyList_SET_ITEM(list, (Py_ssize_t)i, candidate);
  }
  return list;
}

void session_on_decided(void *user, const tdt_session_tuning *tuning) {
  Session *self = user;
  crossing_enter(&self->crossing);
  tell(self, self->on_decided,
       Py_BuildValue("(NNnN)", text_to_str(tuning->kernel), text_to_str(tuning->key),
                     (Py_ssize_t)tuning->winner, candidates_list(tuning)));
}

/* -- waiting for other ranks ---------------------------------------------------------------------
 */

tdt_status session_on_poll(void *user, tdt_error *error) {
  Session *self = user;
  crossing_enter(&self->crossing);
  tdt_status status = crossing_stopped(&self->crossing, error);
  if (status == TDT_OK && PyErr_CheckSignals() < 0) {
    status = crossing_stop(&self->crossing, error);
  }
  return status;
}
