/* SPDX-License-Identifier: MIT */
#include "base/sweep.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { OLD_S = 3600 };

static void remove_if_old(int folder, const char *name, time_t now) {
  struct stat facts;
  if (fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(facts.st_mode) &&
      now - facts.st_mtime > OLD_S) {
    (void)unlinkat(folder, name, 0);
  }
}

void tdt__sweep_temporaries(int folder) {
  /* A descriptor of its own: reading moves the position, which copies of a descriptor share. */
  int own = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *entries = own >= 0 ? fdopendir(own) : NULL;
  if (entries == NULL) {
    if (own >= 0) {
      (void)close(own);
    }
    return;
  }
  time_t now = time(NULL);
  for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
    if (strncmp(entry->d_name, TDT__TEMPORARY_PREFIX, strlen(TDT__TEMPORARY_PREFIX)) == 0) {
      remove_if_old(folder, entry->d_name, now);
    }
  }
  (void)closedir(entries);
}
