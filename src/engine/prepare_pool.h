/* SPDX-License-Identifier: MIT */
#ifndef TDT_ENGINE_PREPARE_POOL_H
#define TDT_ENGINE_PREPARE_POOL_H

#include "engine/request.h"

/* Work that falls into n pieces, which any threads may do in any order. */
typedef struct tdt__pieces {
  size_t n;
  size_t first; /* the piece to begin with, below n; those before it come last */
  void *user;
  /* Does one piece. Each is done once, and pieces at the same time. False: begin no others. */
  bool (*work)(void *user, size_t piece);
} tdt__pieces;

/*
 * Does all pieces in up to n_workers threads, which exist for this call only: a forked child
 * inherits none and misses none. With fewer than 2, or where none can be made, the calling thread
 * does them in order. It asks the call's poll() from time to time; a failure of that is returned
 * after the pieces that had been begun are finished. Whatever `work` wrote is seen by the caller.
 */
tdt_status tdt__pieces_do(const tdt__pieces *pieces, unsigned n_workers, const tdt__call *call,
                          tdt_error *error);

#endif
