/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_SHAPE_H
#define TDT_EXT_SHAPE_H

#include "compat.h"

#include "candidates.h"
#include "state.h"

/*
 * What there is to know about the keyword names of a call. Call sites pass one and the same tuple
 * of names each time, so a tuner works this out once and finds it again by the tuple's address.
 */
typedef struct Shape {
  unsigned n_users;          /* its cache, and the calls that are under way with it */
  PyObject *kwnames;         /* all names, as the caller passed them */
  PyObject *business;        /* those that are the function's; kwnames itself if all are */
  Py_ssize_t *values;        /* where each business value is among the keyword values */
  Py_ssize_t at[N_CONTROLS]; /* where each control is among them, -1: not given */
  bool has_controls;         /* any of them */
  PyObject *conflict;        /* borrowed: the first business name that is a field, or NULL */
  size_t n_merged;           /* entries of `merged`: one for each tuple of field names */
  PyObject *merged[];        /* business and field names together; made when first needed */
} Shape;

#define SHAPE_CACHE_SIZE 4

typedef struct ShapeCache {
  Shape *shapes[SHAPE_CACHE_SIZE];
  unsigned next; /* to be replaced */
} ShapeCache;

/* The shape of `kwnames` (not empty), with one user more: give it back with shape_release(). */
Shape *shape_get(ShapeCache *cache, const ModuleState *state, const Candidates *candidates,
                 PyObject *kwnames);
void shape_release(Shape *shape);

/* The names for a call with this candidate, borrowed from the shape. */
PyObject *shape_merged(Shape *shape, const Candidates *candidates, const Candidate *candidate);

/* No traverse: all that a shape holds are strings and tuples of them. */
void shape_cache_clear(ShapeCache *cache);

#endif
