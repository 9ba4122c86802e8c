/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include "candidates.h"
#include "convert.h"
#include "tunable.h"

static int set_up(Tunable *self, PyObject *kernel, PyObject *key, PyObject *configs) {
  self->kernel_str = Py_NewRef(kernel);
  self->key_str = Py_NewRef(key);
  self->kernel = text_from_str(kernel, "the name of a kernel");
  self->key = self->kernel == NULL ? NULL : text_from_str(key, "the description of a key");
  if (self->key == NULL) {
    return -1;
  }
  self->space = candidates_space(configs);
  return self->space == NULL ? -1 : 0;
}

static PyObject *tunable_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"kernel", "key", "configs", NULL};
  PyObject *kernel = NULL;
  PyObject *key = NULL;
  PyObject *configs = NULL;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "UUO!:Tunable", names, &kernel, &key,
                                   &PyTuple_Type, &configs)) {
    return NULL;
  }
  Tunable *self = (Tunable *)type->tp_alloc(type, 0);
  if (self != NULL && set_up(self, kernel, key, configs) < 0) {
    Py_CLEAR(self);
  }
  return (PyObject *)self;
}

static void tunable_dealloc(PyObject *object) {
  Tunable *self = (Tunable *)object;
  PyTypeObject *type = Py_TYPE(self);
  tdt_space_destroy(self->space);
  Py_CLEAR(self->kernel_str);
  Py_CLEAR(self->key_str);
  type->tp_free(self);
  Py_DECREF(type);
}

static PyMemberDef tunable_members[] = {
    {"kernel", T_OBJECT_EX, offsetof(Tunable, kernel_str), READONLY, "a name for it alone"},
    {"key", T_OBJECT_EX, offsetof(Tunable, key_str), READONLY, "the text of the key"},
    {NULL, 0, 0, 0, NULL},
};

PyDoc_STRVAR(tunable_doc, "Tunable(kernel, key, configs)\n--\n\n"
                          "What a session tunes: a kernel with one key, and for each candidate "
                          "the text of a JSON object.");

static PyType_Slot tunable_slots[] = {
    {Py_tp_doc, __extension__(void *) tunable_doc},
    {Py_tp_new, SLOT(tunable_new)},
    {Py_tp_dealloc, SLOT(tunable_dealloc)},
    {Py_tp_members, tunable_members},
    {0, NULL},
};

static PyType_Spec tunable_spec = {
    .name = "tdtune._native.Tunable",
    .basicsize = sizeof(Tunable),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = tunable_slots,
};

PyTypeObject *tunable_type_create(PyObject *module) {
  return (PyTypeObject *)PyType_FromModuleAndSpec(module, &tunable_spec, NULL);
}
