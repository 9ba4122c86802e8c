/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include <string.h>

#include "convert.h"

/* Characters of an exception's message that go into a record. */
#define MESSAGE_LIMIT 2000

/* Exceptions of one chain that are looked at: chains may branch and even be circular. */
#define CHAIN_LIMIT 64

PyObject *exception_take(void) {
#if PY_VERSION_HEX >= 0x030C0000
  return PyErr_GetRaisedException();
#else
  PyObject *type = NULL;
  PyObject *value = NULL;
  PyObject *traceback = NULL;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback != NULL) {
    (void)PyException_SetTraceback(value, traceback);
  }
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return value;
#endif
}

void exception_raise(PyObject *exception) {
#if PY_VERSION_HEX >= 0x030C0000
  PyErr_SetRaisedException(exception);
#else
  PyErr_Restore(Py_NewRef(Py_TYPE(exception)), exception, PyException_GetTraceback(exception));
#endif
}

PyObject *exception_handled(void) {
  PyObject *type = NULL;
  PyObject *value = NULL;
  PyObject *traceback = NULL;
  PyErr_GetExcInfo(&type, &value, &traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  if (value == Py_None) {
    Py_CLEAR(value);
  }
  return value;
}

static bool holds(PyObject *list, PyObject *item) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
    if (PyList_GET_ITEM(list, i) == item) {
      return true;
    }
  }
  return false;
}

/* Puts `next` on the list to be looked at. Steals it. */
static void look_at(PyObject *chain, PyObject *next, PyObject *outer) {
  if (next == NULL) {
    return;
  }
  if (next != outer && PyList_GET_SIZE(chain) < CHAIN_LIMIT && !holds(chain, next) &&
      PyList_Append(chain, next) < 0) {
    PyErr_Clear();
  }
  Py_DECREF(next);
}

void exception_forget_frames(PyObject *exception, PyObject *outer) {
  PyObject *chain = PyList_New(0);
  if (chain == NULL) {
    PyErr_Clear();
    return;
  }
  look_at(chain, Py_NewRef(exception), outer);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(chain); i++) {
    PyObject *here = PyList_GET_ITEM(chain, i);
    (void)PyException_SetTraceback(here, Py_None);
    look_at(chain, PyException_GetCause(here), outer);
    look_at(chain, PyException_GetContext(here), outer);
  }
  Py_DECREF(chain);
}

/* str(exception), shortened, without white space at its ends and without NULs, where a C reader
 * would take it to end; NULL with an error set. */
static PyObject *message_of(PyObject *exception) {
  PyObject *text = PyObject_Str(exception);
  if (text == NULL) {
    return NULL;
  }
  Py_SETREF(text, PyUnicode_Substring(text, 0, MESSAGE_LIMIT));
  if (text == NULL) {
    return NULL;
  }
  Py_SETREF(text, PyObject_CallMethod(text, "replace", "s#s", "\0", (Py_ssize_t)1, "\\0"));
  if (text == NULL) {
    return NULL;
  }
  Py_SETREF(text, PyObject_CallMethod(text, "strip", NULL));
  return text;
}

PyObject *exception_summary(PyObject *exception) {
  const char *dotted = Py_TYPE(exception)->tp_name;
  const char *dot = strrchr(dotted, '.');
  const char *name = dot == NULL ? dotted : dot + 1;
  PyObject *message = message_of(exception);
  if (message == NULL) {
    PyErr_Clear();
    return PyUnicode_FromFormat("%s (its message cannot be shown)", name);
  }
  PyObject *summary = PyUnicode_GET_LENGTH(message) == 0
                          ? PyUnicode_FromString(name)
                          : PyUnicode_FromFormat("%s: %U", name, message);
  Py_DECREF(message);
  return summary;
}

tdt_status exception_to_error(PyObject *exception, tdt_status code, tdt_error *error) {
  PyObject *summary = exception_summary(exception);
  PyObject *utf8 =
      summary == NULL ? NULL : PyUnicode_AsEncodedString(summary, "utf-8", "backslashreplace");
  if (utf8 == NULL) {
    PyErr_Clear();
    (void)tdt_error_set(error, code, "%s", Py_TYPE(exception)->tp_name);
  } else {
    (void)tdt_error_set(error, code, "%s", PyBytes_AS_STRING(utf8));
  }
  Py_XDECREF(utf8);
  Py_XDECREF(summary);
  return code;
}

static int add_note(PyObject *exception, PyObject *note) {
#if PY_VERSION_HEX >= 0x030B0000
  PyObject *done = PyObject_CallMethod(exception, "add_note", "O", note);
  Py_XDECREF(done);
  return done == NULL ? -1 : 0;
#else
  PyObject *notes = PyObject_GetAttrString(exception, "__notes__");
  if (notes == NULL) {
    PyErr_Clear();
    notes = PyList_New(0);
    if (notes == NULL || PyObject_SetAttrString(exception, "__notes__", notes) < 0) {
      Py_XDECREF(notes);
      return -1;
    }
  }
  int done = PyList_Append(notes, note);
  Py_DECREF(notes);
  return done;
#endif
}

void exception_note(PyObject *exception, PyObject *note) {
  if (note == NULL || add_note(exception, note) < 0) {
    PyErr_Clear();
  }
  Py_XDECREF(note);
}
