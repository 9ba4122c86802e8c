/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_BY_LAYOUT_H
#define TDT_EXT_BY_LAYOUT_H

#include "compat.h"

/* The type ByLayout: a key function that names arguments, and is bound to a function's parameters
 * when that function is decorated. */
PyTypeObject *by_layout_type_create(PyObject *module);

#endif
