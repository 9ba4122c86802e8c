/* SPDX-License-Identifier: MIT */
#include "base/digest.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Through the canonical form, so that machines of either byte order name a record alike. */
static void write_hex(XXH128_hash_t hash, char digest[TDT_DIGEST_SIZE]) {
  static const char digits[] = "0123456789abcdef";
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, hash);
  for (size_t i = 0; i < sizeof bytes.digest; i++) {
    digest[2 * i] = digits[bytes.digest[i] >> 4];
    digest[2 * i + 1] = digits[bytes.digest[i] & 15];
  }
  digest[TDT_DIGEST_SIZE - 1] = '\0';
}

void tdt_digest(const void *data, size_t size, char digest[TDT_DIGEST_SIZE]) {
  write_hex(XXH3_128bits(size > 0 ? data : "", size), digest);
}

static void count_in(XXH3_state_t *state, const char *text) {
  size_t size = strlen(text);
  unsigned char length[8];
  for (size_t i = 0; i < sizeof length; i++) {
    length[i] = (unsigned char)((uint64_t)size >> (8 * i));
  }
  (void)XXH3_128bits_update(state, length, sizeof length);
  (void)XXH3_128bits_update(state, text, size);
}

void tdt__digest_texts(const char *const *texts, size_t n, char digest[TDT_DIGEST_SIZE]) {
  XXH3_state_t state;
  (void)XXH3_128bits_reset(&state);
  for (size_t i = 0; i < n; i++) {
    count_in(&state, texts[i]);
  }
  write_hex(XXH3_128bits_digest(&state), digest);
}

uint64_t tdt__hash(const void *data, size_t size) {
  return XXH3_64bits(size > 0 ? data : "", size);
}

tdt__hash128 tdt__hash_wide(const void *data, size_t size) {
  const XXH128_hash_t hash = XXH3_128bits(size > 0 ? data : "", size);
  return (tdt__hash128){hash.low64, hash.high64};
}
