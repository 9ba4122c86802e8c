/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_CALLABLE_H
#define TDT_EXT_CALLABLE_H

#include "compat.h"

#include "state.h"

/* What every callable of this module that stands in for a function has in common with it. */

/* Runs of one kind that a plan may have; the library's bound. */
#define MOST_RUNS 100000

/* Gives `object` the attributes that functools.wraps would: of `fn`, and `name` where that has
 * none. */
int callable_wrap(PyObject *object, const ModuleState *state, PyObject *fn, PyObject *name);

/* "module.qualname", as far as there are such; else `name`. */
PyObject *callable_full_name(PyObject *object, PyObject *name);

/* A number of runs named `name`, from `least` to MOST_RUNS. None leaves *count as it is. */
int callable_parse_count(PyObject *value, const char *name, long least, unsigned *count);

/* tp_descr_get: a function of a class is bound to the instance. */
PyObject *callable_get(PyObject *self, PyObject *instance, PyObject *owner);

/* __reduce__, __copy__ and __deepcopy__: pickled by qualified name, its own copy. */
#define CALLABLE_METHODS                                                                           \
  {"__reduce__", callable_reduce, METH_NOARGS, callable_reduce_doc},                               \
      {"__copy__", callable_copy, METH_NOARGS, callable_copy_doc}, {                               \
    "__deepcopy__", callable_copy, METH_O, callable_copy_doc                                       \
  }

extern const char callable_reduce_doc[];
extern const char callable_copy_doc[];

PyObject *callable_reduce(PyObject *self, PyObject *unused);
PyObject *callable_copy(PyObject *self, PyObject *unused);

#endif
