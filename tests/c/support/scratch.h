/* SPDX-License-Identifier: MIT */
#ifndef TDT_TESTS_SCRATCH_H
#define TDT_TESTS_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>

/* A new folder of a test's own, below the system's temporary folder; removed with all that is in
 * it. False: it could not be made. */
bool scratch_make(char *path, size_t size);
bool scratch_clear(const char *path);

/* How many names in a folder contain `part`; 0 where there is no such folder. */
size_t scratch_count(const char *path, const char *part);

/* The same as cmocka's state: use scratch_create and scratch_remove as fixtures. */
typedef struct scratch {
  char path[4096];
  int folder; /* its descriptor */
} scratch;

int scratch_create(void **state);
int scratch_remove(void **state);

#endif
