/* SPDX-License-Identifier: MIT */
/* Open MPI and what is made of it: handles are pointers, predefined ones point to objects that the
 * library exports. */
#include <dlfcn.h>

#include "base/error.h"

typedef void *handle;

static void *const status_ignore = NULL;
static void *const in_place = (void *)1; /* NOLINT(performance-no-int-to-ptr) */

#define FIELD pointer
#include "group/mpi_binding.h"

static bool is_of(void *library) {
  return dlsym(library, "ompi_mpi_comm_world") != NULL;
}

static tdt_status find(const tdt__mpi *mpi, const char *name, tdt__mpi_handle *object,
                       tdt_error *error) {
  object->pointer = dlsym(mpi->library, name);
  if (object->pointer == NULL) {
    return tdt__fail(error, TDT_EGROUP, "MPI library %s has no symbol %s", mpi->name, name);
  }
  return TDT_OK;
}

static tdt_status find_constants(tdt__mpi *mpi, tdt_error *error) {
  const struct {
    const char *name;
    tdt__mpi_handle *where;
  } objects[] = {
      {"ompi_mpi_comm_world", &mpi->constants.comm_world},
      {"ompi_mpi_comm_null", &mpi->constants.comm_null},
      {"ompi_mpi_byte", &mpi->constants.type_byte},
      {"ompi_mpi_double", &mpi->constants.type_double},
      {"ompi_mpi_op_max", &mpi->constants.op_max},
      {"ompi_mpi_errors_return", &mpi->constants.errors_return},
  };
  tdt_status status = TDT_OK;
  for (size_t i = 0; status == TDT_OK && i < sizeof objects / sizeof objects[0]; i++) {
    status = find(mpi, objects[i].name, objects[i].where, error);
  }
  return status;
}

const tdt__mpi_abi tdt__mpi_openmpi = {
    .is_of = is_of,
    .find_constants = find_constants,
    BINDING,
};
