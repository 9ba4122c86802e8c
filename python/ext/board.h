/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_BOARD_H
#define TDT_EXT_BOARD_H

#include "compat.h"

#include "crossing.h"
#include "group.h"

/*
 * A group in use by one call of the engine (or by one session): the engine's table of functions
 * over the board's methods, which are called through the call's crossing. Each gives the
 * interpreter lock back if it was not held before.
 *
 * An Exception of the board ends the tuning with TDT_EGROUP. Anything else (KeyboardInterrupt) is
 * kept in the crossing, and ends it with TDT_ESTOPPED.
 */
typedef struct Board {
  Crossing *crossing;
  Group *group; /* owned; NULL: this process alone */
  tdt_group engine;
} Board;

/* `group` is a Group, or None for this process alone; TypeError otherwise. Close it in any case. */
int board_open(Board *board, PyTypeObject *type, Crossing *crossing, PyObject *group);
void board_close(Board *board);

/*
 * tdt_group_withdraw(). What keeps the others from being told is ignored: they then learn it from
 * their deadline. -1: something that is no Exception was raised meanwhile, and is raised now.
 */
int board_withdraw(Group *group, const char *reason);

#endif
