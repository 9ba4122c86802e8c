/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include "convert.h"
#include "identify.h"

/* A text of the identity, borrowed from it. */
static const char *field(PyObject *identity, const char *name) {
  PyObject *value = PyObject_GetAttrString(identity, name);
  if (value == NULL) {
    return NULL;
  }
  const char *text = text_from_str(value, name);
  Py_DECREF(value); /* the named tuple holds it */
  return text;
}

int identity_function(PyObject *identity, tdt_function *function) {
  function->name = field(identity, "name");
  function->module = function->name == NULL ? NULL : field(identity, "module");
  function->qualname = function->module == NULL ? NULL : field(identity, "qualname");
  function->source = function->qualname == NULL ? NULL : field(identity, "source");
  return function->source == NULL ? -1 : 0;
}

const char *identity_prune_rule(const AutoTuner *self) {
  return field(self->identity, "prune_rule");
}

static tdt_tuner *create_engine(const AutoTuner *self, PyObject *identity) {
  tdt_function function;
  if (identity_function(identity, &function) < 0) {
    return NULL;
  }
  tdt_tuner *engine = NULL;
  tdt_error error = TDT_ERROR_INIT;
  if (tdt_tuner_create(self->state->context, &function, self->space, &self->plan, &engine,
                       &error) != TDT_OK) {
    (void)raise_status(&error, NULL);
  }
  return engine;
}

static int create(AutoTuner *self) {
  PyObject *args[] = {self->fn, self->prune_fn};
  PyObject *identity = cold_call(self->state, COLD_IDENTIFY, args, 2);
  PyObject *doubt = identity == NULL ? NULL : PyObject_GetAttrString(identity, "uncertain");
  tdt_tuner *engine = doubt == NULL ? NULL : create_engine(self, identity);
  int done = engine == NULL ? -1 : 0;
  if (engine != NULL && self->engine == NULL) { /* no other thread was faster meanwhile */
    self->identity = Py_NewRef(identity);
    self->store_doubt = Py_NewRef(doubt);
    self->engine = engine;
    engine = NULL;
  }
  tdt_tuner_destroy(engine);
  Py_XDECREF(doubt);
  Py_XDECREF(identity);
  return done;
}

static int tell_doubt(AutoTuner *self, bool verbose) {
  if (self->store_doubt == Py_None || self->doubt_told) {
    return 0;
  }
  self->doubt_told = true;
  PyObject *message =
      PyUnicode_FromFormat("%U: results are kept in memory only, since this function may not be "
                           "the same in another process: %S",
                           self->name, self->store_doubt);
  return cold_emit(self->state, TDT_LOG_WARNING, message, verbose);
}

int identity_ensure(AutoTuner *self, bool verbose) {
  if (self->engine == NULL && create(self) < 0) {
    return -1;
  }
  return tell_doubt(self, verbose);
}
