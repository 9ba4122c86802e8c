/* SPDX-License-Identifier: MIT */
#ifndef TDT_STORE_RECORD_SCOPE_H
#define TDT_STORE_RECORD_SCOPE_H

#include <jansson.h>

#include <tdtune/status.h>

/*
 * The object of a record's file that is being read, and where it stands. Nothing in it is believed:
 * every field is asked for by name and kind, and what does not fit is TDT_EFORMAT, saying where.
 * Fields that nobody asks for are passed over.
 */
typedef struct tdt__scope {
  const char *source;
  tdt_error *error;
  const json_t *object;
  char place[48]; /* "", "plan.", "candidates[3]." */
} tdt__scope;

/* The field does not fit, and why. Returns TDT_EFORMAT. */
tdt_status tdt__scope_wrong(const tdt__scope *in, const char *name, const char *why);

/* NULL: there is none. */
const json_t *tdt__scope_field(const tdt__scope *in, const char *name);

/* A text without NUL characters, borrowed from the object. */
tdt_status tdt__scope_text(const tdt__scope *in, const char *name, const char **text);

/* The same, in the place of an allocated text or NULL. TDT_ENOMEM. */
tdt_status tdt__scope_owned(const tdt__scope *in, const char *name, char **owned);

/* The canonical text of an object, likewise. TDT_ENOMEM. */
tdt_status tdt__scope_canonical(const tdt__scope *in, const char *name, char **owned);

/* A whole number from `least`, 0 or 1, on. */
tdt_status tdt__scope_count(const tdt__scope *in, const char *name, unsigned least,
                            unsigned *count);

tdt_status tdt__scope_object(const tdt__scope *in, const char *name, tdt__scope *inner);

#endif
