/* SPDX-License-Identifier: MIT */
#ifndef TDT_STORE_PATHS_H
#define TDT_STORE_PATHS_H

#include <tdtune/status.h>

/*
 * The folder name for a function's name: itself if it is made of lower-case letters, digits, "_",
 * "-" and "." (the last two not at an end) and is not too long; else what is readable of it, "-"
 * and a digest of the whole name. Different names get different folders, also on file systems
 * that do not tell upper from lower case. NULL: out of memory. free() it.
 */
char *tdt__path_folder(const char *function_name);

/* `path` as it reads from any working directory. NULL: out of memory. free() it. */
char *tdt__path_absolute(const char *path);

/* Puts `path` before the sentence of a failure, which knows only the last part of it; passes
 * `status` on. */
tdt_status tdt__path_blame(const char *path, tdt_status status, tdt_error *error);

/* `folder`/`name`. NULL: out of memory. free() it. */
char *tdt__path_join(const char *folder, const char *name);

#endif
