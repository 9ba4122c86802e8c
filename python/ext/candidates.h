/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_CANDIDATES_H
#define TDT_EXT_CANDIDATES_H

#include "compat.h"

#include <tdtune/space.h>

/* One configuration, ready to be put behind a call's arguments. */
typedef struct Candidate {
  PyObject *config;  /* the dict */
  PyObject **values; /* of its fields, in the order of the names */
  size_t names;      /* which of Candidates.names */
} Candidate;

/* All configurations of a tuner. Never changes after it is made. */
typedef struct Candidates {
  Candidate *items;
  size_t n;
  PyObject **names; /* the different tuples of field names; candidates share them */
  size_t n_names;
  PyObject *fields; /* frozenset: every field that any configuration has */
} Candidates;

/* Fills an all-zero table from a tuple of dicts. On failure what was made so far stays in it, for
 * candidates_clear(). */
int candidates_fill(Candidates *candidates, PyObject *configs);
int candidates_traverse(Candidates *candidates, visitproc visit, void *arg);
void candidates_clear(Candidates *candidates);

static inline PyObject *candidate_names(const Candidates *candidates, const Candidate *candidate) {
  return candidates->names[candidate->names];
}

/* The space of the canonical texts in the tuple `texts`; NULL with an error set. */
tdt_space *candidates_space(PyObject *texts);

#endif
