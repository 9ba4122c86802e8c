/* SPDX-License-Identifier: MIT */
#ifndef TDT_STORE_MEMORY_H
#define TDT_STORE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include <tdtune/status.h>

/*
 * Keys and their winners in memory; of a key its 128-bit hash, and nothing else. So, other than in
 * the store, whose records repeat what they are for, two keys with the same hash would share a
 * winner, which may be slow for one of them or not fit it. With a million keys the chance of such a
 * pair is 1e-27; the hash is none that withstands keys which were made to collide.
 *
 * Reading takes no lock: entries never change their key and are never freed before the table, a
 * table that grew is published whole, old ones are kept until the end (together at most as large as
 * the newest). Writers must exclude one another.
 */
typedef struct tdt__memory tdt__memory;

tdt_status tdt__memory_create(tdt__memory **memory, tdt_error *error);
void tdt__memory_destroy(tdt__memory *memory);

bool tdt__memory_get(const tdt__memory *memory, const char *key, size_t key_size,
                     size_t *candidate);

/* Remembers or replaces. TDT_ENOMEM leaves the table as it was. */
tdt_status tdt__memory_put(tdt__memory *memory, const char *key, size_t key_size, size_t candidate,
                           tdt_error *error);

/* Makes sure that the key can be remembered later without fail. TDT_ENOMEM. */
tdt_status tdt__memory_reserve(tdt__memory *memory, const char *key, size_t key_size,
                               tdt_error *error);

size_t tdt__memory_count(const tdt__memory *memory);

#endif
