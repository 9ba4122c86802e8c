/* SPDX-License-Identifier: MIT */
#ifndef TDT_STORE_DIRECTORY_H
#define TDT_STORE_DIRECTORY_H

#include <stdbool.h>

#include <tdtune/store.h>

#include "base/file.h"

/* Writes a file beside the identity's record: `<digest>.<suffix>`. TDT_EIO, TDT_ENOMEM. */
tdt_status tdt__store_save_beside(tdt_store *store, const tdt_identity *identity,
                                  const char *suffix, const char *text, tdt_error *error);

/* The lock between processes of one identity; see tdt__file_lock_try(). Makes the folders. */
tdt_status tdt__store_lock_try(tdt_store *store, const tdt_identity *identity, tdt__file_lock *lock,
                               bool *taken, tdt_error *error);

/* True once for each different `what` of this store: for warnings that are said once. Takes no
 * lock. */
bool tdt__store_first_time(tdt_store *store, const char *what);

#endif
