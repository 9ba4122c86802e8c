/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_AUTOTUNER_TYPE_H
#define TDT_EXT_AUTOTUNER_TYPE_H

#include "compat.h"

/* The type AutoTuner. */
PyTypeObject *autotuner_type_create(PyObject *module);

#endif
