/* SPDX-License-Identifier: MIT */
#ifndef TDT_GROUP_CALLBACK_PIECES_H
#define TDT_GROUP_CALLBACK_PIECES_H

#include <stdbool.h>

#include "group/message.h"

/*
 * Messages of any size in a store whose values are small. A message lies in pieces: the first under
 * its own key, further ones under "<key>/1", "<key>/2", ... Each begins with the size of the whole
 * message (8 bytes, the lowest first), so that no value is empty and none of a stranger's passes.
 * Reading takes nothing away: a message may be read again from its beginning at any time.
 */

enum {
  TDT__PIECES_HEAD = 8,
  TDT__PIECES_VALUE = 1 << 20, /* the most bytes of a value, head included */
  TDT__PIECES_KEY = 64         /* the longest key of a message and of its pieces */
};

struct tdt__part;

typedef struct tdt__pieces {
  tdt_group_callbacks store;
  struct tdt__part *parts; /* messages of which only a beginning has come */
} tdt__pieces;

/* How many pieces a message of this size has; at least 1. */
size_t tdt__pieces_count(size_t size);

tdt_status tdt__pieces_put(const tdt__pieces *pieces, const char *key, const void *bytes,
                           size_t size, tdt_error *error);

/* Sets *message and *found if the whole message is there within `slice_s`; else keeps what has
 * come for the next time. TDT_EGROUP if the key holds something else, TDT_ENOMEM. */
tdt_status tdt__pieces_get(tdt__pieces *pieces, const char *key, double slice_s,
                           tdt_message *message, bool *found, tdt_error *error);

/* Removes a message of `n` pieces; 0: as many as it has, if it is there. */
tdt_status tdt__pieces_drop(const tdt__pieces *pieces, const char *key, size_t n, tdt_error *error);

/* Lets go of all beginnings. */
void tdt__pieces_forget(tdt__pieces *pieces);

#endif
