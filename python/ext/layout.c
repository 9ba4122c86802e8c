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

static void forget(LayoutType *known) {
  LayoutType old = *known;
  *known = (LayoutType){0};
  Py_XDECREF(old.type);
  Py_XDECREF(old.shape);
  Py_XDECREF(old.stride);
  Py_XDECREF(old.dtype);
}

int layouts_traverse(Layouts *layouts, visitproc visit, void *arg) {
  Py_VISIT(layouts->kind_of);
  for (unsigned i = 0; i < LAYOUT_KNOWN; i++) {
    Py_VISIT(layouts->known[i].type);
    Py_VISIT(layouts->known[i].shape);
    Py_VISIT(layouts->known[i].stride);
    Py_VISIT(layouts->known[i].dtype);
  }
  return 0;
}

void layouts_clear(Layouts *layouts) {
  for (unsigned i = 0; i < LAYOUT_KNOWN; i++) {
    forget(&layouts->known[i]);
  }
  Py_CLEAR(layouts->kind_of);
  Py_CLEAR(layouts->shape);
  Py_CLEAR(layouts->stride);
  Py_CLEAR(layouts->strides);
  Py_CLEAR(layouts->dtype);
}

/* A type's attribute if it is a descriptor of that kind; NULL without an error if not. */
static PyObject *descriptor(PyTypeObject *type, PyObject *name, const PyTypeObject *kind) {
  PyObject *found = PyObject_GetAttr((PyObject *)type, name);
  if (found == NULL) {
    PyErr_Clear();
  } else if (Py_TYPE(found) != kind) {
    Py_CLEAR(found);
  }
  return found;
}

static int ask_kind(const Layouts *layouts, PyTypeObject *type, LayoutKind *kind) {
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
  return 0;
}

/* An entry for a type that has none yet; NULL with an error set. */
static const LayoutType *learn(Layouts *layouts, PyTypeObject *type) {
  LayoutType made = {0};
  if (ask_kind(layouts, type, &made.kind) < 0) {
    return NULL;
  }
  made.type = (PyTypeObject *)Py_NewRef((PyObject *)type);
  if (made.kind != LAYOUT_VALUE) {
    made.shape = descriptor(type, layouts->shape, &PyGetSetDescr_Type);
    made.dtype = descriptor(type, layouts->dtype, &PyGetSetDescr_Type);
    made.stride = made.kind == LAYOUT_STRIDE
                      ? descriptor(type, layouts->stride, &PyMethodDescr_Type)
                      : descriptor(type, layouts->strides, &PyGetSetDescr_Type);
  }
  LayoutType *place = &layouts->known[layouts->next];
  layouts->next = (layouts->next + 1) % LAYOUT_KNOWN;
  LayoutType old = *place;
  *place = made;
  forget(&old);
  return place;
}

static inline const LayoutType *find(Layouts *layouts, PyTypeObject *type) {
  for (unsigned i = 0; i < LAYOUT_KNOWN; i++) {
    if (layouts->known[i].type == type) {
      return &layouts->known[i];
    }
  }
  return learn(layouts, type);
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

static inline PyObject *attribute(PyObject *value, PyObject *found, PyObject *name) {
  return found == NULL ? PyObject_GetAttr(value, name)
                       : Py_TYPE(found)->tp_descr_get(found, value, (PyObject *)Py_TYPE(value));
}

static PyObject *ask_stride(const Layouts *layouts, PyObject *tensor, LayoutKind kind,
                            PyObject *found) {
  if (kind == LAYOUT_STRIDES) {
    return attribute(tensor, found, layouts->strides);
  }
  PyObject *args[] = {NULL, tensor};
  const size_t nargsf = 1 | PY_VECTORCALL_ARGUMENTS_OFFSET;
  return found == NULL ? PyObject_VectorcallMethod(layouts->stride, args + 1, nargsf, NULL)
                       : PyObject_Vectorcall(found, args + 1, nargsf, NULL);
}

/* By value: what is asked may run Python code, and that may take the entry's place. */
static PyObject *layout_of_tensor(const Layouts *layouts, PyObject *tensor, LayoutType type) {
  PyObject *shape = plain_tuple(attribute(tensor, type.shape, layouts->shape));
  PyObject *stride =
      shape == NULL ? NULL : plain_tuple(ask_stride(layouts, tensor, type.kind, type.stride));
  PyObject *dtype = stride == NULL ? NULL : attribute(tensor, type.dtype, layouts->dtype);
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
  const LayoutType *type = find(layouts, Py_TYPE(value));
  if (type == NULL) {
    return NULL;
  }
  return type->kind == LAYOUT_VALUE ? Py_NewRef(value) : layout_of_tensor(layouts, value, *type);
}
