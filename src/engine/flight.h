/* SPDX-License-Identifier: MIT */
#ifndef TDT_ENGINE_FLIGHT_H
#define TDT_ENGINE_FLIGHT_H

#include "base/file.h"
#include "engine/context.h"

/*
 * A tuning under way: at most one for a tuner and key in a process. It lives on the stack of the
 * thread that owns it, and in the context's list while it may be found. A thread that tunes inside
 * a tuning of its own has several.
 */
typedef struct tdt__flight {
  struct tdt__flight *next;
  const tdt__call *call;
  pthread_t owner;
  size_t in_hand;        /* the candidate that runs now; 0 before any */
  const char *device_id; /* whose turn it wants or has; NULL: none */
  bool has_turn;
  tdt__file_lock lock; /* between processes */
  bool writes;         /* what was found is stored by this process, not by another rank */
} tdt__flight;

typedef enum tdt__joined {
  TDT__JOINED_OWNER,      /* nobody tunes this: the flight is entered, leave it in the end */
  TDT__JOINED_REMEMBERED, /* the winner is in memory by now */
  TDT__JOINED_REENTERED,  /* waiting would never end: take the candidate in hand */
} tdt__joined;

/*
 * Enters `flight`, or waits for the thread that tunes the same key. *candidate is written unless
 * the caller becomes the owner. Fails only with what poll() returned; another thread's failure
 * makes the waiting ones try themselves.
 */
tdt_status tdt__flight_join(tdt__flight *flight, const tdt__call *call, tdt__joined *joined,
                            size_t *candidate, tdt_error *error);

/* Takes the flight out, lets go of its device and process lock, wakes who waits. */
void tdt__flight_leave(tdt__flight *flight);

/* Whether its thread is inside another tuning as well. */
bool tdt__flight_nested(const tdt__flight *flight);

void tdt__flight_set_in_hand(tdt__flight *flight, size_t candidate);
void tdt__flight_set_lock(tdt__flight *flight, tdt__file_lock lock);

/* Makes sure that the winner can be remembered later without fail. TDT_ENOMEM. */
tdt_status tdt__flight_reserve(const tdt__flight *flight, tdt_error *error);
/* Remembers the winner for the flight's key. TDT_ENOMEM. */
tdt_status tdt__flight_remember(tdt__flight *flight, size_t candidate, tdt_error *error);

/* In a forked child, with the mutex held: drops what belongs to threads that are not here, and all
 * process locks, which stay with the parent. */
void tdt__flights_forget_others(tdt_context *context);

#endif
