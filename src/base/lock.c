/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/entry.h"
#include "base/error.h"
#include "base/file.h"

/*
 * Locks belong to the open file description, not to the process: two threads that each open the
 * file exclude one another, and closing some other descriptor of the file lets go of nothing.
 */

static const char lock_name[] = ".lock";

/* Number n is the byte at offset n; offsets are signed and the byte's end must fit as well. */
static const unsigned long long offset_mask = (1ULL << 62) - 1;

static int set_lock(int file, long long offset, short type) {
  struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = offset, .l_len = 1};
  int result;
  do {
    result = fcntl(file, F_OFD_SETLK, &lock);
  } while (result != 0 && errno == EINTR);
  return result;
}

static tdt_status open_lock_file(int folder, int *file, tdt_error *error) {
  int descriptor = tdt__entry_open(folder, lock_name, O_RDWR | O_CREAT | O_NONBLOCK, 0600);
  if (descriptor < 0) {
    return tdt__fail_system(error, TDT_EIO, errno, "cannot open %s", lock_name);
  }
  struct stat facts;
  if (fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    (void)close(descriptor);
    return tdt__fail(error, TDT_EIO, "not a regular file: %s", lock_name);
  }
  *file = descriptor;
  return TDT_OK;
}

tdt_status tdt__file_lock_try(int folder, unsigned long long number, tdt__file_lock *lock,
                              bool *taken, tdt_error *error) {
  int file = -1;
  tdt_status status = open_lock_file(folder, &file, error);
  if (status != TDT_OK) {
    return status;
  }
  long long offset = (long long)(number & offset_mask);
  if (set_lock(file, offset, F_WRLCK) == 0) {
    *lock = (tdt__file_lock){file, offset};
    *taken = true;
    return TDT_OK;
  }
  int cause = errno;
  (void)close(file);
  if (cause == EAGAIN || cause == EACCES) {
    *taken = false;
    return TDT_OK;
  }
  return tdt__fail_system(error, TDT_EIO, cause, "cannot lock %s", lock_name);
}

void tdt__file_unlock(tdt__file_lock *lock) {
  if (lock->descriptor < 0) {
    return;
  }
  /* Closing alone would not do: a forked child may hold a copy of the descriptor. */
  (void)set_lock(lock->descriptor, lock->number, F_UNLCK);
  tdt__file_lock_forget(lock);
}

void tdt__file_lock_forget(tdt__file_lock *lock) {
  if (lock->descriptor >= 0) {
    (void)close(lock->descriptor);
  }
  *lock = (tdt__file_lock)TDT__FILE_LOCK_INIT;
}
