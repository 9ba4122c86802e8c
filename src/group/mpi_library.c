/* SPDX-License-Identifier: MIT */
#include "group/mpi_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { ERROR_TEXT_SIZE = 512 + 1 }; /* MPI_MAX_ERROR_STRING of the greater, and a NUL */

tdt__mpi_symbol tdt__mpi_find(void *library, const char *name) {
  void *address = dlsym(library, name);
  tdt__mpi_symbol symbol = NULL;
  memcpy(&symbol, &address, sizeof symbol);
  return symbol;
}

/* The n-th loaded file whose name begins with "libmpi". */
struct search {
  size_t n_to_skip;
  char path[PATH_MAX]; /* "": there is none */
};

static int look_at(struct dl_phdr_info *info, size_t size, void *user) {
  (void)size;
  struct search *search = user;
  const char *slash = strrchr(info->dlpi_name, '/');
  const char *name = slash != NULL ? slash + 1 : info->dlpi_name;
  if (strncmp(name, "libmpi", 6) != 0 || strlen(info->dlpi_name) >= sizeof search->path) {
    return 0;
  }
  if (search->n_to_skip > 0) {
    search->n_to_skip--;
    return 0;
  }
  memcpy(search->path, info->dlpi_name, strlen(info->dlpi_name) + 1);
  return 1;
}

/* NULL where it is no MPI. */
static void *open_loaded(const char *path) {
  void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (library != NULL && dlsym(library, "MPI_Initialized") == NULL) {
    (void)dlclose(library);
    library = NULL;
  }
  return library;
}

/* What the program is linked with or has opened for all comes first. Else it may be what a part of
 * it has opened for itself, as an extension of an interpreter does. */
static void *find_loaded(void) {
  void *library = open_loaded(NULL);
  bool more = true;
  for (size_t n = 0; library == NULL && more; n++) {
    /* Nothing is opened while the loader walks its list: another thread may be inside dlopen(). */
    struct search search = {.n_to_skip = n};
    more = dl_iterate_phdr(look_at, &search) != 0;
    library = more ? open_loaded(search.path) : NULL;
  }
  return library;
}

static tdt_status open_library(const char *file_name, void **library, tdt_error *error) {
  if (file_name == NULL) {
    *library = find_loaded();
    return *library != NULL
               ? TDT_OK
               : tdt__fail(error, TDT_EGROUP, "this program has loaded no MPI library");
  }
  *library = dlopen(file_name, RTLD_LAZY | RTLD_LOCAL);
  if (*library == NULL) {
    return tdt__fail(error, TDT_EGROUP, "MPI library %s cannot be opened: %s", file_name,
                     dlerror());
  }
  return TDT_OK;
}

/* The file that the functions are from. */
static char *file_of(void *library, const char *file_name) {
  Dl_info info;
  void *function = dlsym(library, "MPI_Initialized");
  if (function != NULL && dladdr(function, &info) != 0 && info.dli_fname != NULL) {
    file_name = info.dli_fname;
  }
  return strdup(file_name != NULL ? file_name : "of this program");
}

static tdt_status find_symbols(tdt__mpi *mpi, tdt_error *error) {
#define FIND(symbol, needed)                                                                       \
  mpi->symbols.symbol = tdt__mpi_find(mpi->library, "MPI_" #symbol);                               \
  if ((needed) && mpi->symbols.symbol == NULL) {                                                   \
    return tdt__fail(error, TDT_EGROUP, "MPI library %s has no symbol MPI_" #symbol, mpi->name);   \
  }
  TDT__MPI_SYMBOLS(FIND)
#undef FIND
  return TDT_OK;
}

static tdt_status find_abi(tdt__mpi *mpi, tdt_error *error) {
  const tdt__mpi_abi *const abis[] = {&tdt__mpi_openmpi, &tdt__mpi_mpich};
  for (size_t i = 0; i < sizeof abis / sizeof abis[0]; i++) {
    if (abis[i]->is_of(mpi->library)) {
      mpi->abi = abis[i];
      return abis[i]->find_constants(mpi, error);
    }
  }
  return tdt__fail(error, TDT_EGROUP,
                   "MPI library %s has neither Open MPI's nor MPICH's binary interface", mpi->name);
}

tdt_status tdt__mpi_open(const char *file_name, tdt__mpi *mpi, tdt_error *error) {
  tdt__mpi found = {0};
  tdt_status status = open_library(file_name, &found.library, error);
  if (status != TDT_OK) {
    return status;
  }
  found.name = file_of(found.library, file_name);
  status = found.name != NULL ? find_symbols(&found, error) : tdt__fail_memory(error);
  if (status == TDT_OK) {
    status = find_abi(&found, error);
  }
  if (status != TDT_OK) {
    tdt__mpi_close(&found);
    return status;
  }
  *mpi = found;
  return TDT_OK;
}

void tdt__mpi_close(tdt__mpi *mpi) {
  free(mpi->name);
  if (mpi->library != NULL) {
    (void)dlclose(mpi->library);
  }
  *mpi = (tdt__mpi){0};
}

tdt_status tdt__mpi_check_running(const tdt__mpi *mpi, tdt_error *error) {
  int initialized = 0;
  int finalized = 0;
  (void)((int (*)(int *))mpi->symbols.Initialized)(&initialized);
  (void)((int (*)(int *))mpi->symbols.Finalized)(&finalized);
  if (initialized != 0 && finalized == 0) {
    return TDT_OK;
  }
  return tdt__fail(error, TDT_EGROUP, "MPI (%s) %s", mpi->name,
                   finalized != 0 ? "is finalized already"
                                  : "is not initialised: call MPI_Init() first");
}

tdt_status tdt__mpi_check(const tdt__mpi *mpi, const char *call, int code, tdt_error *error) {
  if (code == 0) {
    return TDT_OK;
  }
  char text[ERROR_TEXT_SIZE] = "";
  int size = 0;
  if (((int (*)(int, char *, int *))mpi->symbols.Error_string)(code, text, &size) != 0) {
    (void)snprintf(text, sizeof text, "error %d", code);
  }
  return tdt__fail(error, TDT_EGROUP, "MPI_%s failed: %s", call, text);
}
