/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_TAKEOVER_H
#define TDT_EXT_TAKEOVER_H

#include "compat.h"

#include "state.h"

/*
 * One contextual tuner is active in a process at a time, and only while it is, methods of somebody
 * else's classes are replaced. Both are set and undone here: no code in Python runs between the end
 * of the call, however it comes about, and the last method that is put back. A signal cannot come
 * in between either.
 */

/* Makes `tuner` the active one. RuntimeError that names the one that is. */
int takeover_begin(ModuleState *state, PyObject *tuner);

/* Puts every method back and ends it. Keeps an exception that is raised. */
void takeover_end(ModuleState *state);

/* Replaces a method that a class itself has: a new entry for takeover_put_back(), NULL with an
 * error set. */
PyObject *takeover_replace(PyObject *cls, PyObject *name, PyObject *replacement);

/* Undoes it, unless somebody else has replaced the method meanwhile: then it is theirs. */
void takeover_put_back(PyObject *entry);

/* take_over(cls, name, replacement), for tdtune.contextual. */
extern PyMethodDef takeover_methods[];

#endif
