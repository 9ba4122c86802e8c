/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include "layout.h"

static int intern(PyObject **name, const char *text) {
  *name = PyUnicode_InternFromString(text);
  return *name == NULL ? -1 : 0;
}

int layouts_init(Layouts *layouts, PyObject *kind_of) {
  layouts->kind_of = Py_NewRef(kind_of);
  if (intern(&layouts->shape, "shape") < 0 || intern(&layouts->stride, "stride") < 0) {
    return -1;
  }
  return intern(&layouts->strides, "strides") < 0 ? -1 : intern(&layouts->dtype, "dtype");
}

int layouts_traverse(Layouts *layouts, visitproc visit, void *arg) {
  Py_VISIT(layouts->kind_of);
  for (unsigned i = 0; i < LAYOUT_KNOWN; i++) {
    Py_VISIT(layouts->types[i]);
  }
  return 0;
}

void layouts_clear(Layouts *layouts) {
  for (unsigned i = 0; i < LAYOUT_KNOWN; i++) {
    Py_CLEAR(layouts->types[i]);
  }
  Py_CLEAR(layouts->kind_of);
  Py_CLEAR(layouts->shape);
  Py_CLEAR(layouts->stride);
  Py_CLEAR(layouts->strides);
  Py_CLEAR(layouts->dtype);
}

/* The kind of a type that is not known yet. */
static int ask_kind(Layouts *layouts, PyTypeObject *type, LayoutKind *kind) {
  PyObject *answer = PyObject_CallOneArg(layouts->kind_of, (PyObject *)type);
  if (answer == NULL) {
    return -1;
  }
  long number = PyLong_AsLong(answer);
  Py_DECREF(answer);
  if (number < 0 || number >= N_LAYOUT_KINDS) {
    if (!PyErr_Occurred()) {
      PyErr_Format(PyExc_ValueError, "%ld is no kind of layout", number);
    }
    return -1;
  }
  *kind = (LayoutKind)number;
  unsigned at = layouts->next;
  layouts->next = (at + 1) % LAYOUT_KNOWN;
  layouts->kinds[at] = *kind;
  Py_XSETREF(layouts->types[at], (PyTypeObject *)Py_NewRef((PyObject *)type));
  return 0;
}

static inline int find_kind(Layouts *layouts, PyTypeObject *type, LayoutKind *kind) {
  for (unsigned i = 0; i < LAYOUT_KNOWN; i++) {
    if (layouts->types[i] == type) {
      *kind = layouts->kinds[i];
      return 0;
    }
  }
  return ask_kind(layouts, type, kind);
}

/* torch.Size is a tuple by another name, and would be another key. Steals `sizes`, which may be
 * NULL. */
static PyObject *plain_tuple(PyObject *sizes) {
  if (sizes == NULL || PyTuple_CheckExact(sizes)) {
    return sizes;
  }
  PyObject *plain = PyTuple_Check(sizes) ? PyTuple_GetSlice(sizes, 0, PyTuple_GET_SIZE(sizes))
                                         : PySequence_Tuple(sizes);
  Py_DECREF(sizes);
  return plain;
}

static PyObject *ask_stride(const Layouts *layouts, PyObject *tensor, LayoutKind kind) {
  if (kind == LAYOUT_STRIDES) {
    return PyObject_GetAttr(tensor, layouts->strides);
  }
  PyObject *args[] = {NULL, tensor};
  return PyObject_VectorcallMethod(layouts->stride, args + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                   NULL);
}

static PyObject *layout_of_tensor(const Layouts *layouts, PyObject *tensor, LayoutKind kind) {
  PyObject *shape = plain_tuple(PyObject_GetAttr(tensor, layouts->shape));
  PyObject *stride = shape == NULL ? NULL : plain_tuple(ask_stride(layouts, tensor, kind));
  PyObject *dtype = stride == NULL ? NULL : PyObject_GetAttr(tensor, layouts->dtype);
  PyObject *layout = dtype == NULL ? NULL : PyTuple_New(3);
  if (layout == NULL) {
    Py_XDECREF(dtype);
    Py_XDECREF(stride);
    Py_XDECREF(shape);
    return NULL;
  }
  PyTuple_SET_ITEM(layout, 0, shape);
  PyTuple_SET_ITEM(layout, 1, stride);
  PyTuple_SET_ITEM(layout, 2, dtype);
  return layout;
}

PyObject *layout_of(Layouts *layouts, PyObject *value) {
  LayoutKind kind = LAYOUT_VALUE;
  if (find_kind(layouts, Py_TYPE(value), &kind) < 0) {
    return NULL;
  }
  return kind == LAYOUT_VALUE ? Py_NewRef(value) : layout_of_tensor(layouts, value, kind);
}
