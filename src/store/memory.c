/* SPDX-License-Identifier: MIT */
#include "store/memory.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <tdtune/record.h>

#include "base/digest.h"
#include "base/error.h"

/*
 * Open addressing over a power of two of slots, at most half of them taken, so that a probe ends.
 *
 * A writer publishes with a release store and a reader looks with an acquire load: first an entry
 * in its slot, at last a whole new table. An entry never changes but for its candidate, and a slot
 * never becomes empty again. So a reader sees an entry complete or not at all, and one that still
 * walks an older table finds what was there when it came.
 */

typedef struct entry {
  size_t key_size;
  _Atomic(size_t) candidate;
  char key[];
} entry;

/* The hash stands beside the pointer, so that other keys' entries are not touched. It is written
 * before the pointer and counts only where that is set. */
typedef struct slot {
  _Atomic(uint64_t) hash;
  _Atomic(entry *) entry;
} slot;

typedef struct table {
  struct table *older; /* replaced by this one, kept for readers that are still in it */
  size_t mask;
  slot slots[];
} table;

struct tdt__memory {
  _Atomic(table *) newest;
  _Atomic(size_t) count;
};

enum { FIRST_SLOTS = 8 };

static table *create_table(size_t n_slots, table *older) {
  if (n_slots > (SIZE_MAX - sizeof(table)) / sizeof(slot)) {
    return NULL;
  }
  table *made = calloc(1, sizeof *made + n_slots * sizeof(slot));
  if (made != NULL) {
    made->older = older;
    made->mask = n_slots - 1;
  }
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

static void destroy_entries(table *last) {
  for (size_t i = 0; i <= last->mask; i++) {
    free(atomic_load_explicit(&last->slots[i].entry, memory_order_relaxed));
  }
}

void tdt__memory_destroy(tdt__memory *memory) {
  if (memory == NULL) {
    return;
  }
  table *next = atomic_load_explicit(&memory->newest, memory_order_relaxed);
  destroy_entries(next); /* the newest table holds every entry */
  while (next != NULL) {
    table *older = next->older;
    free(next);
    next = older;
  }
  free(memory);
}

static bool has_key(const entry *candidate, const char *key, size_t key_size) {
  return candidate->key_size == key_size &&
         (key_size == 0 || memcmp(candidate->key, key, key_size) == 0);
}

static entry *find(const table *in, uint64_t hash, const char *key, size_t key_size) {
  for (size_t i = hash & in->mask;; i = (i + 1) & in->mask) {
    entry *found = atomic_load_explicit(&in->slots[i].entry, memory_order_acquire);
    if (found == NULL) {
      return NULL;
    }
    if (atomic_load_explicit(&in->slots[i].hash, memory_order_relaxed) == hash &&
        has_key(found, key, key_size)) {
      return found;
    }
  }
}

bool tdt__memory_get(const tdt__memory *memory, const char *key, size_t key_size,
                     size_t *candidate) {
  const table *newest = atomic_load_explicit(&memory->newest, memory_order_acquire);
  entry *found = find(newest, tdt__hash(key, key_size), key, key_size);
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

static void insert(table *into, uint64_t hash, entry *added) {
  size_t i = hash & into->mask;
  while (atomic_load_explicit(&into->slots[i].entry, memory_order_relaxed) != NULL) {
    i = (i + 1) & into->mask;
  }
  atomic_store_explicit(&into->slots[i].hash, hash, memory_order_relaxed);
  atomic_store_explicit(&into->slots[i].entry, added, memory_order_release);
}

static void copy_entries(const table *from, table *to) {
  for (size_t i = 0; i <= from->mask; i++) {
    entry *found = atomic_load_explicit(&from->slots[i].entry, memory_order_relaxed);
    if (found != NULL) {
      insert(to, atomic_load_explicit(&from->slots[i].hash, memory_order_relaxed), found);
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

static entry *create_entry(const char *key, size_t key_size, size_t candidate) {
  if (key_size > SIZE_MAX - sizeof(entry)) {
    return NULL;
  }
  entry *made = malloc(sizeof *made + key_size);
  if (made != NULL) {
    made->key_size = key_size;
    atomic_init(&made->candidate, candidate);
    if (key_size > 0) {
      memcpy(made->key, key, key_size);
    }
  }
  return made;
}

tdt_status tdt__memory_put(tdt__memory *memory, const char *key, size_t key_size, size_t candidate,
                           tdt_error *error) {
  uint64_t hash = tdt__hash(key, key_size);
  table *newest = atomic_load_explicit(&memory->newest, memory_order_relaxed);
  entry *known = find(newest, hash, key, key_size);
  if (known != NULL) {
    atomic_store_explicit(&known->candidate, candidate, memory_order_relaxed);
    return TDT_OK;
  }
  entry *added = create_entry(key, key_size, candidate);
  table *room = added == NULL ? NULL : make_room(memory);
  if (room == NULL) {
    free(added);
    return tdt__fail_memory(error);
  }
  /* Counted first: a fork in between leaves the child a table that is never too full. */
  atomic_fetch_add_explicit(&memory->count, 1, memory_order_relaxed);
  insert(room, hash, added);
  return TDT_OK;
}

tdt_status tdt__memory_reserve(tdt__memory *memory, const char *key, size_t key_size,
                               tdt_error *error) {
  const table *newest = atomic_load_explicit(&memory->newest, memory_order_relaxed);
  return find(newest, tdt__hash(key, key_size), key, key_size) != NULL
             ? TDT_OK
             : tdt__memory_put(memory, key, key_size, TDT_NONE, error);
}

size_t tdt__memory_count(const tdt__memory *memory) {
  return atomic_load_explicit(&memory->count, memory_order_relaxed);
}
