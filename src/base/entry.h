/* SPDX-License-Identifier: MIT */
#ifndef TDT_BASE_ENTRY_H
#define TDT_BASE_ENTRY_H

#include <stdbool.h>
#include <sys/types.h>

#include <tdtune/status.h>

/* What the files about entries of a folder share. */

/* Whether the name is a single path component that names an entry of its own. */
bool tdt__entry_name_ok(const char *name);

/* TDT_EIO for a name that is not. */
tdt_status tdt__entry_check(const char *name, tdt_error *error);

/* openat() that follows no link at the end, is closed on exec and survives signals. */
int tdt__entry_open(int folder, const char *name, int flags, mode_t mode);

#endif
