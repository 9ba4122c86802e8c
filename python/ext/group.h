/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_GROUP_H
#define TDT_EXT_GROUP_H

#include "compat.h"

#include <tdtune/group.h>

/*
 * Ranks that tune together: a Python object that carries messages between them (the board, such as
 * a tdtune.torch_group.TorchGroup), and what this process knows of what was said. One for each
 * group and process; see tdtune.groups. Never changes but for what a reduction leaves, and the
 * counts, which the engine keeps.
 */
typedef struct Group {
  PyObject_HEAD PyObject *board;
  tdt_group_rounds *rounds;
  unsigned *numbers; /* n_ranks of them */
  unsigned rank;
  unsigned n_ranks;
  size_t n_values; /* of the reduction under way, which may outlast the call that began it */
} Group;

/* The type Group. */
PyTypeObject *group_type_create(PyObject *module);

#endif
