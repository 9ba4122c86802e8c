/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/entry.h"
#include "base/error.h"
#include "base/file.h"
#include "base/sweep.h"

enum { NAME_SIZE = 256, FILE_MODE = 0600, MOST_ATTEMPTS = 1000, SWEEP_EVERY = 64 };

/* Process, count and chance: the first two tell apart the writers of one machine, the third those
 * of machines that share a disk. */
static unsigned temporary_name(char name[NAME_SIZE]) {
  static atomic_uint counter;
  unsigned count = atomic_fetch_add(&counter, 1);
  uint64_t chance;
  if (getrandom(&chance, sizeof chance, GRND_NONBLOCK) != (ssize_t)sizeof chance) {
    chance = tdt__clock_ns();
  }
  (void)snprintf(name, NAME_SIZE, TDT__TEMPORARY_PREFIX "%ld-%u-%016llx", (long)getpid(), count,
                 (unsigned long long)chance);
  return count;
}

static bool write_all(int file, const char *data, size_t size) {
  while (size > 0) {
    ssize_t put = write(file, data, size);
    if (put < 0 && errno == EINTR) {
      continue;
    }
    if (put < 0) {
      return false;
    }
    data += put;
    size -= (size_t)put;
  }
  return true;
}

static bool flush(int file) {
  int result;
  do {
    result = fsync(file);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

/* A complete file on the disk under a name of its own. On failure there is none; errno tells why.
 */
static bool write_temporary(int folder, const void *data, size_t size, char name[NAME_SIZE]) {
  unsigned count = temporary_name(name);
  if (count % SWEEP_EVERY == 0) {
    tdt__sweep_temporaries(folder);
  }
  int file = tdt__entry_open(folder, name, O_WRONLY | O_CREAT | O_EXCL, FILE_MODE);
  if (file < 0) {
    return false;
  }
  bool written = write_all(file, data, size) && flush(file);
  int cause = errno;
  /* Some file systems tell only here that there is no room; but a descriptor whose close() was
   * interrupted is closed. */
  if (close(file) != 0 && errno != EINTR && written) {
    written = false;
    cause = errno;
  }
  if (!written) {
    (void)unlinkat(folder, name, 0);
    errno = cause;
  }
  return written;
}

/* Name `number` of those under which to keep a file: "x", "x-2", "x-3", ... */
static bool kept_name(const char *keep_as, int number, char kept[NAME_SIZE]) {
  int size = number == 1 ? snprintf(kept, NAME_SIZE, "%s", keep_as)
                         : snprintf(kept, NAME_SIZE, "%s-%d", keep_as, number);
  return size >= 0 && size < NAME_SIZE;
}

/* For file systems without hard links. Keeps regular files only. */
static tdt_status keep_copy(int folder, const char *name, const char *kept, tdt_error *error) {
  char *data;
  size_t size;
  tdt_status status = tdt__file_read(folder, name, SIZE_MAX - 1, &data, &size, error);
  if (status != TDT_OK) {
    return status == TDT_ENOMEM ? status : TDT_EIO;
  }
  char temporary[NAME_SIZE];
  bool done = write_temporary(folder, data, size, temporary);
  if (done && renameat(folder, temporary, folder, kept) != 0) {
    int cause = errno;
    (void)unlinkat(folder, temporary, 0);
    errno = cause;
    done = false;
  }
  int cause = errno;
  free(data);
  return done ? TDT_OK
              : tdt__fail_system(error, TDT_EIO, cause, "cannot keep %s as %s", name, kept);
}

static bool lacks_links(int cause) {
  return cause == EPERM || cause == EOPNOTSUPP || cause == ENOSYS || cause == EMLINK ||
         cause == EXDEV;
}

static bool exists(int folder, const char *name) {
  struct stat facts;
  return fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) == 0;
}

typedef enum verdict {
  NOTHING_THERE,
  TAKEN,    /* by another file: the next name may be free */
  REPLACED, /* by another writer, after its name was looked up and before it was linked */
  NO_LINKS, /* the file system has none */
  FAILED,
} verdict;

/* Why `name` could not be linked as `kept`. */
static verdict judge(int folder, const char *name, const char *kept, int cause) {
  if (cause == EEXIST) {
    return TAKEN;
  }
  if (cause != ENOENT && !lacks_links(cause)) {
    return FAILED;
  }
  if (!exists(folder, name)) {
    return NOTHING_THERE;
  }
  if (cause == ENOENT) {
    return REPLACED;
  }
  return exists(folder, kept) ? TAKEN : NO_LINKS;
}

/* Gives what is at `name` a second name, `kept`, "" if nothing is there. A link is kept as a link.
 */
static tdt_status keep(int folder, const char *name, const char *keep_as, char kept[NAME_SIZE],
                       tdt_error *error) {
  int cause = 0;
  int number = 1;
  for (int attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
    if (!kept_name(keep_as, number, kept)) {
      return tdt__fail_system(error, TDT_EIO, ENAMETOOLONG, "cannot keep %s as %s", name, keep_as);
    }
    if (linkat(folder, name, folder, kept, 0) == 0) {
      return TDT_OK;
    }
    cause = errno;
    verdict why = judge(folder, name, kept, cause);
    if (why == NOTHING_THERE) {
      kept[0] = '\0';
      return TDT_OK;
    }
    if (why == NO_LINKS) {
      return keep_copy(folder, name, kept, error);
    }
    if (why == FAILED) {
      break;
    }
    number += why == TAKEN ? 1 : 0;
  }
  return tdt__fail_system(error, TDT_EIO, cause, "cannot keep %s as %s", name, kept);
}

/* The new file is complete as `temporary`; keeps the old one and puts the new one in its place. */
static tdt_status put_in_place(int folder, const char *temporary, const char *name,
                               const char *keep_as, tdt_error *error) {
  char kept[NAME_SIZE] = "";
  if (keep_as != NULL) {
    tdt_status status = keep(folder, name, keep_as, kept, error);
    if (status != TDT_OK) {
      return status;
    }
  }
  if (renameat(folder, temporary, folder, name) == 0) {
    return TDT_OK;
  }
  int cause = errno;
  if (kept[0] != '\0') {
    (void)unlinkat(folder, kept, 0);
  }
  return tdt__fail_system(error, TDT_EIO, cause, "cannot write %s", name);
}

tdt_status tdt__file_replace(int folder, const char *name, const void *data, size_t size,
                             const char *keep_as, tdt_error *error) {
  tdt_status status = tdt__entry_check(name, error);
  if (status == TDT_OK && keep_as != NULL) {
    status = tdt__entry_check(keep_as, error);
  }
  if (status != TDT_OK) {
    return status;
  }
  char temporary[NAME_SIZE];
  if (!write_temporary(folder, data, size, temporary)) {
    return tdt__fail_system(error, TDT_EIO, errno, "cannot write %s", name);
  }
  status = put_in_place(folder, temporary, name, keep_as, error);
  if (status != TDT_OK) {
    (void)unlinkat(folder, temporary, 0);
    return status;
  }
  (void)fsync(folder); /* the file is in place already: a failure here is none */
  return TDT_OK;
}
