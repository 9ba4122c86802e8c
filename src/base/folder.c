/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/entry.h"
#include "base/error.h"
#include "base/file.h"

enum { FOLDER_MODE = 0700 };

static int open_path(const char *path) {
  int descriptor;
  do {
    descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  } while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

/*
 * Makes every missing folder on the way to `path`, which is cut and mended on the way. Returns the
 * first errno that is not "exists", 0 if there is none. It goes on after a failure: a parent that
 * exists may answer with any error, and only opening `path` tells whether that mattered.
 */
static int make_path(char *path) {
  int cause = 0;
  for (char *end = path + 1; end[-1] != '\0'; end++) {
    char after = *end;
    if (after != '/' && after != '\0') {
      continue;
    }
    *end = '\0';
    if (mkdir(path, FOLDER_MODE) != 0 && errno != EEXIST && cause == 0) {
      cause = errno;
    }
    *end = after;
  }
  return cause;
}

static tdt_status fail_open(const char *path, bool create, int cause, tdt_error *error) {
  tdt_status code = cause == ENOENT && !create ? TDT_ENOENT : TDT_EIO;
  return tdt__fail_system(error, code, cause, "cannot %s folder %s", create ? "make" : "open",
                          path);
}

tdt_status tdt__folder_open(const char *path, bool create, int *folder, tdt_error *error) {
  int descriptor = open_path(path);
  int cause = errno;
  if (descriptor < 0 && cause == ENOENT && create && path[0] != '\0') {
    char *cut = strdup(path);
    if (cut == NULL) {
      return tdt__fail_memory(error);
    }
    int first = make_path(cut);
    free(cut);
    descriptor = open_path(path);
    cause = first != 0 ? first : errno;
  }
  if (descriptor < 0) {
    return fail_open(path, create, cause, error);
  }
  *folder = descriptor;
  return TDT_OK;
}

tdt_status tdt__folder_open_in(int parent, const char *name, bool create, int *folder,
                               tdt_error *error) {
  tdt_status status = tdt__entry_check(name, error);
  if (status != TDT_OK) {
    return status;
  }
  int descriptor = tdt__entry_open(parent, name, O_RDONLY | O_DIRECTORY, 0);
  if (descriptor < 0 && errno == ENOENT && create) {
    if (mkdirat(parent, name, FOLDER_MODE) != 0 && errno != EEXIST) {
      return fail_open(name, create, errno, error);
    }
    descriptor = tdt__entry_open(parent, name, O_RDONLY | O_DIRECTORY, 0);
  }
  if (descriptor < 0) {
    return fail_open(name, create, errno, error);
  }
  *folder = descriptor;
  return TDT_OK;
}
