/* SPDX-License-Identifier: MIT */
#include "store/memory.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <tdtune/record.h>

#include "base/digest.h"
#include "base/error.h"

/*
 * Open addressing over a power of two of slots, at most half of them taken, so that a probe ends.
 *
 * A slot holds all that there is to know: the 128 bits of its key's hash, which stand for the key,
 * and its candidate. So a hit in a large table waits for one line of memory, and not for a second
 * one with the key's text in it; and a remembered key of any length takes the same few bytes. Among
 * a million keys two have the same hash with a probability of 1e-27.
 *
 * A writer publishes with a release store and a reader looks with an acquire load: first an entry
 * in its slot, at last a whole new table. An entry never changes but for its candidate, and a slot
 * never becomes empty again. So a reader sees an entry complete or not at all, and one that still
 * walks an older table finds what was there when it came.
 */

typedef struct slot {
  _Atomic(uint64_t) low; /* these count only where `taken` is set, and are written before it */
  _Atomic(uint64_t) high;
  _Atomic(size_t) candidate;
  _Atomic(size_t) taken;
} slot;

typedef struct table {
  struct table *older; /* replaced by this one, kept for readers that are still in it */
  size_t mask;
  slot *slots; /* in the same block of memory */
} table;

struct tdt__memory {
  _Atomic(table *) newest;
  _Atomic(size_t) count;
};

enum { FIRST_SLOTS = 8, LINE_BYTES = 64 };

/* From this size on large pages save the processor most of its searches for small ones. */
#define LARGE_BYTES ((size_t)4 << 20)

/* Before the pages are touched; advice, which need not be taken. */
static void ask_for_large_pages(const void *block, size_t size_bytes) {
#ifdef MADV_HUGEPAGE
  if (size_bytes >= LARGE_BYTES) {
    const uintptr_t page_bytes = (uintptr_t)2 << 20;
    const uintptr_t first = ((uintptr_t)block + page_bytes - 1) & ~(page_bytes - 1);
    const uintptr_t end = ((uintptr_t)block + size_bytes) & ~(page_bytes - 1);
    (void)madvise((void *)first, end - first, MADV_HUGEPAGE); // NOLINT(performance-no-int-to-ptr)
  }
#else
  (void)block;
  (void)size_bytes;
#endif
}

static table *create_table(size_t n_slots, table *older) {
  const size_t rest = sizeof(table) + LINE_BYTES;
  if (n_slots > (SIZE_MAX - rest) / sizeof(slot)) {
    return NULL;
  }
  const size_t size_bytes = rest + n_slots * sizeof(slot);
  table *made = calloc(1, size_bytes);
  if (made == NULL) {
    return NULL;
  }
  ask_for_large_pages(made, size_bytes);
  const size_t past_line = (uintptr_t)(made + 1) % LINE_BYTES;
  made->older = older;
  made->mask = n_slots - 1;
  /* No slot lies across two lines. */
  made->slots = (slot *)((char *)(made + 1) + (LINE_BYTES - past_line) % LINE_BYTES);
  return made;
}

tdt_status tdt__memory_create(tdt__memory **memory, tdt_error *error) {
  tdt__memory *made = calloc(1, sizeof *made);
  table *first = create_table(FIRST_SLOTS, NULL);
  if (made == NULL || first == NULL) {
    free(first);
    free(made);
    return tdt__fail_memory(error);
  }
  atomic_init(&made->newest, first);
  atomic_init(&made->count, 0);
  *memory = made;
  return TDT_OK;
}

void tdt__memory_destroy(tdt__memory *memory) {
  if (memory == NULL) {
    return;
  }
  table *next = atomic_load_explicit(&memory->newest, memory_order_relaxed);
  while (next != NULL) {
    table *older = next->older;
    free(next);
    next = older;
  }
  free(memory);
}

static bool is_taken(const slot *at) {
  return atomic_load_explicit(&at->taken, memory_order_acquire) != 0;
}

static bool has_hash(const slot *at, tdt__hash128 hash) {
  return atomic_load_explicit(&at->low, memory_order_relaxed) == hash.low &&
         atomic_load_explicit(&at->high, memory_order_relaxed) == hash.high;
}

/* NULL: not in it. */
static slot *find(const table *in, tdt__hash128 hash) {
  for (size_t i = hash.low & in->mask;; i = (i + 1) & in->mask) {
    slot *at = &in->slots[i];
    if (!is_taken(at)) {
      return NULL;
    }
    if (has_hash(at, hash)) {
      return at;
    }
  }
}

bool tdt__memory_get(const tdt__memory *memory, const char *key, size_t key_size,
                     size_t *candidate) {
  const table *newest = atomic_load_explicit(&memory->newest, memory_order_acquire);
  const slot *found = find(newest, tdt__hash_wide(key, key_size));
  if (found == NULL) {
    return false;
  }
  const size_t remembered = atomic_load_explicit(&found->candidate, memory_order_relaxed);
  if (remembered == TDT_NONE) {
    return false; /* there is only room for it */
  }
  *candidate = remembered;
  return true;
}

static void insert(table *into, tdt__hash128 hash, size_t candidate) {
  size_t i = hash.low & into->mask;
  while (atomic_load_explicit(&into->slots[i].taken, memory_order_relaxed) != 0) {
    i = (i + 1) & into->mask;
  }
  slot *at = &into->slots[i];
  atomic_store_explicit(&at->low, hash.low, memory_order_relaxed);
  atomic_store_explicit(&at->high, hash.high, memory_order_relaxed);
  atomic_store_explicit(&at->candidate, candidate, memory_order_relaxed);
  atomic_store_explicit(&at->taken, 1, memory_order_release);
}

static void copy_entries(const table *from, table *to) {
  for (size_t i = 0; i <= from->mask; i++) {
    const slot *at = &from->slots[i];
    if (atomic_load_explicit(&at->taken, memory_order_relaxed) != 0) {
      const tdt__hash128 hash = {atomic_load_explicit(&at->low, memory_order_relaxed),
                                 atomic_load_explicit(&at->high, memory_order_relaxed)};
      insert(to, hash, atomic_load_explicit(&at->candidate, memory_order_relaxed));
    }
  }
}

/* The newest table with room for one entry more; NULL: out of memory, nothing changed. */
static table *make_room(tdt__memory *memory) {
  table *newest = atomic_load_explicit(&memory->newest, memory_order_relaxed);
  size_t count = atomic_load_explicit(&memory->count, memory_order_relaxed);
  if (count < (newest->mask + 1) / 2) {
    return newest;
  }
  table *larger = create_table((newest->mask + 1) * 2, newest);
  if (larger != NULL) {
    copy_entries(newest, larger);
    atomic_store_explicit(&memory->newest, larger, memory_order_release);
  }
  return larger;
}

tdt_status tdt__memory_put(tdt__memory *memory, const char *key, size_t key_size, size_t candidate,
                           tdt_error *error) {
  const tdt__hash128 hash = tdt__hash_wide(key, key_size);
  slot *known = find(atomic_load_explicit(&memory->newest, memory_order_relaxed), hash);
  if (known != NULL) {
    atomic_store_explicit(&known->candidate, candidate, memory_order_relaxed);
    return TDT_OK;
  }
  table *room = make_room(memory);
  if (room == NULL) {
    return tdt__fail_memory(error);
  }
  /* Counted first: a fork in between leaves the child a table that is never too full. */
  atomic_fetch_add_explicit(&memory->count, 1, memory_order_relaxed);
  insert(room, hash, candidate);
  return TDT_OK;
}

tdt_status tdt__memory_reserve(tdt__memory *memory, const char *key, size_t key_size,
                               tdt_error *error) {
  const table *newest = atomic_load_explicit(&memory->newest, memory_order_relaxed);
  return find(newest, tdt__hash_wide(key, key_size)) != NULL
             ? TDT_OK
             : tdt__memory_put(memory, key, key_size, TDT_NONE, error);
}

size_t tdt__memory_count(const tdt__memory *memory) {
  return atomic_load_explicit(&memory->count, memory_order_relaxed);
}
