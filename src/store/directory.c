/* SPDX-License-Identifier: MIT */
#include "store/directory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "model/identity.h"
#include "model/record.h"
#include "store/paths.h"
#include "store/place.h"
#include "store/record_json.h"
#include "store/record_load.h"
#include "store/root.h"
#include "store/said.h"

#define RECORD ".json"

/*
 * Nothing is kept open between calls and nothing is cached, so there is no lock: threads, other
 * processes and forked children all meet in the file system.
 */
struct tdt_store {
  char *root;
  tdt__said said;
};

tdt_status tdt_store_open(const char *root, tdt_store **store, tdt_error *error) {
  if (root == NULL || root[0] == '\0') {
    return tdt__fail(error, TDT_EINVAL, "a store needs a folder");
  }
  tdt_store *made = calloc(1, sizeof *made);
  char *absolute = tdt__path_absolute(root);
  if (made == NULL || absolute == NULL) {
    free(absolute);
    free(made);
    return tdt__fail_memory(error);
  }
  made->root = absolute;
  tdt__said_init(&made->said);
  *store = made;
  return TDT_OK;
}

void tdt_store_close(tdt_store *store) {
  if (store != NULL) {
    tdt__said_clear(&store->said);
    free(store->root);
    free(store);
  }
}

const char *tdt_store_root(const tdt_store *store) {
  return store->root;
}

bool tdt__store_first_time(tdt_store *store, const char *what) {
  return tdt__said_first_time(&store->said, what);
}

tdt_status tdt_store_path(const tdt_store *store, const tdt_identity *identity, char **path,
                          tdt_error *error) {
  tdt__place place;
  tdt_status status = tdt__place_find(identity, &place, error);
  if (status != TDT_OK) {
    return status;
  }
  char *made = tdt__place_path(&place, store->root, RECORD);
  tdt__place_leave(&place);
  if (made == NULL) {
    return tdt__fail_memory(error);
  }
  *path = made;
  return TDT_OK;
}

static tdt_status open_folder(const tdt_store *store, const tdt__place *place, bool create,
                              int *folder, tdt_error *error) {
  int root = -1;
  tdt_status status = tdt__root_open(store->root, create, &root, error);
  if (status == TDT_OK) {
    status = tdt__folder_open_in(root, place->folder, create, folder, error);
    status = tdt__path_blame(store->root, status, error);
    (void)close(root);
  }
  return status;
}

static tdt_status load_once(const tdt_store *store, const tdt__place *place, const char *path,
                            tdt_record **record, tdt_error *error) {
  int folder = -1;
  tdt_status status = open_folder(store, place, false, &folder, error);
  if (status == TDT_OK) {
    status = tdt__record_load_in(folder, strrchr(path, '/') + 1, path, record, error);
    (void)close(folder);
  }
  return status;
}

/* On a network disk a file that was replaced this moment may be stale, or not there yet. Asking
 * again from the root on asks the server. */
static tdt_status load_patiently(const tdt_store *store, const tdt__place *place, const char *path,
                                 tdt_record **record, tdt_error *error) {
  tdt_status status = load_once(store, place, path, record, error);
  for (int more = 2; more > 0 && (status == TDT_EIO || status == TDT_ENOENT); more--) {
    status = load_once(store, place, path, record, error);
  }
  return status;
}

static tdt_status load(const tdt_store *store, const tdt__place *place, tdt_record **record,
                       tdt_error *error) {
  char *path = tdt__place_path(place, store->root, RECORD);
  if (path == NULL) {
    return tdt__fail_memory(error);
  }
  tdt_record *found = NULL;
  tdt_status status = load_patiently(store, place, path, &found, error);
  if (status == TDT_OK && !tdt__identity_equal(&found->identity, &place->identity)) {
    tdt_record_destroy(found);
    status = tdt__fail(error, TDT_ENOENT, "%s: the record of another identity", path);
  }
  free(path);
  if (status == TDT_OK) {
    *record = found;
  }
  return status;
}

tdt_status tdt_store_load(tdt_store *store, const tdt_identity *identity, tdt_record **record,
                          tdt_error *error) {
  tdt__place place;
  tdt_status status = tdt__place_find(identity, &place, error);
  if (status == TDT_OK) {
    status = load(store, &place, record, error);
    tdt__place_leave(&place);
  }
  return status;
}

/* What is no file cannot be kept by a second name, nor be written over if it is a folder. As it
 * never was a record, nobody minds that its place is empty for a moment. */
static void move_aside(int folder, const char *name, const char *keep_as) {
  struct stat facts;
  if (fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(facts.st_mode)) {
    (void)renameat(folder, name, folder, keep_as);
  }
}

static tdt_status put_once(const tdt_store *store, const tdt__place *place, const char *name,
                           const char *text, const char *keep_as, tdt_error *error) {
  int folder = -1;
  tdt_status status = open_folder(store, place, true, &folder, error);
  if (status != TDT_OK) {
    return status;
  }
  if (keep_as != NULL) {
    move_aside(folder, name, keep_as);
  }
  status = tdt__file_replace(folder, name, text, strlen(text), keep_as, error);
  (void)close(folder);
  return tdt__path_blame(store->root, status, error);
}

/* Twice: somebody may clear the folder away in between, or a network disk be busy for a moment. */
static tdt_status put(const tdt_store *store, const tdt__place *place, const char *name,
                      const char *text, const char *keep_as, tdt_error *error) {
  tdt_status status = put_once(store, place, name, text, keep_as, error);
  if (status == TDT_EIO) {
    status = put_once(store, place, name, text, keep_as, error);
  }
  return status;
}

static tdt_status put_record(const tdt_store *store, const tdt__place *place, const char *text,
                             tdt_error *error) {
  char ending[sizeof RECORD "-" + TDT__DATE_SIZE] = RECORD "-";
  tdt__clock_stamp(ending + strlen(ending));
  char *name = tdt__place_name(place, RECORD);
  char *keep_as = tdt__place_name(place, ending);
  tdt_status status = name == NULL || keep_as == NULL
                          ? tdt__fail_memory(error)
                          : put(store, place, name, text, keep_as, error);
  free(keep_as);
  free(name);
  return status;
}

static tdt_status check_size(const char *text, tdt_error *error) {
  size_t size = strlen(text);
  if (size > TDT__RECORD_LIMIT) {
    return tdt__fail(error, TDT_EINVAL, "a record of %zu bytes; at most %u can be read back", size,
                     TDT__RECORD_LIMIT);
  }
  return TDT_OK;
}

tdt_status tdt_store_save(tdt_store *store, const tdt_record *record, tdt_error *error) {
  tdt__place place;
  tdt_status status = tdt__place_find(&record->identity, &place, error);
  if (status != TDT_OK) {
    return status;
  }
  char *text = NULL;
  status = tdt__record_text(record, &text, error);
  if (status == TDT_OK) {
    status = check_size(text, error);
  }
  if (status == TDT_OK) {
    status = put_record(store, &place, text, error);
  }
  free(text);
  tdt__place_leave(&place);
  return status;
}

tdt_status tdt__store_save_beside(tdt_store *store, const tdt_identity *identity,
                                  const char *suffix, const char *text, tdt_error *error) {
  tdt__place place;
  tdt_status status = tdt__place_find(identity, &place, error);
  if (status != TDT_OK) {
    return status;
  }
  tdt__text name = TDT__TEXT_INIT;
  tdt__text_format(&name, "%s.%s", place.digest, suffix);
  char *taken = tdt__text_take(&name);
  status = taken == NULL ? tdt__fail_memory(error) : put(store, &place, taken, text, NULL, error);
  free(taken);
  tdt__place_leave(&place);
  return status;
}

static tdt_status lock_in(const tdt_store *store, const tdt__place *place, tdt__file_lock *lock,
                          bool *taken, tdt_error *error) {
  int folder = -1;
  tdt_status status = open_folder(store, place, true, &folder, error);
  if (status == TDT_OK) {
    status = tdt__file_lock_try(folder, tdt__place_number(place), lock, taken, error);
    status = tdt__path_blame(store->root, status, error);
    (void)close(folder);
  }
  return status;
}

tdt_status tdt__store_lock_try(tdt_store *store, const tdt_identity *identity, tdt__file_lock *lock,
                               bool *taken, tdt_error *error) {
  tdt__place place;
  tdt_status status = tdt__place_find(identity, &place, error);
  if (status == TDT_OK) {
    status = lock_in(store, &place, lock, taken, error);
    tdt__place_leave(&place);
  }
  return status;
}
