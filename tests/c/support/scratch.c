/* SPDX-License-Identifier: MIT */
#include "scratch.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool scratch_make(char *path, size_t size) {
  const char *root = getenv("TMPDIR");
  int made = snprintf(path, size, "%s/tdtune-test-XXXXXX",
                      root != NULL && root[0] != '\0' ? root : "/tmp");
  return made >= 0 && (size_t)made < size && mkdtemp(path) != NULL;
}

static int remove_entry(const char *path, const struct stat *facts, int type, struct FTW *where) {
  (void)facts;
  (void)type;
  (void)where;
  return remove(path);
}

bool scratch_clear(const char *path) {
  return nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS) == 0;
}

size_t scratch_count(const char *path, const char *part) {
  DIR *entries = opendir(path);
  if (entries == NULL) {
    return 0;
  }
  size_t count = 0;
  for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
    count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
             strstr(entry->d_name, part) != NULL;
  }
  (void)closedir(entries);
  return count;
}

int scratch_create(void **state) {
  static scratch made;
  if (!scratch_make(made.path, sizeof made.path)) {
    return -1;
  }
  made.folder = open(made.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  *state = &made;
  return made.folder < 0 ? -1 : 0;
}

int scratch_remove(void **state) {
  const scratch *made = *state;
  (void)close(made->folder);
  return scratch_clear(made->path) ? 0 : -1;
}
