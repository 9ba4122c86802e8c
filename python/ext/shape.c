/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include "shape.h"

/* Names from a ** dict may be copies of the ones we know. */
static bool same_name(PyObject *a, PyObject *b) {
  return a == b || PyUnicode_Compare(a, b) == 0;
}

static int control_of(const ModuleState *state, PyObject *name) {
  for (int i = 0; i < N_CONTROLS; i++) {
    if (state->controls[i] != NULL && same_name(name, state->controls[i])) {
      return i;
    }
  }
  return -1;
}

/* Tells controls from business; *n_business is how many of the latter there are. */
static void sort_out(Shape *shape, const ModuleState *state, Py_ssize_t *n_business) {
  for (int i = 0; i < N_CONTROLS; i++) {
    shape->at[i] = -1;
  }
  *n_business = 0;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shape->kwnames); i++) {
    int control = control_of(state, PyTuple_GET_ITEM(shape->kwnames, i));
    if (control < 0) {
      shape->values[(*n_business)++] = i;
    } else {
      shape->at[control] = i;
      shape->has_controls = true;
    }
  }
}

static PyObject *business_names(const Shape *shape, Py_ssize_t n_business) {
  if (!shape->has_controls) {
    return Py_NewRef(shape->kwnames);
  }
  PyObject *business = PyTuple_New(n_business);
  for (Py_ssize_t i = 0; business != NULL && i < n_business; i++) {
    PyObject *name = PyTuple_GET_ITEM(shape->kwnames, shape->values[i]);
    PyTuple_SET_ITEM(business, i, Py_NewRef(name));
  }
  return business;
}

static int find_conflict(Shape *shape, PyObject *fields) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shape->business); i++) {
    PyObject *name = PyTuple_GET_ITEM(shape->business, i);
    int is_field = PySet_Contains(fields, name);
    if (is_field != 0) {
      shape->conflict = name;
      return is_field < 0 ? -1 : 0;
    }
  }
  return 0;
}

static int shape_fill(Shape *shape, const ModuleState *state, const Candidates *candidates) {
  shape->values = PyMem_Calloc((size_t)PyTuple_GET_SIZE(shape->kwnames), sizeof(*shape->values));
  if (shape->values == NULL) {
    (void)PyErr_NoMemory();
    return -1;
  }
  Py_ssize_t n_business = 0;
  sort_out(shape, state, &n_business);
  shape->business = business_names(shape, n_business);
  return shape->business == NULL ? -1 : find_conflict(shape, candidates->fields);
}

static Shape *shape_create(const ModuleState *state, const Candidates *candidates,
                           PyObject *kwnames) {
  size_t size = sizeof(Shape) + candidates->n_names * sizeof(PyObject *);
  Shape *shape = PyMem_Calloc(1, size);
  if (shape == NULL) {
    (void)PyErr_NoMemory();
    return NULL;
  }
  shape->n_users = 1;
  shape->kwnames = Py_NewRef(kwnames);
  shape->n_merged = candidates->n_names;
  if (shape_fill(shape, state, candidates) < 0) {
    shape_release(shape);
    return NULL;
  }
  return shape;
}

void shape_release(Shape *shape) {
  if (shape == NULL || --shape->n_users > 0) {
    return;
  }
  for (size_t i = 0; i < shape->n_merged; i++) {
    Py_XDECREF(shape->merged[i]);
  }
  Py_XDECREF(shape->business);
  Py_DECREF(shape->kwnames);
  PyMem_Free(shape->values);
  PyMem_Free(shape);
}

static bool same_names(PyObject *a, PyObject *b) {
  Py_ssize_t n = PyTuple_GET_SIZE(a);
  if (n != PyTuple_GET_SIZE(b)) {
    return false;
  }
  for (Py_ssize_t i = 0; i < n; i++) {
    if (!same_name(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i))) {
      return false;
    }
  }
  return true;
}

/* The same tuple first, then one that says the same: a call with ** makes a new tuple each time. */
static Shape *cached(const ShapeCache *cache, PyObject *kwnames) {
  for (unsigned i = 0; i < SHAPE_CACHE_SIZE; i++) {
    if (cache->shapes[i] != NULL && cache->shapes[i]->kwnames == kwnames) {
      return cache->shapes[i];
    }
  }
  for (unsigned i = 0; i < SHAPE_CACHE_SIZE; i++) {
    if (cache->shapes[i] != NULL && same_names(cache->shapes[i]->kwnames, kwnames)) {
      return cache->shapes[i];
    }
  }
  return NULL;
}

Shape *shape_get(ShapeCache *cache, const ModuleState *state, const Candidates *candidates,
                 PyObject *kwnames) {
  Shape *shape = cached(cache, kwnames);
  if (shape == NULL) {
    shape = shape_create(state, candidates, kwnames);
    if (shape == NULL) {
      return NULL;
    }
    Shape **place = &cache->shapes[cache->next];
    cache->next = (cache->next + 1) % SHAPE_CACHE_SIZE;
    Shape *old = *place;
    *place = shape;
    shape_release(old);
  }
  shape->n_users++;
  return shape;
}

PyObject *shape_merged(Shape *shape, const Candidates *candidates, const Candidate *candidate) {
  PyObject **merged = &shape->merged[candidate->names];
  if (*merged == NULL) {
    *merged = PySequence_Concat(shape->business, candidate_names(candidates, candidate));
  }
  return *merged;
}

void shape_cache_clear(ShapeCache *cache) {
  for (unsigned i = 0; i < SHAPE_CACHE_SIZE; i++) {
    Shape *old = cache->shapes[i];
    cache->shapes[i] = NULL;
    shape_release(old);
  }
}
