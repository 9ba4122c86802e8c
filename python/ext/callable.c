/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include "callable.h"

const char callable_reduce_doc[] = "Pickled by qualified name.";
const char callable_copy_doc[] = "A tuner is its own copy.";

PyGetSetDef callable_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static int set_default(PyObject *object, const char *attribute, PyObject *value) {
  PyObject *present = PyObject_GetAttrString(object, attribute);
  if (present != NULL) {
    Py_DECREF(present);
    return 0;
  }
  if (!PyErr_ExceptionMatches(PyExc_AttributeError)) {
    return -1;
  }
  PyErr_Clear();
  return PyObject_SetAttrString(object, attribute, value);
}

/* A function without a signature (some builtins) leaves the tuner without one. */
static int set_signature(PyObject *object, const ModuleState *state, PyObject *fn) {
  PyObject *signature = PyObject_CallOneArg(state->signature, fn);
  if (signature != NULL) {
    int done = PyObject_SetAttrString(object, "__signature__", signature);
    Py_DECREF(signature);
    return done;
  }
  if (!PyErr_ExceptionMatches(PyExc_ValueError) && !PyErr_ExceptionMatches(PyExc_TypeError)) {
    return -1;
  }
  PyErr_Clear();
  return 0;
}

int callable_wrap(PyObject *object, const ModuleState *state, PyObject *fn, PyObject *name) {
  PyObject *done = PyObject_CallFunctionObjArgs(state->update_wrapper, object, fn, NULL);
  if (done == NULL) {
    return -1;
  }
  Py_DECREF(done);
  if (set_default(object, "__name__", name) < 0 || set_default(object, "__qualname__", name) < 0) {
    return -1;
  }
  return set_signature(object, state, fn);
}

PyObject *callable_full_name(PyObject *object, PyObject *name) {
  PyObject *module = PyObject_GetAttrString(object, "__module__");
  PyObject *qualname = module == NULL ? NULL : PyObject_GetAttrString(object, "__qualname__");
  PyObject *full = NULL;
  if (qualname != NULL && PyUnicode_Check(module)) {
    full = PyUnicode_FromFormat("%U.%S", module, qualname);
  } else {
    PyErr_Clear();
    full = Py_NewRef(name);
  }
  Py_XDECREF(module);
  Py_XDECREF(qualname);
  return full;
}

int callable_parse_count(PyObject *value, const char *name, long least, unsigned *count) {
  if (value == Py_None) {
    return 0;
  }
  PyObject *index = PyNumber_Index(value);
  if (index == NULL) {
    return -1;
  }
  int overflow = 0;
  long number = PyLong_AsLongAndOverflow(index, &overflow);
  Py_DECREF(index);
  if (number == -1 && PyErr_Occurred()) {
    return -1;
  }
  if (overflow != 0 || number < least || number > MOST_RUNS) {
    PyErr_Format(PyExc_ValueError, "%s is a number from %ld to %d, not %R", name, least, MOST_RUNS,
                 value);
    return -1;
  }
  *count = (unsigned)number;
  return 0;
}

PyObject *callable_get(PyObject *self, PyObject *instance, PyObject *owner) {
  (void)owner;
  if (instance == NULL || instance == Py_None) {
    return Py_NewRef(self);
  }
  return PyMethod_New(self, instance);
}

PyObject *callable_reduce(PyObject *self, PyObject *unused) {
  (void)unused;
  return PyObject_GetAttrString(self, "__qualname__");
}

PyObject *callable_copy(PyObject *self, PyObject *unused) {
  (void)unused;
  return Py_NewRef(self);
}

PyObject *callable_keywords(PyObject *const *values, PyObject *names) {
  PyObject *kwargs = PyDict_New();
  Py_ssize_t n = names == NULL ? 0 : PyTuple_GET_SIZE(names);
  for (Py_ssize_t i = 0; kwargs != NULL && i < n; i++) {
    if (PyDict_SetItem(kwargs, PyTuple_GET_ITEM(names, i), values[i]) < 0) {
      Py_CLEAR(kwargs);
    }
  }
  return kwargs;
}

PyObject *callable_positional(PyObject *const *values, Py_ssize_t n) {
  PyObject *args = PyTuple_New(n);
  for (Py_ssize_t i = 0; args != NULL && i < n; i++) {
    PyTuple_SET_ITEM(args, i, Py_NewRef(values[i]));
  }
  return args;
}
