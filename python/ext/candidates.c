/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include "candidates.h"
#include "convert.h"

/* The names of a dict, interned, so that a called function recognises them by their address. */
static PyObject *names_of(PyObject *config) {
  PyObject *names = PyTuple_New(PyDict_GET_SIZE(config));
  if (names == NULL) {
    return NULL;
  }
  PyObject *name = NULL;
  PyObject *value = NULL;
  Py_ssize_t position = 0;
  for (Py_ssize_t i = 0; PyDict_Next(config, &position, &name, &value); i++) {
    if (!PyUnicode_Check(name)) {
      PyErr_Format(PyExc_TypeError, "field names of a configuration are text, not %R", name);
      Py_DECREF(names);
      return NULL;
    }
    Py_INCREF(name);
    PyUnicode_InternInPlace(&name);
    PyTuple_SET_ITEM(names, i, name);
  }
  return names;
}

/* Where the tuple of names is in the table; added if it is new. Steals `names`. */
static int share_names(Candidates *candidates, PyObject *names, size_t *index) {
  for (size_t i = 0; i < candidates->n_names; i++) {
    int same = PyObject_RichCompareBool(candidates->names[i], names, Py_EQ);
    if (same != 0) {
      Py_DECREF(names);
      *index = i;
      return same < 0 ? -1 : 0;
    }
  }
  candidates->names[candidates->n_names] = names;
  *index = candidates->n_names++;
  return 0;
}

static int candidate_fill(Candidates *candidates, Candidate *candidate, PyObject *config) {
  if (!PyDict_Check(config)) {
    PyErr_Format(PyExc_TypeError, "a configuration is a dict, not %R", config);
    return -1;
  }
  PyObject *names = names_of(config);
  if (names == NULL || share_names(candidates, names, &candidate->names) < 0) {
    return -1;
  }
  names = candidate_names(candidates, candidate);
  Py_ssize_t n = PyTuple_GET_SIZE(names);
  PyObject **values = PyMem_Calloc((size_t)n + 1, sizeof(PyObject *));
  if (values == NULL) {
    (void)PyErr_NoMemory();
    return -1;
  }
  candidate->values = values;
  for (Py_ssize_t i = 0; i < n; i++) {
    values[i] = Py_XNewRef(PyDict_GetItemWithError(config, PyTuple_GET_ITEM(names, i)));
    if (values[i] == NULL) {
      return -1;
    }
  }
  candidate->config = Py_NewRef(config);
  return 0;
}

static PyObject *all_fields(const Candidates *candidates) {
  PyObject *fields = PyFrozenSet_New(NULL);
  for (size_t i = 0; fields != NULL && i < candidates->n_names; i++) {
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(candidates->names[i]); k++) {
      if (PySet_Add(fields, PyTuple_GET_ITEM(candidates->names[i], k)) < 0) {
        Py_DECREF(fields);
        return NULL;
      }
    }
  }
  return fields;
}

int candidates_fill(Candidates *candidates, PyObject *configs) {
  size_t n = (size_t)PyTuple_GET_SIZE(configs);
  candidates->items = PyMem_Calloc(n + 1, sizeof(*candidates->items));
  candidates->names = PyMem_Calloc(n + 1, sizeof(PyObject *));
  if (candidates->items == NULL || candidates->names == NULL) {
    (void)PyErr_NoMemory();
    return -1;
  }
  for (; candidates->n < n; candidates->n++) {
    PyObject *config = PyTuple_GET_ITEM(configs, (Py_ssize_t)candidates->n);
    if (candidate_fill(candidates, &candidates->items[candidates->n], config) < 0) {
      candidates->n++; /* what it holds already must be let go */
      return -1;
    }
  }
  candidates->fields = all_fields(candidates);
  return candidates->fields == NULL ? -1 : 0;
}

int candidates_traverse(Candidates *candidates, visitproc visit, void *arg) {
  for (size_t i = 0; i < candidates->n; i++) {
    Candidate *candidate = &candidates->items[i];
    Py_VISIT(candidate->config);
    for (PyObject **value = candidate->values; value != NULL && *value != NULL; value++) {
      Py_VISIT(*value);
    }
  }
  for (size_t i = 0; i < candidates->n_names; i++) {
    Py_VISIT(candidates->names[i]);
  }
  Py_VISIT(candidates->fields);
  return 0;
}

static void candidate_clear(Candidate *candidate) {
  for (PyObject **value = candidate->values; value != NULL && *value != NULL; value++) {
    Py_DECREF(*value);
  }
  PyMem_Free(candidate->values);
  Py_XDECREF(candidate->config);
}

/* The table is empty before anything in it is let go: that may run code which looks at it. */
void candidates_clear(Candidates *candidates) {
  Candidates old = *candidates;
  *candidates = (Candidates){0};
  for (size_t i = 0; i < old.n; i++) {
    candidate_clear(&old.items[i]);
  }
  for (size_t i = 0; i < old.n_names; i++) {
    Py_DECREF(old.names[i]);
  }
  PyMem_Free(old.items);
  PyMem_Free(old.names);
  Py_XDECREF(old.fields);
}

tdt_space *candidates_space(PyObject *texts) {
  size_t n = (size_t)PyTuple_GET_SIZE(texts);
  const char **configs = PyMem_Calloc(n + 1, sizeof(*configs));
  if (configs == NULL) {
    (void)PyErr_NoMemory();
    return NULL;
  }
  tdt_space *space = NULL;
  size_t i = 0;
  while (i < n) {
    PyObject *text = PyTuple_GET_ITEM(texts, (Py_ssize_t)i);
    configs[i] = text_from_str(text, "the description of a configuration");
    if (configs[i] == NULL) {
      break;
    }
    i++;
  }
  tdt_error error = TDT_ERROR_INIT;
  if (i == n && tdt_space_create(configs, n, &space, &error) != TDT_OK) {
    (void)raise_status(&error, NULL);
  }
  PyMem_Free(configs);
  return space;
}
