/* SPDX-License-Identifier: MIT */
#include "mpi_world.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

mpi_world world;

/* Tests have no use for going on without. */
static void must(bool good, const char *what) {
  if (!good) {
    (void)fprintf(stderr, "mpi_world: %s\n", what);
    abort();
  }
}

static const char *open_one_of(const char *const *names) {
  const int scope = getenv("TDTUNE_TEST_MPI_LOCAL") != NULL ? RTLD_LOCAL : RTLD_GLOBAL;
  while (*names != NULL && dlopen(*names, RTLD_NOW | scope) == NULL) {
    names++;
  }
  return *names;
}

bool mpi_world_open(void) {
  static const char *const openmpi[] = {"libmpi.so.40", "libmpi.so.80", "libmpi.so", NULL};
  static const char *const mpich[] = {"libmpich.so.12", "libmpi.so.12", "libmpi.so", NULL};
  const char *name = NULL;
  if (getenv("OMPI_COMM_WORLD_SIZE") != NULL) {
    name = open_one_of(openmpi);
  } else if (getenv("PMI_SIZE") != NULL) {
    name = open_one_of(mpich);
  } else {
    return false;
  }
  must(name != NULL, "the launcher's MPI library is not found");
  must(tdt__mpi_open(name, &world.mpi, NULL) == TDT_OK, "it cannot be used");
  return true;
}

static tdt__mpi_symbol find(const char *name) {
  const tdt__mpi_symbol symbol = tdt__mpi_find(world.mpi.library, name);
  must(symbol != NULL, name);
  return symbol;
}

static bool has_pointers(void) {
  return world.mpi.abi == &tdt__mpi_openmpi;
}

void mpi_world_init(void) {
  enum { THREAD_MULTIPLE = 3 };
  int provided = 0;
  must(((int (*)(int *, char ***, int, int *))find("MPI_Init_thread"))(NULL, NULL, THREAD_MULTIPLE,
                                                                       &provided) == 0,
       "MPI_Init_thread");
  const tdt__mpi *mpi = &world.mpi;
  must(mpi->abi->comm_rank(mpi, mpi->constants.comm_world, &world.rank) == 0, "MPI_Comm_rank");
  must(mpi->abi->comm_size(mpi, mpi->constants.comm_world, &world.n_ranks) == 0, "MPI_Comm_size");
}

void mpi_world_barrier(void) {
  const tdt__mpi_symbol barrier = find("MPI_Barrier");
  must((has_pointers() ? ((int (*)(void *))barrier)(world.mpi.constants.comm_world.pointer)
                       : ((int (*)(int))barrier)(world.mpi.constants.comm_world.number)) == 0,
       "MPI_Barrier");
}

tdt__mpi_handle mpi_world_split(int color, int key) {
  const tdt__mpi_symbol split = find("MPI_Comm_split");
  const tdt__mpi_handle all = world.mpi.constants.comm_world;
  tdt__mpi_handle part = {0};
  must((has_pointers()
            ? ((int (*)(void *, int, int, void **))split)(all.pointer, color, key, &part.pointer)
            : ((int (*)(int, int, int, int *))split)(all.number, color, key, &part.number)) == 0,
       "MPI_Comm_split");
  return part;
}

tdt__mpi_handle mpi_world_bridge(void) {
  enum { TAG = 3 };
  const tdt__mpi_symbol create = find("MPI_Intercomm_create");
  const tdt__mpi_handle all = world.mpi.constants.comm_world;
  const tdt__mpi_handle part = mpi_world_split(world.rank == 0, world.rank);
  const int other = world.rank == 0 ? 1 : 0;
  tdt__mpi_handle bridge = {0};
  must((has_pointers() ? ((int (*)(void *, int, void *, int, int, void **))create)(
                             part.pointer, 0, all.pointer, other, TAG, &bridge.pointer)
                       : ((int (*)(int, int, int, int, int, int *))create)(
                             part.number, 0, all.number, other, TAG, &bridge.number)) == 0,
       "MPI_Intercomm_create");
  return bridge;
}

const void *mpi_world_comm(const tdt__mpi_handle *comm) {
  return has_pointers() ? (const void *)&comm->pointer : (const void *)&comm->number;
}

void mpi_world_close(int n_failed) {
  if (n_failed == 0) {
    must(((int (*)(void))find("MPI_Finalize"))() == 0, "MPI_Finalize");
    return;
  }
  (void)fflush(NULL);
  const tdt__mpi_symbol end = find("MPI_Abort");
  if (has_pointers()) {
    (void)((int (*)(void *, int))end)(world.mpi.constants.comm_world.pointer, n_failed);
  } else {
    (void)((int (*)(int, int))end)(world.mpi.constants.comm_world.number, n_failed);
  }
}
