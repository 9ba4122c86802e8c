/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_PREPARE_H
#define TDT_EXT_PREPARE_H

#include "compat.h"

#include "callbacks.h"

/*
 * Candidates that are compiled ahead: by the user's prepare_fn, and for kernels of Triton by what
 * the first launch tells. Both run in the engine's threads, which take the interpreter lock for it
 * and have the tuning's device current; or in the calling thread, as the engine chooses.
 */

/* Puts its callbacks into the request, as far as they have something to do. */
void prepare_install(tdt_request *request, Miss *miss, unsigned n_workers);

/*
 * inject_run(), and while no candidate has run yet the kernels that it launches are observed. What
 * is replaced in Triton for that is put back before this returns; no code in Python runs between
 * the end of the function, however it comes about, and that.
 */
PyObject *prepare_run(Miss *miss, size_t candidate);

#endif
