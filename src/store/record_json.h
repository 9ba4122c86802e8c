/* SPDX-License-Identifier: MIT */
#ifndef TDT_STORE_RECORD_JSON_H
#define TDT_STORE_RECORD_JSON_H

#include "model/record.h"

#define TDT__RECORD_FORMAT 1
#define TDT__RECORD_LIMIT  (64U << 20)

/* `source` names where the text came from, for the error. TDT_EFORMAT, TDT_ENOMEM. */
tdt_status tdt__record_parse(const char *text, size_t size, const char *source, tdt_record **record,
                             tdt_error *error);

/* A line for each field and each candidate, fields in the documented order, ends in a newline.
 * TDT_EINVAL names a text that is no UTF-8 or a figure that is not finite; TDT_ENOMEM.
 * free() *text. */
tdt_status tdt__record_text(const tdt_record *record, char **text, tdt_error *error);

#endif
