/* SPDX-License-Identifier: MIT */
#include "engine/context.h"

#include <assert.h>
#include <time.h>

#include "engine/callback.h"

enum { SLICE_NS = 50 * 1000 * 1000, SECOND_NS = 1000 * 1000 * 1000 };

void tdt__context_lock(tdt_context *context) {
  int failure = pthread_mutex_lock(&context->mutex);
  assert(failure == 0);
  (void)failure;
}

void tdt__context_unlock(tdt_context *context) {
  int failure = pthread_mutex_unlock(&context->mutex);
  assert(failure == 0);
  (void)failure;
}

/* Slices must not stretch when somebody sets the clock. */
int tdt__context_init_changed(tdt_context *context) {
  pthread_condattr_t attributes;
  int failure = pthread_condattr_init(&attributes);
  if (failure != 0) {
    return failure;
  }
  failure = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  if (failure == 0) {
    failure = pthread_cond_init(&context->changed, &attributes);
  }
  (void)pthread_condattr_destroy(&attributes);
  return failure;
}

static struct timespec end_of_slice(void) {
  struct timespec end;
  (void)clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_nsec += SLICE_NS;
  if (end.tv_nsec >= SECOND_NS) {
    end.tv_nsec -= SECOND_NS;
    end.tv_sec++;
  }
  return end;
}

tdt_status tdt__context_wait(tdt_context *context, const tdt__call *call, tdt_error *error) {
  struct timespec end = end_of_slice();
  (void)pthread_cond_timedwait(&context->changed, &context->mutex, &end);
  tdt__context_unlock(context);
  tdt_status status = tdt__call_poll(call, error);
  tdt__context_lock(context);
  return status;
}
