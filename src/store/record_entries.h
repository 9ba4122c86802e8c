/* SPDX-License-Identifier: MIT */
#ifndef TDT_STORE_RECORD_ENTRIES_H
#define TDT_STORE_RECORD_ENTRIES_H

#include "model/record.h"
#include "store/record_scope.h"

/* Reads the list "candidates", which has as many items as the record has entries. On failure the
 * entries hold what was read so far. TDT_EFORMAT, TDT_ENOMEM. */
tdt_status tdt__record_read_entries(const tdt__scope *in, tdt_record *record);

#endif
