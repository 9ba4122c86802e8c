/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_CALLBACKS_H
#define TDT_EXT_CALLBACKS_H

#include "compat.h"

#include "board.h"
#include "call.h"
#include "crossing.h"
#include "place.h"

/* One call of tdt_tuner_resolve() for a Python call; the first argument of its callbacks. */
typedef struct Miss {
  Crossing crossing;
  Place place;
  Board board;
  AutoTuner *tuner; /* this and what follows is borrowed */
  Lane *lane;
  const Call *call;
} Miss;

/* Puts device, group, callbacks, and `miss` as their first argument, into the request. */
void callbacks_install(tdt_request *request, Miss *miss);

#endif
