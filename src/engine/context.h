/* SPDX-License-Identifier: MIT */
#ifndef TDT_ENGINE_CONTEXT_H
#define TDT_ENGINE_CONTEXT_H

#include <pthread.h>

#include "engine/request.h"

struct tdt__flight;
struct tdt__wait;

/*
 * One mutex guards everything that the tuners of a context share, and each tuner's writes to its
 * memory. It is held for moments only: never while user code runs, a line is logged or a file is
 * touched. `changed` tells that a tuning ended or a device's turn became free.
 */
struct tdt_context {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  struct tdt__flight *flights; /* tunings under way */
  struct tdt__wait *waits;     /* threads that wait for one of those */
  tdt_context *next;           /* of all contexts of the process, for fork() */
};

/* Makes `changed`, at creation and in a forked child. Returns an errno value, 0 if it went well. */
int tdt__context_init_changed(tdt_context *context);

void tdt__context_lock(tdt_context *context);
void tdt__context_unlock(tdt_context *context);

/*
 * With the mutex held: lets it go until something changed or 50 ms passed, asks the call's poll()
 * whether to go on, and takes the mutex again. Whatever the caller knew before may be different
 * afterwards. Fails with what poll() returned.
 */
tdt_status tdt__context_wait(tdt_context *context, const tdt__call *call, tdt_error *error);

#endif
