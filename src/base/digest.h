/* SPDX-License-Identifier: MIT */
#ifndef TDT_BASE_DIGEST_H
#define TDT_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include <tdtune/identity.h>

/*
 * Digests over several texts: each is counted in with its length, so that ("ab", "c") and
 * ("a", "bc") differ. tdt__digest_texts() takes n NUL-terminated texts.
 */
void tdt__digest_texts(const char *const *texts, size_t n, char digest[TDT_DIGEST_SIZE]);

/* 64 bits for tables in memory. */
uint64_t tdt__hash(const void *data, size_t size);

/* 128 bits, for those that keep no copy of what was hashed. */
typedef struct tdt__hash128 {
  uint64_t low;
  uint64_t high;
} tdt__hash128;

tdt__hash128 tdt__hash_wide(const void *data, size_t size);

#endif
