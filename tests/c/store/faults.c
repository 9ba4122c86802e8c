/* SPDX-License-Identifier: MIT */
#include "faults.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

static struct {
  unsigned calls;
  unsigned failures;
  unsigned first;
  unsigned n;
  int cause;
} faults[N_FAULTS];

void fault_set(fault call, unsigned first, unsigned n, int cause) {
  faults[call].calls = 0;
  faults[call].failures = 0;
  faults[call].first = first;
  faults[call].n = n;
  faults[call].cause = cause;
}

void fault_clear(void) {
  for (int i = 0; i < N_FAULTS; i++) {
    fault_set((fault)i, 0, 0, 0);
  }
}

unsigned fault_calls(fault call) {
  return faults[call].calls;
}

unsigned fault_failures(fault call) {
  return faults[call].failures;
}

const char *fault_name(fault call) {
  static const char *const names[] = {
#define FAULT_NAME_(name) #name,
      FAULT_LIST(FAULT_NAME_)
#undef FAULT_NAME_
  };
  return names[call];
}

static bool fails(fault call) {
  unsigned number = ++faults[call].calls;
  if (number < faults[call].first || number - faults[call].first >= faults[call].n) {
    return false;
  }
  faults[call].failures++;
  errno = faults[call].cause;
  return true;
}

/* The linker's names for the functions that are stood in for. */
#define STAND_IN(result, name, parameters)                                                         \
  result __real_##name parameters;                                                                 \
  result __wrap_##name parameters;                                                                 \
  result __wrap_##name parameters

STAND_IN(void *, malloc, (size_t size)) {
  return fails(FAULT_ALLOCATION) ? NULL : __real_malloc(size);
}

STAND_IN(void *, calloc, (size_t n, size_t size)) {
  return fails(FAULT_ALLOCATION) ? NULL : __real_calloc(n, size);
}

STAND_IN(void *, realloc, (void *old, size_t size)) {
  return fails(FAULT_ALLOCATION) ? NULL : __real_realloc(old, size);
}

STAND_IN(char *, strdup, (const char *text)) {
  return fails(FAULT_ALLOCATION) ? NULL : __real_strdup(text);
}

STAND_IN(char *, strndup, (const char *text, size_t size)) {
  return fails(FAULT_ALLOCATION) ? NULL : __real_strndup(text, size);
}

/* By either name, depending on how large files are asked for. Only folders are opened without a
 * folder, so there is no mode to pass on. */
#define STAND_IN_FOR_OPEN(open, openat)                                                            \
  STAND_IN(int, open, (const char *path, int flags, ...)) {                                        \
    return fails(FAULT_OPEN) ? -1 : __real_##open(path, flags);                                    \
  }                                                                                                \
                                                                                                   \
  STAND_IN(int, openat, (int folder, const char *path, int flags, ...)) {                          \
    va_list arguments;                                                                             \
    va_start(arguments, flags);                                                                    \
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;                          \
    va_end(arguments);                                                                             \
    return fails((flags & O_CREAT) != 0 ? FAULT_CREATE : FAULT_OPEN)                               \
               ? -1                                                                                \
               : __real_##openat(folder, path, flags, mode);                                       \
  }

STAND_IN_FOR_OPEN(open, openat)
STAND_IN_FOR_OPEN(open64, openat64)

STAND_IN(int, mkdir, (const char *path, mode_t mode)) {
  return fails(FAULT_MKDIR) ? -1 : __real_mkdir(path, mode);
}

STAND_IN(int, mkdirat, (int folder, const char *path, mode_t mode)) {
  return fails(FAULT_MKDIR) ? -1 : __real_mkdirat(folder, path, mode);
}

STAND_IN(ssize_t, read, (int file, void *data, size_t size)) {
  return fails(FAULT_READ) ? -1 : __real_read(file, data, size);
}

STAND_IN(ssize_t, write, (int file, const void *data, size_t size)) {
  return fails(FAULT_WRITE) ? -1 : __real_write(file, data, size);
}

STAND_IN(int, fsync, (int file)) {
  return fails(FAULT_FSYNC) ? -1 : __real_fsync(file);
}

STAND_IN(int, linkat, (int from, const char *old, int to, const char *new, int flags)) {
  return fails(FAULT_LINKAT) ? -1 : __real_linkat(from, old, to, new, flags);
}

STAND_IN(int, renameat, (int from, const char *old, int to, const char *new)) {
  return fails(FAULT_RENAMEAT) ? -1 : __real_renameat(from, old, to, new);
}

STAND_IN(int, unlinkat, (int folder, const char *path, int flags)) {
  return fails(FAULT_UNLINKAT) ? -1 : __real_unlinkat(folder, path, flags);
}

STAND_IN(DIR *, fdopendir, (int folder)) {
  (void)fails(FAULT_LIST);
  return __real_fdopendir(folder);
}
