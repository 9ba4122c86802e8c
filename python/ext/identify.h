/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_IDENTIFY_H
#define TDT_EXT_IDENTIFY_H

#include "compat.h"

#include "autotuner.h"

/*
 * Makes self->identity and self->store_doubt, unless that was done. Not at construction: telling
 * what a function's source covers is expensive, and needs its module to be complete.
 */
int identity_ensure(AutoTuner *self, bool verbose);

/* Makes the lane's engine, unless that was done, when the identity has been. */
int identity_engine(AutoTuner *self, Lane *lane);

/* The function as the library wants it, borrowed from what tdtune._cold.identify said. */
int identity_function(PyObject *identity, tdt_function *function);

/* Digest of the pruning rule, borrowed; NULL with an error set. */
const char *identity_prune_rule(const AutoTuner *self);

#endif
