/* SPDX-License-Identifier: MIT */
#ifndef TDT_STORE_RECORD_JSON_H
#define TDT_STORE_RECORD_JSON_H

#include "model/record.h"

#define TDT__RECORD_FORMAT 1
#define TDT__RECORD_LIMIT  (64U << 20)

/* `source` names where the text came from, for the error. TDT_EFORMAT, TDT_ENOMEM. */
tdt_status tdt__record_parse(const char *text, size_t size, const char *source, tdt_record **record,
                             tdt_error *error);

/* Indented, fields in the documented order, ends in a newline. NULL: out of memory. free() it. */
char *tdt__record_text(const tdt_record *record);

#endif
