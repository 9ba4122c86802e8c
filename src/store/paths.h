/* SPDX-License-Identifier: MIT */
#ifndef TDT_STORE_PATHS_H
#define TDT_STORE_PATHS_H

/*
 * The folder name for a function's name: itself if it is made of letters, digits, "_", "-" and
 * "." (not leading), is not too long and has no upper-case letter that could meet its lower-case
 * twin on some file systems; else a readable remainder, "-" and a digest of the whole name.
 * NULL: out of memory. free() it.
 */
char *tdt__path_folder(const char *function_name);

#endif
