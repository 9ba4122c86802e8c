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
  PyObject *overwritten; /* owned dict: fields that this call fixes, with their values; or NULL */
  PyObject *pg;          /* autotune_pg; NULL: not given */
  bool autotune;
  bool verbose;
  PyObject **heap; /* owned, holds args if they are too many for `small` */
  PyObject *small[CALL_SMALL + 1];
} Call;

/* Sorts out a call, and raises where it collides with the configurations. Close it in any case. */
int call_open(AutoTuner *self, Call *call, PyObject *const *args, size_t nargsf, PyObject *kwnames);
void call_close(Call *call);

static inline Py_ssize_t call_n_names(const Call *call) {
  return call->names == NULL ? 0 : PyTuple_GET_SIZE(call->names);
}

/* Calls the function as this call does, with the candidate's fields added. */
PyObject *call_run(AutoTuner *self, const Call *call, const Candidate *candidate);

/* The business key. */
PyObject *call_key(AutoTuner *self, const Call *call);

/* The vectorcall of a tuner. */
PyObject *autotuner_vectorcall(PyObject *callable, PyObject *const *args, size_t nargsf,
                               PyObject *kwnames);

#endif
