/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_TUNABLE_H
#define TDT_EXT_TUNABLE_H

#include "compat.h"

#include <tdtune/space.h>

/* What a session tunes: a kernel with one key, and its candidates. Never changes. */
typedef struct Tunable {
  PyObject_HEAD PyObject *kernel_str;
  PyObject *key_str;
  const char *kernel; /* of kernel_str */
  const char *key;    /* of key_str */
  tdt_space *space;
} Tunable;

/* The type Tunable. */
PyTypeObject *tunable_type_create(PyObject *module);

#endif
