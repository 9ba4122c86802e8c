/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_PREPARE_H
#define TDT_EXT_PREPARE_H

#include "compat.h"

#include "miss.h"

/*
 * Candidates that are compiled ahead. The user's prepare_fn runs in the engine's threads, which
 * take the interpreter lock for it and have the tuning's device current, or in the calling thread,
 * as the engine chooses. Kernels of Triton are compiled in threads of tdtune.triton_ahead, by what
 * a launch tells while the first candidate runs for the first time.
 */

/* Puts its callbacks into the request, as far as they have something to do. */
void prepare_install(tdt_request *request, Miss *miss, unsigned n_workers);

/* pruning has left this candidate. */
void prepare_keep(Miss *miss, size_t candidate);

/*
 * inject_run(), and while no candidate has run yet the kernels that it launches are observed. What
 * is replaced in Triton for that is put back before this returns; no code in Python runs between
 * the end of the function, however it comes about, and that.
 */
PyObject *prepare_run(Miss *miss, size_t candidate);

#endif
