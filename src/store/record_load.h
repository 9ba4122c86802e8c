/* SPDX-License-Identifier: MIT */
#ifndef TDT_STORE_RECORD_LOAD_H
#define TDT_STORE_RECORD_LOAD_H

#include <tdtune/record.h>

/* The record in the file `name` of an open folder. `path` says where that is, for the error.
 * TDT_ENOENT, TDT_EFORMAT, TDT_EIO, TDT_ENOMEM. */
tdt_status tdt__record_load_in(int folder, const char *name, const char *path, tdt_record **record,
                               tdt_error *error);

#endif
