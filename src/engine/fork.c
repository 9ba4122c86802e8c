/* SPDX-License-Identifier: MIT */
#include "engine/fork.h"

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

bool tdt__fork_watch(tdt_context *context) {
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

void tdt__fork_unwatch(tdt_context *context) {
  (void)pthread_mutex_lock(&registry_mutex);
  tdt_context **link = &registry;
  while (*link != context) {
    link = &(*link)->next;
  }
  *link = context->next;
  (void)pthread_mutex_unlock(&registry_mutex);
}
