/* SPDX-License-Identifier: MIT */
#include "group/callback_piece.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"

size_t tdt__piece_count(size_t size) {
  return size == 0 ? 1 : (size - 1) / TDT__PIECE_ROOM + 1;
}

static void name_piece(char name[TDT__PIECE_KEY], const char *key, size_t number) {
  if (number == 0) {
    (void)snprintf(name, TDT__PIECE_KEY, "%s", key);
  } else {
    (void)snprintf(name, TDT__PIECE_KEY, "%s/%zu", key, number);
  }
}

/* Bytes of a message in piece `number`, which it has. */
static size_t length_of(size_t size, size_t number) {
  const size_t rest = size - number * TDT__PIECE_ROOM;
  return rest < TDT__PIECE_ROOM ? rest : TDT__PIECE_ROOM;
}

static void write_head(char *head, uint64_t size) {
  for (unsigned i = 0; i < TDT__PIECE_HEAD; i++) {
    head[i] = (char)(unsigned char)(size >> (8 * i));
  }
}

static uint64_t read_head(const char *head) {
  uint64_t size = 0;
  for (unsigned i = 0; i < TDT__PIECE_HEAD; i++) {
    size |= (uint64_t)(unsigned char)head[i] << (8 * i);
  }
  return size;
}

tdt_status tdt__piece_put(const tdt_group_callbacks *store, const char *key, size_t number,
                          const void *message, size_t size, char *value, tdt_error *error) {
  char name[TDT__PIECE_KEY];
  name_piece(name, key, number);
  const size_t length = length_of(size, number);
  write_head(value, size);
  if (length > 0) {
    memcpy(value + TDT__PIECE_HEAD, (const char *)message + number * TDT__PIECE_ROOM, length);
  }
  return store->put(store->user, name, value, TDT__PIECE_HEAD + length, error);
}

/* Whether these bytes are piece `number` of some message, and of which size. */
static bool is_piece(const tdt_message *piece, size_t number, uint64_t *whole) {
  if (piece->size < TDT__PIECE_HEAD) {
    return false;
  }
  *whole = read_head(piece->bytes);
  return *whole < SIZE_MAX && number < tdt__piece_count((size_t)*whole) &&
         piece->size == TDT__PIECE_HEAD + length_of((size_t)*whole, number);
}

tdt_status tdt__piece_get(const tdt_group_callbacks *store, const char *key, size_t number,
                          uint64_t until_ns, tdt_message *piece, size_t *size, tdt_error *error) {
  char name[TDT__PIECE_KEY];
  name_piece(name, key, number);
  const uint64_t now_ns = tdt__clock_ns();
  const double slice_s = now_ns < until_ns ? (double)(until_ns - now_ns) * 1e-9 : 0.0;
  const tdt_status status = store->get(store->user, name, slice_s, piece, error);
  if (status != TDT_OK || piece->bytes == NULL) {
    return status;
  }
  uint64_t whole = 0;
  if (!is_piece(piece, number, &whole) || (number > 0 && whole != *size)) {
    return tdt__fail(error, TDT_EGROUP,
                     "the key \"%s\" holds something that no rank of this group put there: groups "
                     "that share a store need a prefix each",
                     name);
  }
  *size = (size_t)whole;
  return TDT_OK;
}

tdt_status tdt__piece_drop(const tdt_group_callbacks *store, const char *key, size_t number,
                           tdt_error *error) {
  char name[TDT__PIECE_KEY];
  name_piece(name, key, number);
  return store->drop(store->user, name, error);
}
