/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_LAYOUT_H
#define TDT_EXT_LAYOUT_H

#include "compat.h"

/*
 * What an argument adds to a key: of a tensor its layout, (shape, stride, dtype), as to_hashable()
 * says it; of all else the value itself.
 */
typedef enum LayoutKind {
  LAYOUT_VALUE,   /* no tensor */
  LAYOUT_STRIDE,  /* has a method stride(), as torch's tensors */
  LAYOUT_STRIDES, /* has an attribute strides, as NumPy's arrays */
  N_LAYOUT_KINDS
} LayoutKind;

#define LAYOUT_KNOWN 8

/* A type whose kind has been asked for. Where its attributes are C's own, as with torch's tensors,
 * they are found once and not at each call. */
typedef struct LayoutType {
  PyTypeObject *type; /* NULL: no entry */
  LayoutKind kind;
  PyObject *shape;  /* descriptors, or NULL: to be looked for in each value */
  PyObject *stride; /* of the method or of the attribute `strides`, as the kind is */
  PyObject *dtype;
} LayoutType;

/* More types than fit take each other's place. */
typedef struct Layouts {
  PyObject *kind_of; /* says the LayoutKind of a type, as an int */
  LayoutType known[LAYOUT_KNOWN];
  unsigned next;                              /* to be replaced */
  PyObject *shape, *stride, *strides, *dtype; /* names */
} Layouts;

/* Fills an all-zero one. Clear it in any case. */
int layouts_init(Layouts *layouts, PyObject *kind_of);
int layouts_traverse(Layouts *layouts, visitproc visit, void *arg);
void layouts_clear(Layouts *layouts);

/* A new reference; NULL with an error set. */
PyObject *layout_of(Layouts *layouts, PyObject *value);

#endif
