/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_FRONT_H
#define TDT_EXT_FRONT_H

#include "compat.h"

#include "state.h"

/*
 * The front table: a dict from a business key, as the key function returned it, to the winner. It
 * is a shortcut before the engine's memory, which knows keys by their text. Python calls 1, 1.0
 * and True equal; their texts differ, and so do they here: an entry of the dict holds the
 * different keys that are equal, each with its winner.
 *
 * Keys for which "equal and of the same type" may not mean "described alike" (those that hold a
 * set, a NaN or an object of a user's class) are never in it. Nor are those that hold an object
 * which equals none but itself, such as a function: key functions may make a new one for every
 * call, and the table would hold them all.
 */

/* 1: *candidate is the winner; 0: not here (no error set); -1: the key's own code failed. */
int front_find(PyObject *front, PyObject *key, size_t *candidate);

/* Remembers a winner if the key may be in the table. -1: the key's own code failed. */
int front_add(const ModuleState *state, PyObject *front, PyObject *key, size_t candidate);

#endif
