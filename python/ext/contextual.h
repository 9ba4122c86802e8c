/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_CONTEXTUAL_H
#define TDT_EXT_CONTEXTUAL_H

#include "compat.h"

/* The type ContextualAutoTuner. */
PyTypeObject *contextual_type_create(PyObject *module);

#endif
