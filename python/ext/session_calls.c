/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include "convert.h"
#include "session.h"

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
  PyObject *exception = exception_take();
  status = exception_to_error(exception, TDT_ESTOPPED, error);
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

void session_on_log(void *user, tdt_log_level level, const char *message) {
  (void)level;
  Session *self = user;
  crossing_enter(&self->crossing);
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

/* -- the ranks -----------------------------------------------------------------------------------
 */

static PyObject *floats(const double *values, size_t n) {
  PyObject *list = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; list != NULL && i < n; i++) {
    PyObject *value = PyFloat_FromDouble(values[i]);
    if (value == NULL) {
      Py_CLEAR(list);
      break;
    }
    PyList_SET_ITEM(list, (Py_ssize_t)i, value);
  }
  return list;
}

static int read_floats(PyObject *answer, double *values, size_t n) {
  if (!PyList_Check(answer) || (size_t)PyList_GET_SIZE(answer) != n) {
    PyErr_Format(PyExc_TypeError, "the ranks' answer is no list of %zu numbers: %R", n, answer);
    return -1;
  }
  for (size_t i = 0; i < n; i++) {
    values[i] = PyFloat_AsDouble(PyList_GET_ITEM(answer, (Py_ssize_t)i));
    if (values[i] == -1.0 && PyErr_Occurred()) {
      return -1;
    }
  }
  return 0;
}

static int ask_ranks(const Session *self, double *values, size_t n) {
  PyObject *list = floats(values, n);
  PyObject *answer = list == NULL ? NULL : PyObject_CallOneArg(self->on_max, list);
  Py_XDECREF(list);
  int done = answer == NULL ? -1 : read_floats(answer, values, n);
  Py_XDECREF(answer);
  return done;
}

/* A KeyboardInterrupt is not to wait for the other ranks. */
static bool is_interrupted(const Session *self) {
  return self->raised != NULL && !PyObject_TypeCheck(self->raised, (PyTypeObject *)PyExc_Exception);
}

static tdt_status on_start_max(void *user, const double *values, size_t n_values,
                               tdt_error *error) {
  Session *self = user;
  (void)error;
  (void)values;
  self->n_wire = n_values;
  return TDT_OK;
}

static tdt_status on_wait_max(void *user, double slice_s, double *values, bool *done,
                              tdt_error *error) {
  Session *self = user;
  (void)slice_s;
  crossing_enter(&self->crossing);
  if (is_interrupted(self) || self->crossing.stop != NULL) {
    return tdt_error_set(error, TDT_EGROUP, "this rank was interrupted");
  }
  if (ask_ranks(self, values, self->n_wire) == 0) {
    *done = true;
    return TDT_OK;
  }
  tdt_status status = crossing_fail(&self->crossing, error);
  if (status == TDT_ELAUNCH && error != NULL) {
    error->code = TDT_EGROUP;
  }
  return status == TDT_ELAUNCH ? TDT_EGROUP : status;
}

static tdt_status on_post(void *self, uint64_t round, const void *bytes, size_t size,
                          tdt_error *error) {
  (void)self;
  (void)round;
  (void)bytes;
  (void)size;
  (void)error;
  return TDT_OK;
}

static tdt_status on_take(void *self, uint64_t round, unsigned from, double slice_s,
                          tdt_message *message, tdt_error *error) {
  (void)self;
  (void)round;
  (void)from;
  (void)slice_s;
  (void)message;
  return tdt_error_set(error, TDT_EGROUP, "not here");
}

const tdt_group_table session_group_table = {
    .abi = TDT_GROUP_ABI,
    .size = sizeof(tdt_group_table),
    .name = "python",
    .post = on_post,
    .take = on_take,
    .start_max = on_start_max,
    .wait_max = on_wait_max,
};
