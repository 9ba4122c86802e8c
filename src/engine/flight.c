/* SPDX-License-Identifier: MIT */
#include "engine/flight.h"

#include <string.h>

#include "engine/turn.h"

/* A thread that waits for the tuning of `call`'s key; on that thread's stack. */
typedef struct tdt__wait {
  struct tdt__wait *next;
  pthread_t thread;
  const tdt__call *call;
} tdt__wait;

static bool same_key(const tdt__call *a, const tdt__call *b) {
  return a->tuner == b->tuner && a->key_size == b->key_size &&
         memcmp(a->request.key, b->request.key, a->key_size) == 0;
}

static tdt__flight *find_flight(const tdt_context *context, const tdt__call *call) {
  tdt__flight *flight = context->flights;
  while (flight != NULL && !same_key(flight->call, call)) {
    flight = flight->next;
  }
  return flight;
}

static const tdt__wait *find_wait(const tdt_context *context, pthread_t thread) {
  const tdt__wait *wait = context->waits;
  while (wait != NULL && !pthread_equal(wait->thread, thread)) {
    wait = wait->next;
  }
  return wait;
}

/*
 * Whether the owner of `flight` is this thread, or waits for it by way of others. Waits never form
 * a ring, because nobody starts one that would close it; so this ends.
 */
static bool waits_for_me(const tdt_context *context, const tdt__flight *flight) {
  const pthread_t me = pthread_self();
  while (flight != NULL) {
    if (pthread_equal(flight->owner, me)) {
      return true;
    }
    const tdt__wait *wait = find_wait(context, flight->owner);
    flight = wait != NULL ? find_flight(context, wait->call) : NULL;
  }
  return false;
}

static void start_waiting(tdt_context *context, tdt__wait *wait) {
  wait->next = context->waits;
  context->waits = wait;
}

static void stop_waiting(tdt_context *context, tdt__wait *wait) {
  tdt__wait **link = &context->waits;
  while (*link != wait) {
    link = &(*link)->next;
  }
  *link = wait->next;
}

static void enter(tdt_context *context, tdt__flight *flight, const tdt__call *call) {
  *flight = (tdt__flight){
      .next = context->flights,
      .call = call,
      .owner = pthread_self(),
      .lock = TDT__FILE_LOCK_INIT,
      .writes = true,
  };
  context->flights = flight;
}

static void withdraw(tdt_context *context, const tdt__flight *flight) {
  tdt__flight **link = &context->flights;
  while (*link != flight) {
    link = &(*link)->next;
  }
  *link = flight->next;
  (void)pthread_cond_broadcast(&context->changed);
}

/* With the mutex held: settles how to join without waiting; false if only waiting is left. */
static bool settle(tdt_context *context, tdt__flight *flight, const tdt__call *call,
                   tdt__joined *joined, size_t *candidate) {
  if (tdt__memory_get(call->tuner->memory, call->request.key, call->key_size, candidate)) {
    *joined = TDT__JOINED_REMEMBERED;
    return true;
  }
  const tdt__flight *other = find_flight(context, call);
  if (other == NULL) {
    enter(context, flight, call);
    *joined = TDT__JOINED_OWNER;
    return true;
  }
  if (waits_for_me(context, other)) {
    *candidate = other->in_hand;
    *joined = TDT__JOINED_REENTERED;
    return true;
  }
  return false;
}

/*
 * The thread gives up its devices' turns while it waits, for the one it waits for may need them,
 * and has them again when this succeeds: it may be in the middle of a measurement.
 */
static tdt_status wait_and_settle(tdt_context *context, tdt__flight *flight, const tdt__call *call,
                                  tdt__joined *joined, size_t *candidate, tdt_error *error) {
  tdt__wait wait = {.thread = pthread_self(), .call = call};
  tdt_status status = TDT_OK;
  tdt__turn_pause(context);
  start_waiting(context, &wait);
  while (status == TDT_OK && !settle(context, flight, call, joined, candidate)) {
    status = tdt__context_wait(context, call, error);
  }
  stop_waiting(context, &wait);
  if (status != TDT_OK) {
    return status;
  }
  status = tdt__turn_resume(context, call, error);
  if (status != TDT_OK && *joined == TDT__JOINED_OWNER) {
    withdraw(context, flight);
  }
  return status;
}

tdt_status tdt__flight_join(tdt__flight *flight, const tdt__call *call, tdt__joined *joined,
                            size_t *candidate, tdt_error *error) {
  tdt_context *context = call->tuner->context;
  tdt_status status = TDT_OK;
  tdt__context_lock(context);
  if (!settle(context, flight, call, joined, candidate)) {
    status = wait_and_settle(context, flight, call, joined, candidate, error);
  }
  tdt__context_unlock(context);
  return status;
}

void tdt__flight_leave(tdt__flight *flight) {
  tdt_context *context = flight->call->tuner->context;
  tdt__context_lock(context);
  withdraw(context, flight);
  tdt__file_lock lock = flight->lock;
  tdt__context_unlock(context);
  tdt__file_unlock(&lock);
}

bool tdt__flight_nested(const tdt__flight *flight) {
  tdt_context *context = flight->call->tuner->context;
  bool nested = false;
  tdt__context_lock(context);
  for (const tdt__flight *other = context->flights; other != NULL; other = other->next) {
    nested = nested || (other != flight && pthread_equal(other->owner, flight->owner));
  }
  tdt__context_unlock(context);
  return nested;
}

void tdt__flight_set_in_hand(tdt__flight *flight, size_t candidate) {
  tdt_context *context = flight->call->tuner->context;
  tdt__context_lock(context);
  flight->in_hand = candidate;
  tdt__context_unlock(context);
}

void tdt__flight_set_lock(tdt__flight *flight, tdt__file_lock lock) {
  tdt_context *context = flight->call->tuner->context;
  tdt__context_lock(context);
  flight->lock = lock;
  tdt__context_unlock(context);
}

tdt_status tdt__flight_reserve(const tdt__flight *flight, tdt_error *error) {
  const tdt__call *call = flight->call;
  tdt_context *context = call->tuner->context;
  tdt__context_lock(context);
  tdt_status status =
      tdt__memory_reserve(call->tuner->memory, call->request.key, call->key_size, error);
  tdt__context_unlock(context);
  return status;
}

tdt_status tdt__flight_remember(tdt__flight *flight, size_t candidate, tdt_error *error) {
  const tdt__call *call = flight->call;
  tdt_context *context = call->tuner->context;
  tdt__context_lock(context);
  tdt_status status =
      tdt__memory_put(call->tuner->memory, call->request.key, call->key_size, candidate, error);
  tdt__context_unlock(context);
  return status;
}

static void forget_waits(tdt_context *context, pthread_t me) {
  tdt__wait **link = &context->waits;
  while (*link != NULL) {
    if (pthread_equal((*link)->thread, me)) {
      link = &(*link)->next;
    } else {
      *link = (*link)->next;
    }
  }
}

void tdt__flights_forget_others(tdt_context *context) {
  const pthread_t me = pthread_self();
  tdt__flight **link = &context->flights;
  while (*link != NULL) {
    tdt__file_lock_forget(&(*link)->lock);
    if (pthread_equal((*link)->owner, me)) {
      link = &(*link)->next;
    } else {
      *link = (*link)->next;
    }
  }
  forget_waits(context, me);
}
