/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_COMPAT_H
#define TDT_EXT_COMPAT_H

/* First of all includes in every file of this folder. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <stdbool.h>
#include <stddef.h>

/* ISO C has no way from a function to a void pointer; every platform of CPython does. */
#define SLOT(function) __extension__(void *)(function)

/* A method with more parameters than PyCFunction names. */
#define METHOD(function) ((PyCFunction)(void (*)(void))(function))

#endif
