/* SPDX-License-Identifier: MIT */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/entry.h"
#include "base/error.h"

static tdt_status fail_open(const char *name, int cause, tdt_error *error) {
  switch (cause) {
  case ENOENT:
    return tdt__fail_system(error, TDT_ENOENT, cause, "cannot open %s", name);
  case ELOOP:  /* a symbolic link */
  case ENXIO:  /* a socket */
  case ENODEV: /* a device */
    return tdt__fail(error, TDT_EFORMAT, "not a regular file: %s", name);
  default:
    return tdt__fail_system(error, TDT_EIO, cause, "cannot open %s", name);
  }
}

/* Up to `size` bytes; fewer only at the end of the file. False with errno set. */
static bool read_all(int file, char *data, size_t size, size_t *done) {
  *done = 0;
  while (*done < size) {
    ssize_t got = read(file, data + *done, size - *done);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return false;
    }
    if (got == 0) {
      break;
    }
    *done += (size_t)got;
  }
  return true;
}

/* Files of ours never change their size once they have their name, so the size asked for at the
 * beginning is all there is to read. */
static tdt_status read_open(int file, const char *name, size_t limit, char **data, size_t *size,
                            tdt_error *error) {
  struct stat facts;
  if (fstat(file, &facts) != 0) {
    return tdt__fail_system(error, TDT_EIO, errno, "cannot read %s", name);
  }
  if (!S_ISREG(facts.st_mode)) {
    return tdt__fail(error, TDT_EFORMAT, "not a regular file: %s", name);
  }
  if ((uintmax_t)facts.st_size > limit) {
    return tdt__fail(error, TDT_EFORMAT, "%s is too large: %jd bytes, at most %zu are read", name,
                     (intmax_t)facts.st_size, limit);
  }
  char *bytes = malloc((size_t)facts.st_size + 1);
  if (bytes == NULL) {
    return tdt__fail_memory(error);
  }
  size_t done;
  if (!read_all(file, bytes, (size_t)facts.st_size, &done)) {
    int cause = errno;
    free(bytes);
    return tdt__fail_system(error, TDT_EIO, cause, "cannot read %s", name);
  }
  bytes[done] = '\0';
  *data = bytes;
  *size = done;
  return TDT_OK;
}

tdt_status tdt__file_read(int folder, const char *name, size_t limit, char **data, size_t *size,
                          tdt_error *error) {
  tdt_status status = tdt__entry_check(name, error);
  if (status != TDT_OK) {
    return status;
  }
  /* O_NONBLOCK: a named pipe in the place of a file must not make the reader wait. */
  int file = tdt__entry_open(folder, name, O_RDONLY | O_NONBLOCK, 0);
  if (file < 0) {
    return fail_open(name, errno, error);
  }
  status = read_open(file, name, limit, data, size, error);
  (void)close(file);
  return status;
}
