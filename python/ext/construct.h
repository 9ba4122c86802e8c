/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_CONSTRUCT_H
#define TDT_EXT_CONSTRUCT_H

#include "compat.h"

/* tp_new of AutoTuner. There is no tp_init, so a tuner cannot be set up twice. */
PyObject *autotuner_new(PyTypeObject *type, PyObject *args, PyObject *kwargs);

#endif
