/* SPDX-License-Identifier: MIT */
#include "group/callback_pieces.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"

enum { ROOM = TDT__PIECES_VALUE - TDT__PIECES_HEAD }; /* for a message's bytes in one piece */

typedef struct tdt__part {
  struct tdt__part *next;
  char key[TDT__PIECES_KEY];
  char *bytes; /* room for the whole message and a NUL */
  size_t size; /* of the whole message */
  size_t n_come;
} part;

static size_t smaller(size_t one, size_t other) {
  return one < other ? one : other;
}

size_t tdt__pieces_count(size_t size) {
  return size == 0 ? 1 : (size - 1) / ROOM + 1;
}

static void name_piece(char name[TDT__PIECES_KEY], const char *key, size_t number) {
  if (number == 0) {
    (void)snprintf(name, TDT__PIECES_KEY, "%s", key);
  } else {
    (void)snprintf(name, TDT__PIECES_KEY, "%s/%zu", key, number);
  }
}

static void write_head(char *head, uint64_t size) {
  for (unsigned i = 0; i < TDT__PIECES_HEAD; i++) {
    head[i] = (char)(unsigned char)(size >> (8 * i));
  }
}

static uint64_t read_head(const char *head) {
  uint64_t size = 0;
  for (unsigned i = 0; i < TDT__PIECES_HEAD; i++) {
    size |= (uint64_t)(unsigned char)head[i] << (8 * i);
  }
  return size;
}

tdt_status tdt__pieces_put(const tdt__pieces *pieces, const char *key, const void *bytes,
                           size_t size, tdt_error *error) {
  char *value = malloc(TDT__PIECES_HEAD + smaller(size, ROOM));
  if (value == NULL) {
    return tdt__fail_memory(error);
  }
  write_head(value, size);
  const size_t n = tdt__pieces_count(size);
  tdt_status status = TDT_OK;
  for (size_t i = 0; i < n && status == TDT_OK; i++) {
    char name[TDT__PIECES_KEY];
    name_piece(name, key, i);
    const size_t length = smaller(size - i * ROOM, ROOM);
    if (length > 0) {
      memcpy(value + TDT__PIECES_HEAD, (const char *)bytes + i * ROOM, length);
    }
    status = pieces->store.put(pieces->store.user, name, value, TDT__PIECES_HEAD + length, error);
  }
  free(value);
  return status;
}

static tdt_status fail_foreign(const char *name, tdt_error *error) {
  return tdt__fail(error, TDT_EGROUP,
                   "the key \"%s\" holds something that no rank of this group put there: groups "
                   "that share a store need a prefix each",
                   name);
}

/* Piece `number` of a message of `size` bytes (of any size, if it is the first piece), if it is
 * there before the clock says `until_ns`. */
static tdt_status get_piece(const tdt__pieces *pieces, const char *key, size_t number,
                            const size_t *size, uint64_t until_ns, tdt_message *piece,
                            tdt_error *error) {
  char name[TDT__PIECES_KEY];
  name_piece(name, key, number);
  const uint64_t now_ns = tdt__clock_ns();
  const double slice_s = now_ns < until_ns ? (double)(until_ns - now_ns) * 1e-9 : 0.0;
  tdt_status status = pieces->store.get(pieces->store.user, name, slice_s, piece, error);
  if (status != TDT_OK || piece->bytes == NULL) {
    return status;
  }
  if (piece->size < TDT__PIECES_HEAD) {
    return fail_foreign(name, error);
  }
  const uint64_t whole = read_head(piece->bytes);
  const size_t begin = number * ROOM;
  if ((size != NULL && whole != *size) || whole >= SIZE_MAX || whole < begin ||
      piece->size - TDT__PIECES_HEAD != smaller((size_t)whole - begin, ROOM)) {
    return fail_foreign(name, error);
  }
  return TDT_OK;
}

/* A message of one piece: what follows the head. */
static void hand_over(tdt_message *piece, tdt_message *message) {
  piece->size -= TDT__PIECES_HEAD;
  memmove(piece->bytes, piece->bytes + TDT__PIECES_HEAD, piece->size);
  piece->bytes[piece->size] = '\0';
  tdt__message_clear(message);
  *message = *piece;
  *piece = (tdt_message){0};
}

static void append(part *at, const tdt_message *piece) {
  memcpy(at->bytes + at->n_come * ROOM, piece->bytes + TDT__PIECES_HEAD,
         piece->size - TDT__PIECES_HEAD);
  at->n_come++;
}

static part **find(tdt__pieces *pieces, const char *key) {
  part **at = &pieces->parts;
  while (*at != NULL && strcmp((*at)->key, key) != 0) {
    at = &(*at)->next;
  }
  return at;
}

static tdt_status begin_part(tdt__pieces *pieces, const char *key, const tdt_message *piece,
                             tdt_error *error) {
  const size_t size = (size_t)read_head(piece->bytes);
  part *made = malloc(sizeof *made);
  char *bytes = malloc(size + 1);
  if (made == NULL || bytes == NULL) {
    free(made);
    free(bytes);
    return tdt__fail_memory(error);
  }
  *made = (part){.next = pieces->parts, .bytes = bytes, .size = size};
  name_piece(made->key, key, 0);
  append(made, piece);
  pieces->parts = made;
  return TDT_OK;
}

static void free_part(part **at) {
  part *gone = *at;
  *at = gone->next;
  free(gone->bytes);
  free(gone);
}

/* Reads on where the last time ended. */
static tdt_status go_on(tdt__pieces *pieces, const char *key, uint64_t until_ns,
                        tdt_message *message, bool *found, tdt_error *error) {
  part **at = find(pieces, key);
  part *whole = *at;
  while (whole->n_come < tdt__pieces_count(whole->size)) {
    tdt_message piece = {0};
    const tdt_status status =
        get_piece(pieces, key, whole->n_come, &whole->size, until_ns, &piece, error);
    const bool came = status == TDT_OK && piece.bytes != NULL;
    if (came) {
      append(whole, &piece);
    }
    tdt__message_clear(&piece);
    if (!came) {
      return status;
    }
  }
  whole->bytes[whole->size] = '\0';
  tdt__message_clear(message);
  *message = (tdt_message){whole->bytes, whole->size};
  *found = true;
  whole->bytes = NULL;
  free_part(at);
  return TDT_OK;
}

tdt_status tdt__pieces_get(tdt__pieces *pieces, const char *key, double slice_s,
                           tdt_message *message, bool *found, tdt_error *error) {
  const uint64_t until_ns = tdt__clock_ns() + (slice_s > 0.0 ? (uint64_t)(slice_s * 1e9) : 0);
  if (*find(pieces, key) == NULL) {
    tdt_message piece = {0};
    tdt_status status = get_piece(pieces, key, 0, NULL, until_ns, &piece, error);
    const bool came = status == TDT_OK && piece.bytes != NULL;
    const bool is_whole = came && tdt__pieces_count((size_t)read_head(piece.bytes)) == 1;
    if (is_whole) {
      hand_over(&piece, message);
      *found = true;
    } else if (came) {
      status = begin_part(pieces, key, &piece, error);
    }
    tdt__message_clear(&piece);
    if (!came || is_whole || status != TDT_OK) {
      return status;
    }
  }
  return go_on(pieces, key, until_ns, message, found, error);
}

/* What the first piece says; 0 if it is not there. */
static tdt_status ask_count(const tdt__pieces *pieces, const char *key, size_t *n,
                            tdt_error *error) {
  tdt_message piece = {0};
  const tdt_status status = get_piece(pieces, key, 0, NULL, 0, &piece, error);
  if (status == TDT_OK) {
    *n = piece.bytes != NULL ? tdt__pieces_count((size_t)read_head(piece.bytes)) : 0;
  }
  tdt__message_clear(&piece);
  return status;
}

tdt_status tdt__pieces_drop(const tdt__pieces *pieces, const char *key, size_t n,
                            tdt_error *error) {
  if (pieces->store.drop == NULL) {
    return TDT_OK;
  }
  tdt_status status = n == 0 ? ask_count(pieces, key, &n, error) : TDT_OK;
  /* The first piece, which tells how many there are, goes last. */
  while (n > 0 && status == TDT_OK) {
    char name[TDT__PIECES_KEY];
    name_piece(name, key, --n);
    status = pieces->store.drop(pieces->store.user, name, error);
  }
  return status;
}

void tdt__pieces_forget(tdt__pieces *pieces) {
  while (pieces->parts != NULL) {
    free_part(&pieces->parts);
  }
}
