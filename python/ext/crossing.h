/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_CROSSING_H
#define TDT_EXT_CROSSING_H

#include "compat.h"

#include <tdtune/tdtune.h>

/*
 * The border between Python and the engine, for one thread and one call of the engine. The engine
 * runs without the interpreter lock and its callbacks take the lock back.
 *
 * From the first launch of a candidate to its end the callbacks keep the lock between them, as a
 * loop in Python would: handing it over between "start the clock" and "launch" would add another
 * thread's turn (5 ms) to the time. crossing_leave() gives it back wherever the engine may wait.
 */
typedef struct Crossing {
  PyThreadState *thread; /* of the caller, while it does not have the lock */
  bool has_lock;
  PyObject *handled; /* what an `except` further out handles; or NULL */
  PyObject *failure; /* of the last candidate that failed, without its frames; or NULL */
  PyObject *stop;    /* an exception that ends the tuning and is the caller's; or NULL */
} Crossing;

void crossing_enter(Crossing *crossing); /* nothing, if it has the lock */
void crossing_leave(Crossing *crossing); /* nothing, if it has not */

/*
 * Takes the exception that is raised. An Exception is the candidate's failure: kept without its
 * frames, TDT_ELAUNCH with its text. Anything else (KeyboardInterrupt) is to end the tuning:
 * TDT_ESTOPPED. With the lock.
 */
tdt_status crossing_fail(Crossing *crossing, tdt_error *error);

/* Takes the exception that is raised and ends the tuning with it, whatever it is. With the lock. */
tdt_status crossing_stop(Crossing *crossing, tdt_error *error);

/* TDT_ESTOPPED if something has ended the tuning. With or without the lock. */
tdt_status crossing_stopped(const Crossing *crossing, tdt_error *error);

/* Lets go of what it holds. With the lock. */
void crossing_clear(Crossing *crossing);

#endif
