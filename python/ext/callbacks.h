/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_CALLBACKS_H
#define TDT_EXT_CALLBACKS_H

#include "compat.h"

#include "call.h"
#include "crossing.h"
#include "place.h"

/* One call of tdt_tuner_resolve() for a Python call; the first argument of its callbacks. */
typedef struct Miss {
  Crossing crossing;
  Place place;
  AutoTuner *tuner; /* this and `call` are borrowed */
  const Call *call;
} Miss;

/* Puts device, callbacks, and `miss` as their first argument, into the request. */
void callbacks_install(tdt_request *request, Miss *miss);

#endif
