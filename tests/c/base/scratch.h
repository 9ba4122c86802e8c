/* SPDX-License-Identifier: MIT */
#ifndef TDT_TESTS_SCRATCH_H
#define TDT_TESTS_SCRATCH_H

/* A folder of a test's own, as cmocka's state: use scratch_create and scratch_remove as fixtures.
 */

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct scratch {
  char path[4096];
  int folder; /* its descriptor */
} scratch;

static inline int scratch_create(void **state) {
  static scratch made;
  const char *root = getenv("TMPDIR");
  int size = snprintf(made.path, sizeof made.path, "%s/tdtune-test-XXXXXX",
                      root != NULL && root[0] != '\0' ? root : "/tmp");
  if (size < 0 || (size_t)size >= sizeof made.path || mkdtemp(made.path) == NULL) {
    return -1;
  }
  made.folder = open(made.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  *state = &made;
  return made.folder < 0 ? -1 : 0;
}

static inline int scratch_remove_entry(const char *path, const struct stat *facts, int type,
                                       struct FTW *where) {
  (void)facts;
  (void)type;
  (void)where;
  return remove(path);
}

static inline int scratch_remove(void **state) {
  const scratch *made = *state;
  (void)close(made->folder);
  return nftw(made->path, scratch_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* How many entries there are whose names start with `prefix`. */
static inline size_t scratch_count(const scratch *made, const char *prefix) {
  size_t count = 0;
  DIR *entries = opendir(made->path);
  if (entries == NULL) {
    return (size_t)-1;
  }
  for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
        strncmp(entry->d_name, prefix, strlen(prefix)) == 0) {
      count++;
    }
  }
  (void)closedir(entries);
  return count;
}

#endif
