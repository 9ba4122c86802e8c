/* SPDX-License-Identifier: MIT */
#include "store/said.h"

#include <stdlib.h>
#include <string.h>

/* A list that only grows at its head; what is in it never changes. */
typedef struct tdt__remark {
  struct tdt__remark *earlier;
  char text[];
} remark;

void tdt__said_init(tdt__said *said) {
  atomic_init(&said->last, NULL);
}

void tdt__said_clear(tdt__said *said) {
  remark *next = atomic_load_explicit(&said->last, memory_order_acquire);
  while (next != NULL) {
    remark *earlier = next->earlier;
    free(next);
    next = earlier;
  }
  atomic_store_explicit(&said->last, NULL, memory_order_relaxed);
}

/* Looks from `from` back to, not including, `until`. */
static bool holds(const remark *from, const remark *until, const char *what) {
  for (const remark *next = from; next != until; next = next->earlier) {
    if (strcmp(next->text, what) == 0) {
      return true;
    }
  }
  return false;
}

static remark *create_remark(const char *what) {
  size_t size = strlen(what) + 1;
  remark *made = malloc(sizeof *made + size);
  if (made != NULL) {
    memcpy(made->text, what, size);
  }
  return made;
}

bool tdt__said_first_time(tdt__said *said, const char *what) {
  remark *last = atomic_load_explicit(&said->last, memory_order_acquire);
  if (holds(last, NULL, what)) {
    return false;
  }
  remark *added = create_remark(what);
  if (added == NULL) {
    return true;
  }
  for (;;) {
    added->earlier = last;
    if (atomic_compare_exchange_weak_explicit(&said->last, &last, added, memory_order_release,
                                              memory_order_acquire)) {
      return true;
    }
    if (holds(last, added->earlier, what)) {
      free(added);
      return false;
    }
  }
}
