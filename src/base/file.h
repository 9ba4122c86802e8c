/* SPDX-License-Identifier: MIT */
#ifndef TDT_BASE_FILE_H
#define TDT_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include <tdtune/status.h>

/*
 * Files of one folder, reached through the folder's descriptor, so that nobody can swap a symbolic
 * link in between. Names are single path components. Folders are made 0700, files 0600.
 */

/* Opens folder `path`; with `create`, makes it and its parents first. The path's own components
 * may be links. TDT_ENOENT, TDT_EIO. *folder is a descriptor to be closed with close(). */
tdt_status tdt__folder_open(const char *path, bool create, int *folder, tdt_error *error);

/* The same for the folder `name` in `parent`; a symbolic link there is TDT_EIO. */
tdt_status tdt__folder_open_in(int parent, const char *name, bool create, int *folder,
                               tdt_error *error);

/* The whole of a regular file, at most `limit` bytes, NUL added. TDT_ENOENT; TDT_EFORMAT if it is
 * larger or no regular file; TDT_EIO; TDT_ENOMEM. free() *data. */
tdt_status tdt__file_read(int folder, const char *name, size_t limit, char **data, size_t *size,
                          tdt_error *error);

/*
 * Puts a file in place whole or not at all: written beside it under a name of its own, flushed to
 * the disk, renamed. What was there is kept as `keep_as` first (NULL: not kept; where that name
 * is taken, with "-2", "-3", ... behind it). Failures after the rename are none; on any other,
 * TDT_EIO or TDT_ENOMEM, the old file is still there and nothing is left over. Temporary files of
 * writers that were killed are removed by later writers, when they are an hour old.
 */
tdt_status tdt__file_replace(int folder, const char *name, const void *data, size_t size,
                             const char *keep_as, tdt_error *error);

/*
 * One lock of many in a folder, told apart by `number`; all of them live in one file ".lock". Let
 * go by unlock, or by the death of the process; never waits.
 */
typedef struct tdt__file_lock {
  int descriptor; /* -1: not held */
  long long number;
} tdt__file_lock;

#define TDT__FILE_LOCK_INIT                                                                        \
  { -1, 0 }

/* *taken tells whether it was free. TDT_EIO where the folder cannot lock at all. */
tdt_status tdt__file_lock_try(int folder, unsigned long long number, tdt__file_lock *lock,
                              bool *taken, tdt_error *error);
void tdt__file_unlock(tdt__file_lock *lock);

/* In a forked child: forgets a lock that the parent holds, without letting it go for the parent. */
void tdt__file_lock_forget(tdt__file_lock *lock);

#endif
