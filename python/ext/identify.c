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

static int create(AutoTuner *self) {
  PyObject *args[] = {self->fn, self->prune_fn};
  PyObject *identity = cold_call(self->state, COLD_IDENTIFY, args, 2);
  PyObject *doubt = identity == NULL ? NULL : PyObject_GetAttrString(identity, "uncertain");
  tdt_function function;
  int done = doubt == NULL ? -1 : identity_function(identity, &function);
  if (done == 0 && self->identity == NULL) { /* no other thread was faster meanwhile */
    self->identity = Py_NewRef(identity);
    self->store_doubt = Py_NewRef(doubt);
  }
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
  if (self->identity == NULL && create(self) < 0) {
    return -1;
  }
  return tell_doubt(self, verbose);
}

int identity_engine(AutoTuner *self, Lane *lane) {
  if (lane->engine != NULL) {
    return 0;
  }
  tdt_function function;
  if (identity_function(self->identity, &function) < 0) {
    return -1;
  }
  tdt_error error = TDT_ERROR_INIT;
  if (tdt_tuner_create(self->state->context, &function, self->space, &self->plan, &lane->engine,
                       &error) != TDT_OK) {
    return raise_status(&error, NULL);
  }
  return 0;
}
