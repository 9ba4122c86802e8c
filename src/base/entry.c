/* SPDX-License-Identifier: MIT */
#include "base/entry.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/error.h"

bool tdt__entry_name_ok(const char *name) {
  return name[0] != '\0' && strchr(name, '/') == NULL && strcmp(name, ".") != 0 &&
         strcmp(name, "..") != 0;
}

tdt_status tdt__entry_check(const char *name, tdt_error *error) {
  if (!tdt__entry_name_ok(name)) {
    return tdt__fail(error, TDT_EIO, "not the name of a file: \"%s\"", name);
  }
  return TDT_OK;
}

int tdt__entry_open(int folder, const char *name, int flags, mode_t mode) {
  int descriptor;
  do {
    descriptor = openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC, mode);
  } while (descriptor < 0 && errno == EINTR);
  return descriptor;
}
