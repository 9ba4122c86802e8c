/* SPDX-License-Identifier: MIT */
#include "store/whereabouts.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/text.h"

/* Differs between machines, and between two starts of one. */
static void add_boot(tdt__text *text) {
  char id[64];
  int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  ssize_t size = file < 0 ? 0 : read(file, id, sizeof id - 1);
  if (size > 0) {
    id[size] = '\0';
    tdt__text_add_bytes(text, id, strcspn(id, "\n"));
  }
  if (file >= 0) {
    (void)close(file);
  }
}

/* The device of the folder, or of the nearest one above it that exists by now. */
static void add_file_system(tdt__text *text, const char *root) {
  struct stat status;
  char *path = strdup(root);
  if (path == NULL) {
    text->failed = true;
    return;
  }
  while (stat(path, &status) != 0) {
    char *slash = strrchr(path, '/');
    if (slash == NULL || slash == path) {
      (void)stat("/", &status);
      break;
    }
    *slash = '\0';
  }
  tdt__text_format(text, " %llu ", (unsigned long long)status.st_dev);
  free(path);
}

char *tdt__store_whereabouts(const tdt_store *store) {
  struct utsname machine;
  tdt__text text = TDT__TEXT_INIT;
  if (store == NULL) {
    return tdt__text_take(&text);
  }
  add_boot(&text);
  if (uname(&machine) == 0) {
    tdt__text_add(&text, " ");
    tdt__text_add(&text, machine.nodename);
  }
  add_file_system(&text, tdt_store_root(store));
  tdt__text_add(&text, tdt_store_root(store));
  return tdt__text_take(&text);
}
