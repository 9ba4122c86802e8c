/* SPDX-License-Identifier: MIT */
#ifndef TDT_GROUP_CALLBACK_PIECES_H
#define TDT_GROUP_CALLBACK_PIECES_H

#include <stdbool.h>

#include "group/callback_piece.h"

/*
 * Messages of any size in a store whose values are small: each lies there in pieces. Reading takes
 * nothing away, so a message may be read again from its beginning at any time.
 */

struct tdt__part;

typedef struct tdt__pieces {
  tdt_group_callbacks store;
  struct tdt__part *parts; /* messages of which only a beginning has come */
} tdt__pieces;

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
