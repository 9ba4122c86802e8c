/* SPDX-License-Identifier: MIT */
#include "store/record_load.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "store/paths.h"
#include "store/record_json.h"

tdt_status tdt__record_load_in(int folder, const char *name, const char *path, tdt_record **record,
                               tdt_error *error) {
  char *text = NULL;
  size_t size = 0;
  tdt_status status = tdt__file_read(folder, name, TDT__RECORD_LIMIT, &text, &size, error);
  if (status != TDT_OK) {
    return tdt__path_blame(path, status, error);
  }
  status = tdt__record_parse(text, size, path, record, error);
  free(text);
  return status;
}

/* The folder of `path`, ending in "/" so that the root stays one. NULL: out of memory. */
static char *folder_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash == NULL ? strdup(".") : strndup(path, (size_t)(slash - path) + 1);
}

/* What is left of it. */
static const char *name_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash == NULL ? path : slash + 1;
}

tdt_status tdt_record_load(const char *path, tdt_record **record, tdt_error *error) {
  char *folder = folder_of(path);
  if (folder == NULL) {
    return tdt__fail_memory(error);
  }
  int opened = -1;
  tdt_status status = tdt__folder_open(folder, false, &opened, error);
  if (status == TDT_OK) {
    status = tdt__record_load_in(opened, name_of(path), path, record, error);
    (void)close(opened);
  }
  free(folder);
  return status;
}
