/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include <string.h>

#include "convert.h"

PyObject *text_to_str(const char *text) {
  return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

const char *text_from_str(PyObject *str, const char *what) {
  Py_ssize_t size = 0;
  const char *text = PyUnicode_AsUTF8AndSize(str, &size);
  if (text != NULL && strlen(text) != (size_t)size) {
    PyErr_Format(PyExc_ValueError, "%s holds a NUL character: %R", what, str);
    return NULL;
  }
  return text;
}

static PyObject *exception_type(tdt_status status) {
  switch (status) {
  case TDT_EINVAL:
  case TDT_EPRUNED:
  case TDT_EFORMAT:
    return PyExc_ValueError;
  case TDT_ENOENT:
    return PyExc_FileNotFoundError;
  case TDT_EIO:
    return PyExc_OSError;
  case TDT_EMISS:
    return PyExc_LookupError;
  case TDT_ENOMEM:
    return PyExc_MemoryError;
  default:
    return PyExc_RuntimeError;
  }
}

static void raise_text(PyObject *type, PyObject *text, PyObject *cause) {
  PyObject *exception = PyObject_CallOneArg(type, text);
  if (exception == NULL) {
    return;
  }
  if (cause != NULL) {
    PyException_SetCause(exception, Py_NewRef(cause));
    PyException_SetContext(exception, Py_NewRef(cause));
  }
  PyErr_SetObject(type, exception);
  Py_DECREF(exception);
}

int raise_status(tdt_error *error, PyObject *cause) {
  PyObject *text = text_to_str(tdt_error_text(error));
  if (text != NULL) {
    raise_text(exception_type(error->code), text, cause);
    Py_DECREF(text);
  }
  tdt_error_clear(error);
  return -1;
}
