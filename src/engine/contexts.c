/* SPDX-License-Identifier: MIT */
/*
 * All contexts of the process: made and destroyed here, and carried through fork(). A forked child
 * has one thread. It inherits every context unlocked and consistent, without the tunings, waits and
 * process locks of the parent's other threads.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "base/error.h"
#include "engine/context.h"
#include "engine/flight.h"

static pthread_mutex_t registry_mutex = PTHREAD_MUTEX_INITIALIZER;
static tdt_context *registry; /* all contexts of the process */
static bool registered;       /* the handlers below */

/* With every mutex held no other thread is half-way through a change when memory is copied. */
static void before_fork(void) {
  (void)pthread_mutex_lock(&registry_mutex);
  for (tdt_context *context = registry; context != NULL; context = context->next) {
    tdt__context_lock(context);
  }
}

static void after_fork_in_parent(void) {
  for (tdt_context *context = registry; context != NULL; context = context->next) {
    tdt__context_unlock(context);
  }
  (void)pthread_mutex_unlock(&registry_mutex);
}

/* The condition still counts waiters that do not exist here, so it is made anew. */
static void after_fork_in_child(void) {
  for (tdt_context *context = registry; context != NULL; context = context->next) {
    tdt__flights_forget_others(context);
    (void)tdt__context_init_changed(context);
    tdt__context_unlock(context);
  }
  (void)pthread_mutex_unlock(&registry_mutex);
}

/* False: out of memory. */
static bool enlist(tdt_context *context) {
  (void)pthread_mutex_lock(&registry_mutex);
  if (!registered) {
    registered = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0;
  }
  bool watched = registered;
  if (watched) {
    context->next = registry;
    registry = context;
  }
  (void)pthread_mutex_unlock(&registry_mutex);
  return watched;
}

static void delist(tdt_context *context) {
  (void)pthread_mutex_lock(&registry_mutex);
  tdt_context **link = &registry;
  while (*link != context) {
    link = &(*link)->next;
  }
  *link = context->next;
  (void)pthread_mutex_unlock(&registry_mutex);
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
  if (!enlist(made)) {
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
  delist(context);
  (void)pthread_cond_destroy(&context->changed);
  (void)pthread_mutex_destroy(&context->mutex);
  free(context);
}
