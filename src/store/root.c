/* SPDX-License-Identifier: MIT */
#include "store/root.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tdtune/store.h>

#include "base/env.h"
#include "base/error.h"
#include "base/file.h"
#include "store/paths.h"

/* `<temporary folder>/tdtune-<user>/autotune` */
#define TEMPORARY_PREFIX "tdtune-"
#define TEMPORARY_FOLDER "autotune"

enum { TEMPORARY_SIZE = sizeof TEMPORARY_PREFIX + 24 };

static void temporary_name(char name[TEMPORARY_SIZE]) {
  (void)snprintf(name, TEMPORARY_SIZE, TEMPORARY_PREFIX "%lu", (unsigned long)geteuid());
}

static bool is_folder(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* The home folder in the user database; *home stays NULL where there is none. */
static tdt_status database_home(char **home, tdt_error *error) {
  struct passwd user;
  struct passwd *found = NULL;
  char *buffer = NULL;
  int failure = ERANGE;
  for (size_t size = 1024; failure == ERANGE && size <= 1U << 20; size *= 4) {
    free(buffer);
    buffer = malloc(size);
    if (buffer == NULL) {
      return tdt__fail_memory(error);
    }
    failure = getpwuid_r(geteuid(), &user, buffer, size, &found);
  }
  tdt_status status = TDT_OK;
  if (failure == 0 && found != NULL && is_folder(user.pw_dir)) {
    *home = strdup(user.pw_dir);
    status = *home == NULL ? tdt__fail_memory(error) : TDT_OK;
  }
  free(buffer);
  return status;
}

static tdt_status find_home(char **home, tdt_error *error) {
  const char *named = tdt__env_value(TDT__ENV_HOME);
  if (named == NULL || !is_folder(named)) {
    return database_home(home, error);
  }
  *home = tdt__path_absolute(named);
  return *home == NULL ? tdt__fail_memory(error) : TDT_OK;
}

static char *temporary_root(void) {
  const char *folder = tdt__env_value(TDT__ENV_TMPDIR);
  if (folder == NULL || !is_folder(folder)) {
    folder = "/tmp";
  }
  char name[TEMPORARY_SIZE];
  temporary_name(name);
  char *absolute = tdt__path_absolute(folder);
  char *own = absolute == NULL ? NULL : tdt__path_join(absolute, name);
  char *root = own == NULL ? NULL : tdt__path_join(own, TEMPORARY_FOLDER);
  free(own);
  free(absolute);
  return root;
}

static bool starts_at_home(const char *path) {
  return path[0] == '~' && (path[1] == '\0' || path[1] == '/');
}

tdt_status tdt_store_default_root(char **root, tdt_error *error) {
  const char *named = tdt__env_value(TDT__ENV_DIR);
  char *home = NULL;
  char *found = NULL;
  if (named != NULL && !starts_at_home(named)) {
    found = tdt__path_absolute(named);
  } else {
    tdt_status status = find_home(&home, error);
    if (status != TDT_OK) {
      return status;
    }
    const char *inside = named == NULL ? "/.triton_dist/autotune" : named + 1;
    found = home == NULL ? temporary_root() : tdt__path_join(home, inside + strspn(inside, "/"));
  }
  free(home);
  if (found == NULL) {
    return tdt__fail_memory(error);
  }
  *root = found;
  return TDT_OK;
}

/* The length of the temporary folder's part of `path`; 0 where that is another kind of place. */
static size_t temporary_size(const char *path) {
  char name[TEMPORARY_SIZE];
  temporary_name(name);
  char ending[TEMPORARY_SIZE + sizeof TEMPORARY_FOLDER + 2];
  int size = snprintf(ending, sizeof ending, "/%s/%s", name, TEMPORARY_FOLDER);
  size_t whole = strlen(path);
  if (size < 0 || whole <= (size_t)size || strcmp(path + whole - (size_t)size, ending) != 0) {
    return 0;
  }
  return whole - (size_t)size;
}

static tdt_status check_private(int folder, const char *path, tdt_error *error) {
  struct stat status;
  if (fstat(folder, &status) != 0) {
    return tdt__fail_system(error, TDT_EIO, errno, "cannot open %s", path);
  }
  if (status.st_uid != geteuid() || (status.st_mode & 077) != 0) {
    return tdt__fail(error, TDT_EIO,
                     "%s: the folder around it is not private to this user; remove it or set %s",
                     path, tdt__env_name(TDT__ENV_DIR));
  }
  return TDT_OK;
}

/* Step by step and through descriptors: what was checked is what is used. */
static tdt_status open_private(int above, const char *path, bool create, int *root,
                               tdt_error *error) {
  char name[TEMPORARY_SIZE];
  temporary_name(name);
  int own = -1;
  tdt_status status = tdt__folder_open_in(above, name, create, &own, error);
  if (status != TDT_OK) {
    return tdt__path_blame(path, status, error);
  }
  status = check_private(own, path, error);
  if (status == TDT_OK) {
    status = tdt__folder_open_in(own, TEMPORARY_FOLDER, create, root, error);
    status = tdt__path_blame(path, status, error);
  }
  (void)close(own);
  return status;
}

tdt_status tdt__root_open(const char *path, bool create, int *root, tdt_error *error) {
  size_t size = temporary_size(path);
  if (size == 0) {
    return tdt__folder_open(path, create, root, error);
  }
  char *temporary = strndup(path, size);
  if (temporary == NULL) {
    return tdt__fail_memory(error);
  }
  int above = -1;
  tdt_status status = tdt__folder_open(temporary, create, &above, error);
  free(temporary);
  if (status != TDT_OK) {
    return status;
  }
  status = open_private(above, path, create, root, error);
  (void)close(above);
  return status;
}
