/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include "convert.h"
#include "session.h"
#include "state.h"

/* -- construction --------------------------------------------------------------------------------
 */

static int create_engine(Session *self, const tdt_plan *plan, const tdt_settings *settings) {
  tdt_session_options options;
  tdt_session_options_init(&options);
  options.name = text_from_str(self->name, "the name of a function");
  if (options.name == NULL) {
    return -1;
  }
  options.plan = plan;
  options.device = &self->place.device;
  options.group = &self->board.engine;
  options.rank_timeout_s = settings->rank_timeout_s;
  options.poll = session_on_poll;
  options.log = (tdt_log){.write = session_on_log, .user = self, .least = TDT_LOG_INFO};
  options.user = self;
  options.decided = session_on_decided;
  tdt_error error = TDT_ERROR_INIT;
  if (tdt_session_create(&options, &self->engine, &error) != TDT_OK) {
    return raise_status(&error, NULL);
  }
  return 0;
}

static int make_engine(Session *self, const tdt_plan *plan) {
  tdt_settings settings;
  tdt_error error = TDT_ERROR_INIT;
  if (tdt_settings_from_environment(&settings, &error) != TDT_OK) {
    return raise_status(&error, NULL);
  }
  return create_engine(self, plan, &settings);
}

/* Where messages and marks come from. */
static int open_both(Session *self, PyObject *place, PyObject *group) {
  const ModuleState *state = PyType_GetModuleState(Py_TYPE(self));
  if (state == NULL || board_open(&self->board, state->group_type, &self->crossing, group) < 0) {
    return -1;
  }
  return place_open(&self->place, &self->crossing, place);
}

static int set_up(Session *self, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"place",  "name",       "n_warmup", "n_repeat",
                          "on_log", "on_decided", "group",    NULL};
  PyObject *place = NULL;
  PyObject *name = NULL;
  PyObject *on_log = NULL;
  PyObject *on_decided = NULL;
  PyObject *group = NULL;
  tdt_plan plan = {.size = sizeof plan, .name = "contextual"};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O$UIIOOO:Session", names, &place, &name,
                                   &plan.n_warmup, &plan.n_repeat, &on_log, &on_decided, &group)) {
    return -1;
  }
  self->crossing.has_lock = true;
  if (open_both(self, place, group) < 0) {
    return -1;
  }
  self->name = Py_NewRef(name);
  self->on_log = Py_NewRef(on_log);
  self->on_decided = Py_NewRef(on_decided);
  return make_engine(self, &plan);
}

static PyObject *session_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  Session *self = (Session *)type->tp_alloc(type, 0);
  if (self != NULL && set_up(self, args, kwargs) < 0) {
    Py_CLEAR(self);
  }
  return (PyObject *)self;
}

/* -- its life ------------------------------------------------------------------------------------
 */

static int session_traverse(PyObject *object, visitproc visit, void *arg) {
  Session *self = (Session *)object;
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(self->crossing.handled);
  Py_VISIT(self->crossing.failure);
  Py_VISIT(self->crossing.stop);
  Py_VISIT(self->place.object);
  for (size_t i = 0; i < N_PLACE_METHODS; i++) {
    Py_VISIT(self->place.methods[i]);
  }
  Py_VISIT(self->on_log);
  Py_VISIT(self->on_decided);
  Py_VISIT(self->outer);
  Py_VISIT(self->result);
  Py_VISIT(self->raised);
  return 0;
}

static int session_clear(PyObject *object) {
  Session *self = (Session *)object;
  crossing_clear(&self->crossing);
  Py_CLEAR(self->on_log);
  Py_CLEAR(self->on_decided);
  Py_CLEAR(self->outer);
  Py_CLEAR(self->result);
  Py_CLEAR(self->raised);
  return 0;
}

static void session_dealloc(PyObject *object) {
  Session *self = (Session *)object;
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  tdt_session_destroy(self->engine);
  board_close(&self->board);
  place_close(&self->place);
  Py_CLEAR(self->name);
  (void)session_clear(object);
  type->tp_free(self);
  Py_DECREF(type);
}

/* -- run and launch ------------------------------------------------------------------------------
 */

static bool has_cause(tdt_status status) {
  return status == TDT_EFAILED || status == TDT_EDEVICE;
}

/* The way from the engine back into Python. The outer function's own exception comes first, then
 * one that ended all, then what the engine says. */
static int take_outcome(Session *self, tdt_status status, tdt_error *error) {
  PyObject *exception = self->raised != NULL ? self->raised : self->crossing.stop;
  if (exception != NULL) {
    tdt_error_clear(error);
    exception_raise(Py_NewRef(exception));
    return -1;
  }
  if (status == TDT_OK) {
    return 0;
  }
  return raise_status(error, has_cause(status) ? self->crossing.failure : NULL);
}

static PyObject *session_run(PyObject *object, PyObject *outer) {
  Session *self = (Session *)object;
  if (self->outer != NULL) {
    PyErr_SetString(PyExc_RuntimeError, "the session is running already");
    return NULL;
  }
  self->outer = Py_NewRef(outer);
  self->crossing.handled = exception_handled();
  tdt_error error = TDT_ERROR_INIT;
  tdt_status status = tdt_session_run(self->engine, session_on_outer, self, &error);
  crossing_enter(&self->crossing);
  PyObject *result = NULL;
  if (take_outcome(self, status, &error) == 0) {
    result = self->result;
    self->result = NULL;
  }
  Py_CLEAR(self->outer);
  Py_CLEAR(self->result);
  Py_CLEAR(self->raised);
  Py_CLEAR(self->crossing.handled);
  Py_CLEAR(self->crossing.failure);
  Py_CLEAR(self->crossing.stop);
  return result;
}

static PyObject *session_launch(PyObject *object, PyObject *args) {
  Session *self = (Session *)object;
  PyObject *tunable = NULL;
  Launch launch = {self, NULL};
  const ModuleState *state = PyType_GetModuleState(Py_TYPE(self));
  if (state == NULL ||
      !PyArg_ParseTuple(args, "O!O:launch", state->tunable_type, &tunable, &launch.job)) {
    return NULL;
  }
  const Tunable *what = (Tunable *)tunable;
  const tdt_launch request = {
      .size = sizeof request,
      .kernel = what->kernel,
      .key = what->key,
      .space = what->space,
      .user = &launch,
      .launch = session_on_launch,
      .before = session_on_before,
  };
  tdt_error error = TDT_ERROR_INIT;
  tdt_status status = tdt_session_launch(self->engine, &request, &error);
  crossing_enter(&self->crossing);
  if (status != TDT_OK && self->crossing.stop != NULL) {
    tdt_error_clear(&error);
    exception_raise(Py_NewRef(self->crossing.stop));
    return NULL;
  }
  if (status != TDT_OK) {
    (void)raise_status(&error, has_cause(status) ? self->crossing.failure : NULL);
    return NULL;
  }
  Py_RETURN_NONE;
}

PyDoc_STRVAR(run_doc, "run($self, outer, /)\n--\n\n"
                      "Call outer() until all that it launches is tuned, and once more; return "
                      "what that last call returned.");
PyDoc_STRVAR(launch_doc, "launch($self, tunable, job, /)\n--\n\n"
                         "Run one candidate, from inside the outer function, with "
                         "job.before(candidate, marked) and job.launch(candidate).");

static PyMethodDef session_methods[] = {
    {"run", session_run, METH_O, run_doc},
    {"launch", session_launch, METH_VARARGS, launch_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(session_doc, "Session(place, *, name, n_warmup, n_repeat, on_log, on_decided, "
                          "group)\n--\n\n"
                          "Kernels tuned where an outer function launches them.");

static PyType_Slot session_slots[] = {
    {Py_tp_doc, __extension__(void *) session_doc},
    {Py_tp_new, SLOT(session_new)},
    {Py_tp_dealloc, SLOT(session_dealloc)},
    {Py_tp_traverse, SLOT(session_traverse)},
    {Py_tp_clear, SLOT(session_clear)},
    {Py_tp_methods, session_methods},
    {0, NULL},
};

static PyType_Spec session_spec = {
    .name = "tdtune._native.Session",
    .basicsize = sizeof(Session),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = session_slots,
};

PyTypeObject *session_type_create(PyObject *module) {
  return (PyTypeObject *)PyType_FromModuleAndSpec(module, &session_spec, NULL);
}
