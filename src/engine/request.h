/* SPDX-License-Identifier: MIT */
#ifndef TDT_ENGINE_REQUEST_H
#define TDT_ENGINE_REQUEST_H

#include "engine/tuner.h"

/*
 * One call of tdt_tuner_resolve(): the request with every default filled in, checked. Pointers
 * point into itself, so it does not move.
 */
typedef struct tdt__call {
  const tdt_tuner *tuner;
  tdt_request request; /* settings, device and group are never NULL after opening */
  size_t key_size;
  tdt_settings settings;
  tdt_device device;
  tdt_group group;
  bool own_device; /* the host's clock, made for this call */
  tdt_identity identity;
  char *dependencies;     /* canonical */
  char shown_key[208];    /* for messages: the key, cut where it is long */
  char who[336];          /* for messages to other ranks: function and key */
  struct tdt__talk *talk; /* with the other ranks; NULL: there are none */
} tdt__call;

/* Fills in defaults and checks all that can be checked without reading JSON. Allocates nothing. */
tdt_status tdt__call_init(tdt__call *call, const tdt_tuner *tuner, const tdt_request *request,
                          tdt_error *error);

/* Makes what only a miss needs: identity, dependencies, device. Close it if that went well. */
tdt_status tdt__call_open(tdt__call *call, tdt_error *error);
void tdt__call_close(tdt__call *call);

#endif
