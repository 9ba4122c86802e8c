/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_SESSION_H
#define TDT_EXT_SESSION_H

#include "compat.h"

#include <tdtune/session.h>

#include "board.h"
#include "crossing.h"
#include "place.h"
#include "tunable.h"

/*
 * One session of the engine for one call of a ContextualAutoTuner. It runs with the interpreter
 * lock: whatever waits in it (marks, ranks) is Python's and gives the lock up by itself. Only the
 * device's callbacks may hand it over for a moment, so that every callback begins with
 * crossing_enter(), and so does the way back from the engine.
 */
typedef struct Session {
  PyObject_HEAD Crossing crossing;
  Place place;
  Board board;
  tdt_session *engine;
  PyObject *name;       /* of the outer function, for the engine's messages */
  PyObject *on_log;     /* takes a line */
  PyObject *on_decided; /* takes kernel, key, winner, candidates */
  PyObject *outer;      /* while it runs */
  PyObject *result;     /* of the pass that ended last */
  PyObject *raised;     /* by the outer function */
} Session;

/* A launch of the outer function's; see Session.launch. */
typedef struct Launch {
  Session *session;
  PyObject *job;
} Launch;

/* The engine's callbacks; `user` is the session, and for launches a Launch. */
tdt_status session_on_outer(void *user, tdt_error *error);
tdt_status session_on_before(void *user, size_t candidate, bool marked, tdt_error *error);
tdt_status session_on_launch(void *user, size_t candidate, tdt_error *error);
void session_on_log(void *user, tdt_log_level level, const char *message);
void session_on_decided(void *user, const tdt_session_tuning *tuning);
tdt_status session_on_poll(void *user, tdt_error *error);

/* The type Session. */
PyTypeObject *session_type_create(PyObject *module);

#endif
