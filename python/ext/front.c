/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include <stdint.h>
#include <string.h>

#include "front.h"

/* Items of one entry: two for each of the equal keys of different types. Keys for which there is no
 * room are left to the engine's memory. */
#define ENTRY_LIMIT 16

static bool same_bits(double a, double b) {
  uint64_t bits[2];
  memcpy(&bits[0], &a, sizeof(a));
  memcpy(&bits[1], &b, sizeof(b));
  return bits[0] == bits[1];
}

static bool same_key(PyObject *a, PyObject *b);

/* As deep as the key is, which Python's own hash of it has been, too. */
// NOLINTBEGIN(misc-no-recursion)
static bool same_items(PyObject *a, PyObject *b) {
  Py_ssize_t n = PyTuple_GET_SIZE(a);
  if (n != PyTuple_GET_SIZE(b)) {
    return false;
  }
  for (Py_ssize_t i = 0; i < n; i++) {
    if (!same_key(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i))) {
      return false;
    }
  }
  return true;
}

/* Whether two keys that the dict found equal are also of the same types. Runs no Python code. */
static bool same_key(PyObject *a, PyObject *b) {
  if (a == b) {
    return true;
  }
  if (Py_TYPE(a) != Py_TYPE(b)) {
    return false;
  }
  if (PyTuple_Check(a)) {
    return same_items(a, b);
  }
  if (PyFloat_Check(a)) {
    return same_bits(PyFloat_AS_DOUBLE(a), PyFloat_AS_DOUBLE(b));
  }
  if (PyComplex_Check(a)) {
    return same_bits(PyComplex_RealAsDouble(a), PyComplex_RealAsDouble(b)) &&
           same_bits(PyComplex_ImagAsDouble(a), PyComplex_ImagAsDouble(b));
  }
  return true;
}

// NOLINTEND(misc-no-recursion)

/* The value of an entry is a tuple (key, winner, key, winner, ...). -1: not in it. */
static Py_ssize_t entry_find(PyObject *entry, PyObject *key) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(entry); i += 2) {
    if (same_key(PyTuple_GET_ITEM(entry, i), key)) {
      return i;
    }
  }
  return -1;
}

int front_find(PyObject *front, PyObject *key, size_t *candidate) {
  PyObject *entry = PyDict_GetItemWithError(front, key);
  if (entry == NULL) {
    if (!PyErr_Occurred()) {
      return 0;
    }
    if (PyErr_ExceptionMatches(PyExc_TypeError)) { /* no hash; its text may still be known */
      PyErr_Clear();
      return 0;
    }
    return -1;
  }
  Py_ssize_t at = entry_find(entry, key);
  if (at < 0) {
    return 0;
  }
  *candidate = PyLong_AsSize_t(PyTuple_GET_ITEM(entry, at + 1));
  return 1;
}

static bool is_nan(double value) {
  return value != value;
}

static int accepts_all(const ModuleState *state, PyObject *tuple);

/* What is described by its value and type alone, or by what Python knows of it. -1: an error. */
// NOLINTNEXTLINE(misc-no-recursion): as same_items()
static int accepts(const ModuleState *state, PyObject *key) {
  if (PyUnicode_CheckExact(key) || PyLong_CheckExact(key) || key == Py_None || PyBool_Check(key)) {
    return 1;
  }
  if (PyFloat_Check(key)) {
    return is_nan(PyFloat_AS_DOUBLE(key)) ? 0 : 1;
  }
  if (PyComplex_Check(key)) {
    return is_nan(PyComplex_RealAsDouble(key)) || is_nan(PyComplex_ImagAsDouble(key)) ? 0 : 1;
  }
  if (PyTuple_Check(key)) {
    return accepts_all(state, key);
  }
  PyObject *answer = cold_call(state, COLD_MAY_BE_COMPARED, &key, 1);
  int truth = answer == NULL ? -1 : PyObject_IsTrue(answer);
  Py_XDECREF(answer);
  return truth;
}

// NOLINTNEXTLINE(misc-no-recursion): as same_items()
static int accepts_all(const ModuleState *state, PyObject *tuple) {
  int accepted = 1;
  for (Py_ssize_t i = 0; accepted > 0 && i < PyTuple_GET_SIZE(tuple); i++) {
    accepted = accepts(state, PyTuple_GET_ITEM(tuple, i));
  }
  return accepted;
}

/* A new entry: the old one (may be NULL) with the key's winner added or replaced. */
static PyObject *entry_with(PyObject *entry, PyObject *key, size_t candidate) {
  Py_ssize_t size = entry == NULL ? 0 : PyTuple_GET_SIZE(entry);
  Py_ssize_t at = entry == NULL ? -1 : entry_find(entry, key);
  PyObject *winner = PyLong_FromSize_t(candidate);
  PyObject *made = winner == NULL ? NULL : PyTuple_New(at < 0 ? size + 2 : size);
  if (made == NULL) {
    Py_XDECREF(winner);
    return NULL;
  }
  for (Py_ssize_t i = 0; i < size; i++) {
    PyTuple_SET_ITEM(made, i, Py_NewRef(PyTuple_GET_ITEM(entry, i)));
  }
  if (at < 0) {
    PyTuple_SET_ITEM(made, size, Py_NewRef(key));
    PyTuple_SET_ITEM(made, size + 1, winner);
  } else {
    Py_DECREF(PyTuple_GET_ITEM(made, at + 1));
    PyTuple_SET_ITEM(made, at + 1, winner);
  }
  return made;
}

static int add(PyObject *front, PyObject *key, size_t candidate) {
  PyObject *old = Py_XNewRef(PyDict_GetItemWithError(front, key));
  if (old == NULL && PyErr_Occurred()) {
    return -1;
  }
  int done = 0;
  if (old == NULL || PyTuple_GET_SIZE(old) < ENTRY_LIMIT) {
    PyObject *entry = entry_with(old, key, candidate);
    done = entry == NULL ? -1 : PyDict_SetItem(front, key, entry);
    Py_XDECREF(entry);
  }
  Py_XDECREF(old);
  return done;
}

int front_add(const ModuleState *state, PyObject *front, PyObject *key, size_t candidate) {
  int accepted = accepts(state, key);
  if (accepted <= 0) {
    return accepted;
  }
  if (add(front, key, candidate) == 0) {
    return 0;
  }
  if (PyErr_ExceptionMatches(PyExc_TypeError)) { /* no hash */
    PyErr_Clear();
    return 0;
  }
  return -1;
}
