/* SPDX-License-Identifier: MIT */
#include "store/paths.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tdtune/identity.h>

#include "base/error.h"
#include "base/text.h"

#define LOWER    "abcdefghijklmnopqrstuvwxyz"
#define UPPER    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS   "0123456789"
#define INSIDE   "-." /* fine inside a name; at its start hidden or an option, at its end lost */
#define PLAIN    LOWER DIGITS "_" INSIDE
#define READABLE UPPER PLAIN

/* Far below the 255 bytes of a name, for file systems that allow less. */
enum { NAME_LIMIT = 100, REMAINDER_LIMIT = 60, MARK_SIZE = 16 };

static bool is_inside(char c) {
  return strchr(INSIDE, c) != NULL;
}

/* Whether a name ends like one that was given a digest; such a name gets one of its own. */
static bool looks_marked(const char *name, size_t size) {
  if (size <= MARK_SIZE || name[size - MARK_SIZE - 1] != '-') {
    return false;
  }
  return strspn(name + size - MARK_SIZE, DIGITS "abcdef") == MARK_SIZE;
}

static bool is_plain(const char *name) {
  size_t size = strlen(name);
  return size > 0 && size <= NAME_LIMIT && strspn(name, PLAIN) == size && !is_inside(name[0]) &&
         !is_inside(name[size - 1]) && !looks_marked(name, size);
}

/* What can stay of a name; each run of other bytes between becomes one "_". */
static void add_remainder(tdt__text *text, const char *name) {
  while (*name != '\0' && text->size < REMAINDER_LIMIT) {
    size_t skipped = strcspn(name, READABLE);
    name += skipped;
    if (text->size == 0) {
      name += strspn(name, INSIDE);
    }
    size_t kept = strspn(name, READABLE);
    if (kept > 0 && skipped > 0 && text->size > 0) {
      tdt__text_add(text, "_");
    }
    size_t room = REMAINDER_LIMIT - text->size;
    tdt__text_add_bytes(text, name, kept < room ? kept : room);
    name += kept;
  }
}

static char *marked(const char *name) {
  char digest[TDT_DIGEST_SIZE];
  tdt_digest(name, strlen(name), digest);
  tdt__text text = TDT__TEXT_INIT;
  add_remainder(&text, name);
  if (text.size == 0) {
    tdt__text_add(&text, "_");
  }
  tdt__text_add(&text, "-");
  tdt__text_add_bytes(&text, digest, MARK_SIZE);
  return tdt__text_take(&text);
}

char *tdt__path_folder(const char *function_name) {
  return is_plain(function_name) ? strdup(function_name) : marked(function_name);
}

char *tdt__path_join(const char *folder, const char *name) {
  tdt__text text = TDT__TEXT_INIT;
  tdt__text_add(&text, folder);
  tdt__text_add(&text, "/");
  tdt__text_add(&text, name);
  return tdt__text_take(&text);
}

/* Where the working directory is gone, the path stays as it is: opening it will say so. */
char *tdt__path_absolute(const char *path) {
  char working[4096];
  if (path[0] == '/' || getcwd(working, sizeof working) == NULL) {
    return strdup(path);
  }
  return tdt__path_join(working, path);
}

tdt_status tdt__path_blame(const char *path, tdt_status status, tdt_error *error) {
  if (status == TDT_OK || status == TDT_ENOMEM) {
    return status;
  }
  return tdt__fail(error, status, "%s: %s", path, tdt_error_text(error));
}
