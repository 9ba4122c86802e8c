/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include <unistd.h>

#include "takeover.h"

/* What a class itself (not a base of it) has under a name: a new reference. */
static PyObject *own_attribute(PyObject *cls, PyObject *name) {
  PyObject *dict = PyObject_GetAttrString(cls, "__dict__");
  PyObject *value = dict == NULL ? NULL : PyObject_GetItem(dict, name);
  Py_XDECREF(dict);
  return value;
}

static int put_back(PyObject *entry) {
  PyObject *cls = PyTuple_GET_ITEM(entry, 0);
  PyObject *name = PyTuple_GET_ITEM(entry, 1);
  PyObject *present = own_attribute(cls, name);
  int done = present == NULL ? -1 : 0;
  if (present == PyTuple_GET_ITEM(entry, 3)) {
    done = PyObject_SetAttr(cls, name, PyTuple_GET_ITEM(entry, 2));
  }
  Py_XDECREF(present);
  return done;
}

void takeover_put_back(PyObject *entry) {
  if (put_back(entry) < 0) {
    PyErr_WriteUnraisable(PyTuple_GET_ITEM(entry, 0));
  }
}

PyObject *takeover_replace(PyObject *cls, PyObject *name, PyObject *replacement) {
  PyObject *original = own_attribute(cls, name);
  PyObject *entry = original == NULL ? NULL : PyTuple_Pack(4, cls, name, original, replacement);
  Py_XDECREF(original);
  if (entry != NULL && PyObject_SetAttr(cls, name, replacement) < 0) {
    Py_CLEAR(entry);
  }
  return entry;
}

static void put_all_back(ModuleState *state) {
  PyObject *taken = state->taken;
  state->taken = NULL;
  for (Py_ssize_t i = taken == NULL ? 0 : PyList_GET_SIZE(taken); i > 0; i--) {
    takeover_put_back(PyList_GET_ITEM(taken, i - 1));
  }
  Py_XDECREF(taken);
}

void takeover_end(ModuleState *state) {
  PyObject *type = NULL;
  PyObject *value = NULL;
  PyObject *traceback = NULL;
  PyErr_Fetch(&type, &value, &traceback);
  put_all_back(state);
  Py_CLEAR(state->active);
  PyErr_Restore(type, value, traceback);
}

int takeover_begin(ModuleState *state, PyObject *tuner) {
  if (state->active != NULL && state->active_pid != getpid()) {
    takeover_end(state); /* a fork took it along; the tuning goes on in the parent */
  }
  if (state->active != NULL) {
    PyErr_Format(PyExc_RuntimeError,
                 "%R cannot run now: %R is active, and only one contextual tuner can be at a time "
                 "(neither nested nor in another thread)",
                 tuner, state->active);
    return -1;
  }
  state->active = Py_NewRef(tuner);
  state->active_pid = getpid();
  return 0;
}

/* Noted before it is done, so that whatever happens in between is undone. */
static int replace(ModuleState *state, PyObject *cls, PyObject *name, PyObject *replacement) {
  PyObject *original = own_attribute(cls, name);
  if (original == NULL) {
    return -1;
  }
  PyObject *entry = PyTuple_Pack(4, cls, name, original, replacement);
  Py_DECREF(original);
  if (entry == NULL) {
    return -1;
  }
  if (state->taken == NULL) {
    state->taken = PyList_New(0);
  }
  int done = state->taken == NULL ? -1 : PyList_Append(state->taken, entry);
  Py_DECREF(entry);
  return done < 0 ? -1 : PyObject_SetAttr(cls, name, replacement);
}

static PyObject *take_over(PyObject *module, PyObject *args) {
  ModuleState *state = state_of(module);
  PyObject *cls = NULL;
  PyObject *name = NULL;
  PyObject *replacement = NULL;
  if (!PyArg_ParseTuple(args, "O!UO:take_over", &PyType_Type, &cls, &name, &replacement)) {
    return NULL;
  }
  if (state->active == NULL) {
    PyErr_SetString(PyExc_RuntimeError, "no contextual tuner is active");
    return NULL;
  }
  if (replace(state, cls, name, replacement) < 0) {
    return NULL;
  }
  Py_RETURN_NONE;
}

PyDoc_STRVAR(take_over_doc,
             "take_over(cls, name, replacement, /)\n--\n\n"
             "Replace a method that a class itself has, until the active contextual tuner ends.");

PyMethodDef takeover_methods[] = {
    {"take_over", take_over, METH_VARARGS, take_over_doc},
    {NULL, NULL, 0, NULL},
};
