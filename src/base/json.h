/* SPDX-License-Identifier: MIT */
#ifndef TDT_BASE_JSON_H
#define TDT_BASE_JSON_H

#include <jansson.h>

#include <tdtune/status.h>

#include "base/text.h"

/* Parses exactly one JSON object or array. TDT_EINVAL: not that; *cause says why, and where it
 * breaks off. TDT_ENOMEM. *value is a new reference. */
tdt_status tdt__json_parse(const char *text, size_t size, json_t **value, json_error_t *cause);

/* The same for an object. The error says what `what` is, and where it breaks off. */
tdt_status tdt__json_object(const char *text, size_t size, const char *what, json_t **object,
                            tdt_error *error);

/* The one text form of a value: compact, fields sorted. NULL: out of memory. free() it. */
char *tdt__json_text(const json_t *value);

/* A string of any text: what is no UTF-8 becomes "?". NULL: out of memory. */
json_t *tdt__json_string(const char *text);

/* Adds that text form; out of memory sticks to `text`. */
void tdt__json_add(tdt__text *text, const json_t *value);

/* The canonical text of the JSON object in `text` (NULL: of {}). free() it. */
tdt_status tdt__json_canonical(const char *text, const char *what, char **canonical,
                               tdt_error *error);

#endif
