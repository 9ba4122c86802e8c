/* SPDX-License-Identifier: MIT */
#include "group/callback_pieces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"

typedef struct tdt__part {
  struct tdt__part *next;
  char key[TDT__PIECE_KEY];
  char *bytes; /* room for the whole message and a NUL */
  size_t size; /* of the whole message */
  size_t n_come;
} part;

tdt_status tdt__pieces_put(const tdt__pieces *pieces, const char *key, const void *bytes,
                           size_t size, tdt_error *error) {
  const size_t n = tdt__piece_count(size);
  char *value = malloc(TDT__PIECE_HEAD + (n == 1 ? size : TDT__PIECE_ROOM));
  if (value == NULL) {
    return tdt__fail_memory(error);
  }
  tdt_status status = TDT_OK;
  for (size_t i = 0; i < n && status == TDT_OK; i++) {
    status = tdt__piece_put(&pieces->store, key, i, bytes, size, value, error);
  }
  free(value);
  return status;
}

/* A message of one piece: what follows the head. */
static void hand_over(tdt_message *piece, tdt_message *message) {
  piece->size -= TDT__PIECE_HEAD;
  memmove(piece->bytes, piece->bytes + TDT__PIECE_HEAD, piece->size);
  piece->bytes[piece->size] = '\0';
  tdt__message_clear(message);
  *message = *piece;
  *piece = (tdt_message){0};
}

static void append(part *at, const tdt_message *piece) {
  memcpy(at->bytes + at->n_come * TDT__PIECE_ROOM, piece->bytes + TDT__PIECE_HEAD,
         piece->size - TDT__PIECE_HEAD);
  at->n_come++;
}

static part **find(tdt__pieces *pieces, const char *key) {
  part **at = &pieces->parts;
  while (*at != NULL && strcmp((*at)->key, key) != 0) {
    at = &(*at)->next;
  }
  return at;
}

/* Adds a beginning at the end of the list. */
static tdt_status begin_part(part **at, const char *key, const tdt_message *piece, size_t size,
                             tdt_error *error) {
  part *made = calloc(1, sizeof *made);
  char *bytes = malloc(size + 1);
  if (made == NULL || bytes == NULL) {
    free(made);
    free(bytes);
    return tdt__fail_memory(error);
  }
  (void)snprintf(made->key, sizeof made->key, "%s", key);
  made->bytes = bytes;
  made->size = size;
  append(made, piece);
  *at = made;
  return TDT_OK;
}

static void free_part(part **at) {
  part *gone = *at;
  *at = gone->next;
  free(gone->bytes);
  free(gone);
}

/* The first piece, if it is there: it is all there is, or the beginning of a part at `at`. */
static tdt_status get_first(const tdt__pieces *pieces, const char *key, uint64_t until_ns,
                            part **at, tdt_message *message, bool *found, tdt_error *error) {
  tdt_message piece = {0};
  size_t size = 0;
  tdt_status status = tdt__piece_get(&pieces->store, key, 0, until_ns, &piece, &size, error);
  if (status == TDT_OK && piece.bytes != NULL) {
    if (tdt__piece_count(size) == 1) {
      hand_over(&piece, message);
      *found = true;
    } else {
      status = begin_part(at, key, &piece, size, error);
    }
  }
  tdt__message_clear(&piece);
  return status;
}

/* The next piece; *came tells whether it is there. */
static tdt_status get_next(const tdt__pieces *pieces, part *of, uint64_t until_ns, bool *came,
                           tdt_error *error) {
  tdt_message piece = {0};
  const tdt_status status =
      tdt__piece_get(&pieces->store, of->key, of->n_come, until_ns, &piece, &of->size, error);
  *came = status == TDT_OK && piece.bytes != NULL;
  if (*came) {
    append(of, &piece);
  }
  tdt__message_clear(&piece);
  return status;
}

/* All pieces that follow what has come. */
static tdt_status get_rest(const tdt__pieces *pieces, part **at, uint64_t until_ns,
                           tdt_message *message, bool *found, tdt_error *error) {
  part *of = *at;
  bool came = true;
  while (of->n_come < tdt__piece_count(of->size)) {
    const tdt_status status = get_next(pieces, of, until_ns, &came, error);
    if (!came) {
      return status;
    }
  }
  of->bytes[of->size] = '\0';
  tdt__message_clear(message);
  *message = (tdt_message){of->bytes, of->size};
  *found = true;
  of->bytes = NULL;
  free_part(at);
  return TDT_OK;
}

tdt_status tdt__pieces_get(tdt__pieces *pieces, const char *key, double slice_s,
                           tdt_message *message, bool *found, tdt_error *error) {
  const uint64_t until_ns = tdt__clock_ns() + (slice_s > 0.0 ? (uint64_t)(slice_s * 1e9) : 0);
  part **at = find(pieces, key);
  tdt_status status = TDT_OK;
  if (*at == NULL) {
    status = get_first(pieces, key, until_ns, at, message, found, error);
  }
  if (status == TDT_OK && *at != NULL) {
    status = get_rest(pieces, at, until_ns, message, found, error);
  }
  return status;
}

/* What the first piece says; 0 if it is not there. */
static tdt_status ask_count(const tdt__pieces *pieces, const char *key, size_t *n,
                            tdt_error *error) {
  tdt_message piece = {0};
  size_t size = 0;
  const tdt_status status = tdt__piece_get(&pieces->store, key, 0, 0, &piece, &size, error);
  *n = piece.bytes != NULL ? tdt__piece_count(size) : 0;
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
    status = tdt__piece_drop(&pieces->store, key, --n, error);
  }
  return status;
}

void tdt__pieces_forget(tdt__pieces *pieces) {
  while (pieces->parts != NULL) {
    free_part(&pieces->parts);
  }
}
