/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_MISS_H
#define TDT_EXT_MISS_H

#include "compat.h"

#include <tdtune/tdtune.h>

#include "call.h"

/*
 * One call of tdt_tuner_resolve() for a Python call. The engine runs without the interpreter lock
 * and its callbacks take the lock back.
 *
 * From the first launch of a candidate to its end the callbacks keep the lock between them, as a
 * loop in Python would: handing it over between "start the clock" and "launch" would add another
 * thread's turn (5 ms) to the time. miss_leave() gives it back wherever the engine may wait.
 */
typedef struct Miss {
  AutoTuner *tuner; /* this and `call`: NULL in a session, see session.h */
  const Call *call;
  PyThreadState *thread; /* of the caller, while it does not have the lock */
  bool has_lock;
  PyObject *handled; /* what an `except` further out handles; or NULL */
  PyObject *failure; /* of the last candidate that failed, without its frames; or NULL */
  PyObject *stop;    /* an exception that ends the tuning and is the caller's; or NULL */
  PyObject *place;   /* the device object; None: the host's clock */
} Miss;

void miss_enter(Miss *miss); /* nothing, if it has the lock */
void miss_leave(Miss *miss); /* nothing, if it has not */

/*
 * Takes the exception that is raised. An Exception is the candidate's failure: kept without its
 * frames, TDT_ELAUNCH with its text. Anything else (KeyboardInterrupt) is to end the tuning:
 * TDT_ESTOPPED. With the lock.
 */
tdt_status miss_fail(Miss *miss, tdt_error *error);

/* Takes the exception that is raised and ends the tuning with it, whatever it is. With the lock. */
tdt_status miss_stop(Miss *miss, tdt_error *error);

/* TDT_ESTOPPED if something has ended the tuning. With or without the lock. */
tdt_status miss_stopped(const Miss *miss, tdt_error *error);

/* Lets go of what it holds. With the lock. */
void miss_clear(Miss *miss);

#endif
