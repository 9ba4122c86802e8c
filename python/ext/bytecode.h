/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_BYTECODE_H
#define TDT_EXT_BYTECODE_H

#include "compat.h"

/* look_ups(code, letters): what bytecode looks up by name, for tdtune.names. */
extern PyMethodDef bytecode_methods[];

#endif
