/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_MISS_H
#define TDT_EXT_MISS_H

#include "compat.h"

#include "board.h"
#include "call.h"
#include "crossing.h"
#include "place.h"

/* One call of tdt_tuner_resolve() for a Python call; the first argument of its callbacks. */
typedef struct Miss {
  Crossing crossing;
  Place place;
  Board board;
  AutoTuner *tuner; /* this and what follows is borrowed */
  Lane *lane;
  const Call *call;
  unsigned long thread; /* which called */
  bool watches;         /* the next run is watched; see prepare.h */
  PyObject *unpruned;   /* owned list: candidates that pruning has left; NULL: all, or not needed */
  unsigned n_workers;   /* that compile */
  PyObject *kept;       /* owned: what is put back before each run; NULL before the first */
  PyObject *result;     /* owned: what the last run gave, if it is still to be checked; or NULL */
  bool *checked;        /* owned: which candidates' results are; NULL before the first */
  PyObject *bar;        /* owned: shows how far the tuning is; None: nothing does; NULL before */
} Miss;

/* The config that prune_fn and its like get: a copy, so that they may change it, with the values
 * that this call fixes. A new reference. */
PyObject *miss_config(const Miss *miss, size_t candidate);

/* fn(first, *args, **kwargs), with the arguments of the call. */
PyObject *miss_call(const Miss *miss, PyObject *fn, PyObject *first);

#endif
