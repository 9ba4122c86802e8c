/* SPDX-License-Identifier: MIT */
#ifndef TDT_TEST_STORE_FAULTS_H
#define TDT_TEST_STORE_FAULTS_H

#include <stdbool.h>

/*
 * System calls that fail when told to. The program must be linked with --wrap for each of them, see
 * meson.build; jansson's own allocations are not reached.
 */
#define FAULT_LIST(X)                                                                              \
  X(ALLOCATION) /* malloc, calloc, realloc, strdup, strndup */                                     \
  X(OPEN)       /* open, openat without O_CREAT */                                                 \
  X(CREATE)     /* openat with O_CREAT */                                                          \
  X(MKDIR)      /* mkdir, mkdirat */                                                               \
  X(READ)                                                                                          \
  X(WRITE)                                                                                         \
  X(FSYNC)                                                                                         \
  X(LINKAT)                                                                                        \
  X(RENAMEAT)                                                                                      \
  X(UNLINKAT)                                                                                      \
  X(LIST) /* fdopendir: never fails, is only counted */

typedef enum fault {
#define FAULT_ENUM_(name) FAULT_##name,
  FAULT_LIST(FAULT_ENUM_)
#undef FAULT_ENUM_
      N_FAULTS
} fault;

/* For ever. */
#define FAULT_ALWAYS 1000000U

/* From now on, call number `first` (1 is the next) and the following, `n` in all, fail with
 * `cause`. Other calls stay as they were set. */
void fault_set(fault call, unsigned first, unsigned n, int cause);

/* No call fails; all counts are 0. */
void fault_clear(void);

/* How often it was called, and failed for us, since the last fault_set() or fault_clear(). */
unsigned fault_calls(fault call);
unsigned fault_failures(fault call);

const char *fault_name(fault call);

#endif
