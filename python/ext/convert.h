/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_CONVERT_H
#define TDT_EXT_CONVERT_H

#include "compat.h"

#include <tdtune/status.h>

/* Text of the library as str; bytes that are no UTF-8 are replaced. */
PyObject *text_to_str(const char *text);

/* The UTF-8 of a str, borrowed from it. NULL with ValueError if it holds a NUL; `what` says in the
 * message what it is. */
const char *text_from_str(PyObject *str, const char *what);

/* Raises what `error` says, with `cause` (may be NULL) as its cause, and clears the error.
 * Returns -1. */
int raise_status(tdt_error *error, PyObject *cause);

/* The exception being raised, normalized and with its traceback; none is raised afterwards. */
PyObject *exception_take(void);

/* Raises it again, traceback and all. Steals it. */
void exception_raise(PyObject *exception);

/* The exception that an `except` block further out is handling, NULL if none: a new reference. */
PyObject *exception_handled(void);

/*
 * Lets go of the frames that the exception, its causes and its contexts hold, and of all that is
 * in them. `outer` (may be NULL) and what comes after it belong to somebody else and stay.
 */
void exception_forget_frames(PyObject *exception, PyObject *outer);

/* "TypeName: message", cut to a length that a record can bear. */
PyObject *exception_summary(PyObject *exception);

/* Writes the exception's summary into `error` and returns `code`. */
tdt_status exception_to_error(PyObject *exception, tdt_status code, tdt_error *error);

/* Adds a note to an exception; where that fails the note is lost. Steals `note` (may be NULL with
 * an error set, which is then cleared). */
void exception_note(PyObject *exception, PyObject *note);

#endif
