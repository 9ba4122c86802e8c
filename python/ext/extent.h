/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_EXTENT_H
#define TDT_EXT_EXTENT_H

#include "compat.h"

/* definition(text, line): where a function's text begins and ends in its file. */
extern PyMethodDef extent_methods[];

#endif
