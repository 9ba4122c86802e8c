/* SPDX-License-Identifier: MIT */
#ifndef TDT_GROUP_CALLBACK_PIECE_H
#define TDT_GROUP_CALLBACK_PIECE_H

#include "group/message.h"

/*
 * A part of a message: one value of the store, under "<key>" (the first) or "<key>/<number>". It
 * begins with the size of the whole message (8 bytes, the lowest first), so that no value is empty
 * and none of a stranger's passes.
 */

enum {
  TDT__PIECE_KEY = 64, /* room for the longest key, piece and NUL included */
  TDT__PIECE_HEAD = 8,
  TDT__PIECE_ROOM = (1 << 20) - TDT__PIECE_HEAD /* for a message's bytes */
};

/* How many pieces a message of this size has; at least 1. */
size_t tdt__piece_count(size_t size);

/* Puts piece `number` of this message; `value` is room for the greatest. */
tdt_status tdt__piece_put(const tdt_group_callbacks *store, const char *key, size_t number,
                          const void *message, size_t size, char *value, tdt_error *error);

/*
 * Sets *piece, head included, to a piece of a message, if it is there before the clock says
 * `until_ns`, and *size to the size of the whole message; if it is not the first, that must be
 * *size already. TDT_EGROUP if the value is no such piece.
 */
tdt_status tdt__piece_get(const tdt_group_callbacks *store, const char *key, size_t number,
                          uint64_t until_ns, tdt_message *piece, size_t *size, tdt_error *error);

tdt_status tdt__piece_drop(const tdt_group_callbacks *store, const char *key, size_t number,
                           tdt_error *error);

#endif
