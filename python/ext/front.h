/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_FRONT_H
#define TDT_EXT_FRONT_H

#include "compat.h"

/*
 * The front table: a dict from a business key, as the key function returned it, to the winner. It
 * is a shortcut before the engine's memory, which knows keys by their text. Python calls 1, 1.0
 * and True equal; their texts differ, and so do they here: an entry of the dict holds the
 * different keys that are equal, each with its winner.
 *
 * Keys for which "equal and of the same type" does not mean "described alike" (those that hold a
 * set, a dataclass or a NaN) are never in it.
 */

/* 1: *candidate is the winner; 0: not here (no error set); -1: the key's own code failed. */
int front_find(PyObject *front, PyObject *key, size_t *candidate);

/* Remembers a winner if the key may be in the table. -1: the key's own code failed. */
int front_add(PyObject *front, PyObject *key, size_t candidate);

#endif
