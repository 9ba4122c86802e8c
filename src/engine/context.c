/* SPDX-License-Identifier: MIT */
#include "engine/context.h"

#include <assert.h>
#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "engine/callback.h"
#include "engine/fork.h"

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

tdt_status tdt_context_create(tdt_context **context, tdt_error *error) {
  tdt_context *made = calloc(1, sizeof *made);
  if (made == NULL) {
    return tdt__fail_memory(error);
  }
  if (pthread_mutex_init(&made->mutex, NULL) != 0) {
    goto free_context;
  }
  if (tdt__context_init_changed(made) != 0) {
    goto destroy_mutex;
  }
  if (!tdt__fork_watch(made)) {
    goto destroy_changed;
  }
  *context = made;
  return TDT_OK;

destroy_changed:
  (void)pthread_cond_destroy(&made->changed);
destroy_mutex:
  (void)pthread_mutex_destroy(&made->mutex);
free_context:
  free(made);
  return tdt__fail_memory(error);
}

void tdt_context_destroy(tdt_context *context) {
  if (context == NULL) {
    return;
  }
  tdt__fork_unwatch(context);
  (void)pthread_cond_destroy(&context->changed);
  (void)pthread_mutex_destroy(&context->mutex);
  free(context);
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
