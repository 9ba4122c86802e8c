/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include "by_layout.h"
#include "layout.h"

/* One of the named arguments: where a call may have it. */
typedef struct Part {
  PyObject *name;      /* interned */
  Py_ssize_t position; /* PY_SSIZE_T_MAX: never passed by position */
  PyObject *otherwise; /* the parameter's default; NULL: there is none */
  bool by_keyword;
} Part;

typedef struct ByLayout {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject *names; /* tuple of text */
  PyObject *owner; /* name of the function whose arguments are looked at; NULL: not bound */
  Part *parts;     /* as many as names, once bound; all of them or none */
  Layouts layouts;
} ByLayout;

/* Names from a ** dict may be copies of the ones we know. Borrowed; NULL: not among them. */
static PyObject *find_keyword(const Part *part, PyObject *const *values, PyObject *kwnames) {
  Py_ssize_t n = PyTuple_GET_SIZE(kwnames);
  for (Py_ssize_t i = 0; i < n; i++) {
    if (PyTuple_GET_ITEM(kwnames, i) == part->name) {
      return values[i];
    }
  }
  for (Py_ssize_t i = 0; i < n; i++) {
    if (PyUnicode_Compare(PyTuple_GET_ITEM(kwnames, i), part->name) == 0) {
      return values[i];
    }
  }
  return NULL;
}

/* Borrowed; NULL with TypeError if the call lacks it. */
static PyObject *find_argument(const ByLayout *self, const Part *part, PyObject *const *args,
                               Py_ssize_t n_args, PyObject *kwnames) {
  if (part->position < n_args) {
    return args[part->position];
  }
  PyObject *value = NULL;
  if (kwnames != NULL && part->by_keyword) {
    value = find_keyword(part, args + n_args, kwnames);
  }
  if (value == NULL) {
    value = part->otherwise;
  }
  if (value == NULL) {
    PyErr_Format(PyExc_TypeError, "%U() lacks the argument '%U', by which its results are kept",
                 self->owner, part->name);
  }
  return value;
}

static PyObject *key_part(ByLayout *self, const Part *part, PyObject *const *args,
                          Py_ssize_t n_args, PyObject *kwnames) {
  PyObject *value = find_argument(self, part, args, n_args, kwnames);
  return value == NULL ? NULL : layout_of(&self->layouts, value);
}

static PyObject *by_layout_vectorcall(PyObject *callable, PyObject *const *args, size_t nargsf,
                                      PyObject *kwnames) {
  ByLayout *self = (ByLayout *)callable;
  Py_ssize_t n_args = PyVectorcall_NARGS(nargsf);
  if (self->parts == NULL) {
    PyErr_Format(PyExc_TypeError,
                 "%R is a key function for autotune(), which tells it whose "
                 "arguments it names; it cannot be called by itself",
                 callable);
    return NULL;
  }
  Py_ssize_t n = PyTuple_GET_SIZE(self->names);
  if (n == 1) {
    return key_part(self, self->parts, args, n_args, kwnames);
  }
  PyObject *key = PyTuple_New(n);
  for (Py_ssize_t i = 0; key != NULL && i < n; i++) {
    PyObject *part = key_part(self, &self->parts[i], args, n_args, kwnames);
    if (part == NULL) {
      Py_CLEAR(key);
    } else {
      PyTuple_SET_ITEM(key, i, part);
    }
  }
  return key;
}

static PyObject *create(PyTypeObject *type, PyObject *names) {
  ByLayout *self = (ByLayout *)type->tp_alloc(type, 0);
  if (self != NULL) {
    self->vectorcall = by_layout_vectorcall;
    self->names = Py_NewRef(names);
  }
  return (PyObject *)self;
}

static int check_name(PyObject *names, Py_ssize_t at) {
  PyObject *name = PyTuple_GET_ITEM(names, at);
  if (!PyUnicode_Check(name)) {
    PyErr_Format(PyExc_TypeError, "by_layout() takes names of arguments, not %R", name);
    return -1;
  }
  for (Py_ssize_t i = 0; i < at; i++) {
    if (PyUnicode_Compare(PyTuple_GET_ITEM(names, i), name) == 0) {
      PyErr_Format(PyExc_ValueError, "by_layout() got the name %R twice", name);
      return -1;
    }
  }
  return 0;
}

static PyObject *by_layout_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  if (kwargs != NULL && PyDict_GET_SIZE(kwargs) > 0) {
    PyErr_SetString(PyExc_TypeError, "by_layout() takes names of arguments, no keywords");
    return NULL;
  }
  if (PyTuple_GET_SIZE(args) == 0) {
    PyErr_SetString(PyExc_TypeError, "by_layout() needs the name of at least one argument");
    return NULL;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++) {
    if (check_name(args, i) < 0) {
      return NULL;
    }
  }
  return create(type, args);
}

static int fill_part(Part *part, PyObject *name, PyObject *place) {
  Py_ssize_t position = 0;
  int by_keyword = 0;
  PyObject *otherwise = NULL;
  if (!PyTuple_Check(place)) {
    PyErr_Format(PyExc_TypeError, "a place is a tuple, not %R", place);
    return -1;
  }
  if (!PyArg_ParseTuple(place, "np|O:place", &position, &by_keyword, &otherwise)) {
    return -1;
  }
  part->name = Py_NewRef(name);
  PyUnicode_InternInPlace(&part->name);
  part->position = position < 0 ? PY_SSIZE_T_MAX : position;
  part->by_keyword = by_keyword != 0;
  part->otherwise = Py_XNewRef(otherwise);
  return 0;
}

static int fill_parts(ByLayout *self, PyObject *places) {
  Py_ssize_t n = PyTuple_GET_SIZE(self->names);
  if (PyTuple_GET_SIZE(places) != n) {
    PyErr_SetString(PyExc_ValueError, "names and places differ in number");
    return -1;
  }
  self->parts = PyMem_Calloc((size_t)n, sizeof(*self->parts));
  if (self->parts == NULL) {
    (void)PyErr_NoMemory();
    return -1;
  }
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *name = PyTuple_GET_ITEM(self->names, i);
    if (fill_part(&self->parts[i], name, PyTuple_GET_ITEM(places, i)) < 0) {
      return -1;
    }
  }
  return 0;
}

static PyObject *by_layout_bind(PyObject *object, PyObject *args) {
  PyObject *owner = NULL;
  PyObject *places = NULL;
  PyObject *kind_of = NULL;
  if (!PyArg_ParseTuple(args, "UO!O:bind", &owner, &PyTuple_Type, &places, &kind_of)) {
    return NULL;
  }
  ByLayout *bound = (ByLayout *)create(Py_TYPE(object), ((ByLayout *)object)->names);
  if (bound == NULL) {
    return NULL;
  }
  bound->owner = Py_NewRef(owner);
  if (layouts_init(&bound->layouts, kind_of) < 0 || fill_parts(bound, places) < 0) {
    Py_CLEAR(bound);
  }
  return (PyObject *)bound;
}

static int by_layout_traverse(PyObject *object, visitproc visit, void *arg) {
  ByLayout *self = (ByLayout *)object;
  Py_VISIT(Py_TYPE(self));
  for (Py_ssize_t i = 0; self->parts != NULL && i < PyTuple_GET_SIZE(self->names); i++) {
    Py_VISIT(self->parts[i].otherwise);
  }
  return layouts_traverse(&self->layouts, visit, arg);
}

/* No clear: what it holds was there before it and is not changed afterwards, so whatever refers
 * back to it can be cleared itself. */
static void by_layout_dealloc(PyObject *object) {
  ByLayout *self = (ByLayout *)object;
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  for (Py_ssize_t i = 0; self->parts != NULL && i < PyTuple_GET_SIZE(self->names); i++) {
    Py_XDECREF(self->parts[i].name);
    Py_XDECREF(self->parts[i].otherwise);
  }
  PyMem_Free(self->parts);
  layouts_clear(&self->layouts);
  Py_CLEAR(self->owner);
  Py_CLEAR(self->names);
  type->tp_free(self);
  Py_DECREF(type);
}

static PyObject *by_layout_repr(PyObject *object) {
  const ByLayout *self = (ByLayout *)object;
  PyObject *comma = PyUnicode_FromString(", ");
  PyObject *quoted = PyList_New(0);
  for (Py_ssize_t i = 0; quoted != NULL && i < PyTuple_GET_SIZE(self->names); i++) {
    PyObject *name = PyObject_Repr(PyTuple_GET_ITEM(self->names, i));
    if (name == NULL || PyList_Append(quoted, name) < 0) {
      Py_CLEAR(quoted);
    }
    Py_XDECREF(name);
  }
  PyObject *joined = comma == NULL || quoted == NULL ? NULL : PyUnicode_Join(comma, quoted);
  PyObject *repr = NULL;
  if (joined != NULL) {
    repr = self->owner == NULL ? PyUnicode_FromFormat("by_layout(%U)", joined)
                               : PyUnicode_FromFormat("by_layout(%U) of %U", joined, self->owner);
  }
  Py_XDECREF(joined);
  Py_XDECREF(quoted);
  Py_XDECREF(comma);
  return repr;
}

PyDoc_STRVAR(bind_doc,
             "bind($self, owner, places, kind_of, /)\n--\n\n"
             "The same for the arguments of one function, by name `owner`. A place for each name: "
             "(position or -1, whether by keyword, default if there is one). `kind_of` says of a "
             "type whether it is a tensor's; see `tdtune.layout`.");

static PyMethodDef by_layout_methods[] = {
    {"bind", by_layout_bind, METH_VARARGS, bind_doc},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef by_layout_members[] = {
    {"names", T_OBJECT_EX, offsetof(ByLayout, names), READONLY, "of the arguments: a tuple"},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(ByLayout, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

PyDoc_STRVAR(by_layout_doc, "ByLayout(*names)\n--\n\n"
                            "A key function: the layouts of the tensors, and the values of the "
                            "other arguments, that have these names. See tdtune.by_layout().");

static PyType_Slot by_layout_slots[] = {
    {Py_tp_doc, __extension__(void *) by_layout_doc},
    {Py_tp_new, SLOT(by_layout_new)},
    {Py_tp_dealloc, SLOT(by_layout_dealloc)},
    {Py_tp_traverse, SLOT(by_layout_traverse)},
    {Py_tp_repr, SLOT(by_layout_repr)},
    {Py_tp_call, SLOT(PyVectorcall_Call)},
    {Py_tp_methods, by_layout_methods},
    {Py_tp_members, by_layout_members},
    {0, NULL},
};

static PyType_Spec by_layout_spec = {
    .name = "tdtune._native.ByLayout",
    .basicsize = sizeof(ByLayout),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = by_layout_slots,
};

PyTypeObject *by_layout_type_create(PyObject *module) {
  return (PyTypeObject *)PyType_FromModuleAndSpec(module, &by_layout_spec, NULL);
}
