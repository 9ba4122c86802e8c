/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_FACTS_H
#define TDT_EXT_FACTS_H

#include "compat.h"

/* The functions of the module. */
extern PyMethodDef facts_methods[];

#endif
