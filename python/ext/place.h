/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_PLACE_H
#define TDT_EXT_PLACE_H

#include "compat.h"

#include "crossing.h"

/* A device that is a Python object with the attributes clock and id (str) and these methods; and
 * where it can do that, delay(ms). */
#define PLACE_LIST(X)                                                                              \
  X(RESERVE, reserve)                                                                              \
  X(MARK, mark)                                                                                    \
  X(ELAPSED_MS, elapsed_ms)                                                                        \
  X(SYNCHRONIZE, synchronize)                                                                      \
  X(CAPTURING, capturing)

typedef enum PlaceMethod {
#define PLACE_ENUM_(id, name) PLACE_##id,
  PLACE_LIST(PLACE_ENUM_)
#undef PLACE_ENUM_
      N_PLACE_METHODS
} PlaceMethod;

typedef struct Place {
  Crossing *crossing;
  PyObject *object; /* owned; None: the host's clock */
  tdt_device device;
  bool is_host; /* the library's own clock; nothing else below is used */
  PyObject *clock;
  PyObject *id;
  PyObject *delay; /* or None */
  PyObject *methods[N_PLACE_METHODS];
} Place;

/* Makes place->device for a device object, or for None the host's clock. Close it in any case. */
int place_open(Place *place, Crossing *crossing, PyObject *object);
void place_close(Place *place);

#endif
