/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_CALL_H
#define TDT_EXT_CALL_H

#include "compat.h"

#include "autotuner.h"

/* Values of one call that fit on the C stack; longer calls take the heap. */
#define CALL_SMALL 24

/* One call of a tuner, without what is for the tuner itself. All borrowed from the caller unless
 * said otherwise. */
typedef struct Call {
  PyObject *const *args; /* positional arguments, then the values of the business keywords */
  size_t nargsf;         /* as vectorcall wants it */
  Py_ssize_t n_args;     /* positional ones */
  PyObject *names;       /* business keywords, NULL: none */
  Shape *shape;          /* NULL: no keywords at all. A user of it */
  PyObject *overwritten; /* owned dict: fields that this call fixes, with their values; or NULL.
                            See overwrite.h */
  PyObject *pg;          /* autotune_pg; NULL: not given */
  bool autotune;
  bool verbose;
  bool may_overwrite; /* autotune_allow_arg_overwrite */
  PyObject **heap;    /* owned, holds args if they are too many for `small` */
  PyObject *small[CALL_SMALL + 1];
} Call;

/* call_open() for a call with keywords. */
int call_open_keywords(AutoTuner *self, Call *call, PyObject *kwnames);

/* Tells what is for the tuner from what is for the function. Close it in any case. Inline, as the
 * rest of the road of a hit. */
static inline int call_open(AutoTuner *self, Call *call, PyObject *const *args, size_t nargsf,
                            PyObject *kwnames) {
  /* Field by field: `small` need not be cleared. */
  call->args = args;
  call->nargsf = nargsf;
  call->n_args = PyVectorcall_NARGS(nargsf);
  call->names = NULL;
  call->shape = NULL;
  call->overwritten = NULL;
  call->pg = NULL;
  call->autotune = true;
  call->verbose = false;
  call->heap = NULL;
  call->may_overwrite = false;
  if (kwnames == NULL || PyTuple_GET_SIZE(kwnames) == 0) {
    return 0;
  }
  return call_open_keywords(self, call, kwnames);
}

static inline void call_close(Call *call) {
  shape_release(call->shape);
  Py_XDECREF(call->overwritten);
  PyMem_Free(call->heap);
}

static inline Py_ssize_t call_n_names(const Call *call) {
  return call->names == NULL ? 0 : PyTuple_GET_SIZE(call->names);
}

/* The business key. */
static inline PyObject *call_key(const AutoTuner *self, const Call *call) {
  return PyObject_Vectorcall(self->key_fn, call->args, call->nargsf, call->names);
}

#endif
