/* SPDX-License-Identifier: MIT */
#ifndef TDTUNE_STORE_H
#define TDTUNE_STORE_H

#include <tdtune/identity.h>
#include <tdtune/log.h>
#include <tdtune/record.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Where results outlive the process: a folder with one readable JSON file per function, hardware
 * and key,
 *     <root>/<function name>/<digest>.json
 * written whole or not at all, private to the user, never through a symbolic link below the root.
 * Any number of processes may share one. A store may be used by several threads.
 */
typedef struct tdt_store tdt_store;

/*
 * The folder in which records are kept by default: TRITON_DIST_AUTOTUNE_DIR if set and not empty;
 * else .triton_dist/autotune in the home folder (HOME, or the user database's); else, where there
 * is no home, a folder private to this user below the system's temporary folder. Nothing is
 * created. *root is the caller's, to be freed with tdt_text_free(); it is never NULL on success.
 * Returns TDT_ENOMEM. Reads the environment: not to be called while another thread changes it.
 */
TDT_EXPORT tdt_status tdt_store_default_root(char **root, tdt_error *error);

/*
 * A store in the folder `root`. Touches no file: folders are made when the first record is saved.
 * Returns TDT_EINVAL for an empty root, TDT_ENOMEM. Free with tdt_store_close().
 */
TDT_EXPORT tdt_status tdt_store_open(const char *root, tdt_store **store, tdt_error *error);

TDT_EXPORT void tdt_store_close(tdt_store *store);

/* The folder, borrowed until the store is closed. */
TDT_EXPORT const char *tdt_store_root(const tdt_store *store);

/* The path of the identity's record, whether it exists or not; to be freed with tdt_text_free().
 * Returns TDT_EINVAL as tdt_identity_digest(), TDT_ENOMEM. */
TDT_EXPORT tdt_status tdt_store_path(const tdt_store *store, const tdt_identity *identity,
                                     char **path, tdt_error *error);

/*
 * The record of an identity. Time does not depend on how many there are.
 * Returns TDT_ENOENT (none, or it belongs to another identity with the same digest), TDT_EFORMAT
 * (something that is no such record lies there; it is left alone), TDT_EIO, TDT_EINVAL, TDT_ENOMEM.
 */
TDT_EXPORT tdt_status tdt_store_load(tdt_store *store, const tdt_identity *identity,
                                     tdt_record **record, tdt_error *error);

/*
 * Saves a record under its own identity. What lay there is kept beside it as
 * <digest>.json-<time stamp>. Returns TDT_EIO (what was stored before is still there), TDT_EINVAL
 * (a text in it is no UTF-8, or it is larger than can be read back), TDT_ENOMEM.
 */
TDT_EXPORT tdt_status tdt_store_save(tdt_store *store, const tdt_record *record, tdt_error *error);

#ifdef __cplusplus
}
#endif

#endif
