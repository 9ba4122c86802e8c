/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_INJECT_H
#define TDT_EXT_INJECT_H

#include "compat.h"

#include "call.h"

/* Calls the function as this call does, with the candidate's fields added (but for those that the
 * call fixes). */
PyObject *inject_run(AutoTuner *self, const Call *call, const Candidate *candidate);

#endif
