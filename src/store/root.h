/* SPDX-License-Identifier: MIT */
#ifndef TDT_STORE_ROOT_H
#define TDT_STORE_ROOT_H

#include <stdbool.h>

#include <tdtune/status.h>

/*
 * Opens the folder that a store lives in; see tdt__folder_open(). Where `path` is the place in a
 * temporary folder that tdt_store_default_root() falls back to, anybody could have made it first:
 * then it is TDT_EIO unless it is no link, belongs to this user and is closed to all others.
 */
tdt_status tdt__root_open(const char *path, bool create, int *root, tdt_error *error);

#endif
