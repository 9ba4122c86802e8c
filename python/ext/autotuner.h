/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_AUTOTUNER_H
#define TDT_EXT_AUTOTUNER_H

#include "compat.h"

#include "candidates.h"
#include "lane.h"
#include "shape.h"
#include "state.h"

/*
 * The callable. All but the caches is set at construction and stays, so that a call may use it
 * without holding references: whoever calls holds the tuner.
 */
typedef struct AutoTuner {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject *fn;
  PyObject *key_fn;
  Lane lane; /* of calls without autotune_pg */
  ShapeCache shapes;
  Candidates candidates;
  Py_ssize_t n_positional_free; /* positional arguments before one would land on a field */

  /* From here on: not touched by a hit. */
  PyObject *config_space;     /* tuple of dicts */
  PyObject *prune_fn;         /* or None */
  PyObject *prepare_fn;       /* or None */
  PyObject *check_fn;         /* or None */
  PyObject *keep;             /* tdtune.keeping.Keep: what to put back before a run; or None */
  PyObject *on_progress;      /* or None */
  PyObject *positional_names; /* tuple: the function's positional parameters */
  PyObject *name;             /* of the function, for messages */
  PyObject *module;           /* keeps `state` alive */
  ModuleState *state;
  tdt_plan plan;
  tdt_space *space;
  PyObject *identity;    /* what tdtune._cold.identify said at the first miss; NULL before */
  PyObject *store_doubt; /* str: why the identity is uncertain and nothing is stored; or None */
  bool overwrite_told;
  bool doubt_told;
  PyObject *dict;
  PyObject *weakrefs;
} AutoTuner;

#endif
