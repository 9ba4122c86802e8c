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

/* A vectorcall's positional arguments as a tuple, and its keywords (`names` may be NULL) as a dict:
 * new references. */
PyObject *callable_positional(PyObject *const *values, Py_ssize_t n);
PyObject *callable_keywords(PyObject *const *values, PyObject *names);

/* tp_descr_get: a function of a class is bound to the instance. */
PyObject *callable_get(PyObject *self, PyObject *instance, PyObject *owner);

/* __reduce__, __copy__ and __deepcopy__: pickled by qualified name, its own copy. */
#define CALLABLE_METHODS                                                                           \
  {"__reduce__", callable_reduce, METH_NOARGS, callable_reduce_doc},                               \
      {"__copy__", callable_copy, METH_NOARGS, callable_copy_doc}, {                               \
    "__deepcopy__", callable_copy, METH_O, callable_copy_doc                                       \
  }

/* Where an object of the struct keeps its __dict__, its weak references and its vectorcall. */
#define CALLABLE_OFFSETS(type)                                                                     \
  {"__dictoffset__", T_PYSSIZET, offsetof(type, dict), READONLY, NULL},                            \
      {"__weaklistoffset__", T_PYSSIZET, offsetof(type, weakrefs), READONLY, NULL}, {              \
    "__vectorcalloffset__", T_PYSSIZET, offsetof(type, vectorcall), READONLY, NULL                 \
  }

/* What makes it called like a function, and be one of a class. */
#define CALLABLE_SLOTS                                                                             \
  {Py_tp_call, SLOT(PyVectorcall_Call)}, {Py_tp_descr_get, SLOT(callable_get)}, {                  \
    Py_tp_getset, callable_getset                                                                  \
  }

#define CALLABLE_FLAGS                                                                             \
  (Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |                          \
   Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_IMMUTABLETYPE)

extern PyGetSetDef callable_getset[];
extern const char callable_reduce_doc[];
extern const char callable_copy_doc[];

PyObject *callable_reduce(PyObject *self, PyObject *unused);
PyObject *callable_copy(PyObject *self, PyObject *unused);

#endif
