/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include "overwrite.h"

static int refuse(const AutoTuner *self, PyObject *field, bool by_position) {
  PyErr_Format(PyExc_ValueError,
               "%U() got '%U' %s, but the configurations set it; leave it out, or pass "
               "autotune_allow_arg_overwrite=True to use your value",
               self->name, field, by_position ? "as a positional argument" : "as a keyword");
  return -1;
}

/* A field, and the value that the caller gave for it: refused, or noted down. */
static int meet(const AutoTuner *self, Call *call, PyObject *name, PyObject *value,
                bool by_position) {
  int is_field = PySet_Contains(self->candidates.fields, name);
  if (is_field <= 0) {
    return is_field;
  }
  if (call->overwritten == NULL) {
    return refuse(self, name, by_position);
  }
  return PyDict_SetItem(call->overwritten, name, value);
}

static int meet_all(const AutoTuner *self, Call *call) {
  Py_ssize_t n_names = PyTuple_GET_SIZE(self->positional_names);
  for (Py_ssize_t i = self->n_positional_free; i < call->n_args && i < n_names; i++) {
    PyObject *name = PyTuple_GET_ITEM(self->positional_names, i);
    if (meet(self, call, name, call->args[i], true) < 0) {
      return -1;
    }
  }
  for (Py_ssize_t i = 0; i < call_n_names(call); i++) {
    PyObject *name = PyTuple_GET_ITEM(call->names, i);
    if (meet(self, call, name, call->args[call->n_args + i], false) < 0) {
      return -1;
    }
  }
  return 0;
}

static int warn_once(AutoTuner *self, const Call *call) {
  if (self->overwrite_told) {
    return 0;
  }
  self->overwrite_told = true;
  PyObject *names = PyDict_Keys(call->overwritten);
  if (names == NULL) {
    return -1;
  }
  PyObject *message = PyUnicode_FromFormat(
      "%U: the caller's value is used for %S, which therefore cannot be tuned", self->name, names);
  Py_DECREF(names);
  return cold_emit(self->state, TDT_LOG_WARNING, message, call->verbose);
}

int overwrite_look(AutoTuner *self, Call *call) {
  if (call->may_overwrite) {
    call->overwritten = PyDict_New();
    if (call->overwritten == NULL) {
      return -1;
    }
  }
  if (meet_all(self, call) < 0) {
    return -1;
  }
  if (call->overwritten == NULL) {
    return 0;
  }
  if (PyDict_GET_SIZE(call->overwritten) == 0) {
    Py_CLEAR(call->overwritten);
    return 0;
  }
  return warn_once(self, call);
}

/* "name: text", the text as a key's. */
static PyObject *describe_field(const AutoTuner *self, PyObject *name, PyObject *value) {
  PyObject *text = cold_call(self->state, COLD_DESCRIBE_KEY, &value, 1);
  if (text == NULL) {
    return NULL;
  }
  PyObject *described = PyUnicode_FromFormat("%U: %S", name, text);
  Py_DECREF(text);
  return described;
}

static PyObject *describe_fields(const AutoTuner *self, PyObject *overwritten) {
  PyObject *parts = PyList_New(0);
  PyObject *name = NULL;
  PyObject *value = NULL;
  Py_ssize_t position = 0;
  while (parts != NULL && PyDict_Next(overwritten, &position, &name, &value)) {
    PyObject *part = describe_field(self, name, value);
    if (part == NULL || PyList_Append(parts, part) < 0) {
      Py_CLEAR(parts);
    }
    Py_XDECREF(part);
  }
  if (parts != NULL && PyList_Sort(parts) < 0) {
    Py_CLEAR(parts);
  }
  return parts;
}

static PyObject *join(PyObject *parts) {
  PyObject *comma = PyUnicode_FromString(", ");
  PyObject *joined = comma == NULL ? NULL : PyUnicode_Join(comma, parts);
  Py_XDECREF(comma);
  return joined;
}

PyObject *overwrite_key(const AutoTuner *self, const Call *call, PyObject *text) {
  if (text == NULL || call->overwritten == NULL) {
    return text;
  }
  PyObject *whole = NULL;
  PyObject *parts = describe_fields(self, call->overwritten);
  PyObject *joined = parts == NULL ? NULL : join(parts);
  if (joined != NULL) {
    whole = PyUnicode_FromFormat("%U overwritten {%U}", text, joined);
  }
  Py_XDECREF(joined);
  Py_XDECREF(parts);
  Py_DECREF(text);
  return whole;
}
