/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_VECTORCALL_H
#define TDT_EXT_VECTORCALL_H

#include "compat.h"

/* The vectorcall of a tuner. */
PyObject *autotuner_vectorcall(PyObject *callable, PyObject *const *args, size_t nargsf,
                               PyObject *kwnames);

#endif
