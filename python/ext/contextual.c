/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include "callable.h"
#include "contextual.h"
#include "state.h"
#include "takeover.h"

/* The callable. All is set at construction and stays; a call keeps nothing in it. */
typedef struct ContextualAutoTuner {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject *fn;
  PyObject *name;   /* of the function, for messages */
  PyObject *module; /* keeps `state` alive */
  ModuleState *state;
  unsigned n_repeat;
  unsigned n_warmup;
  char is_dist;
  PyObject *dict;
  PyObject *weakrefs;
} ContextualAutoTuner;

static PyObject *contextual_vectorcall(PyObject *callable, PyObject *const *values, size_t nargsf,
                                       PyObject *names) {
  ModuleState *state = ((ContextualAutoTuner *)callable)->state;
  Py_ssize_t n = PyVectorcall_NARGS(nargsf);
  PyObject *args[] = {callable, callable_positional(values, n),
                      callable_keywords(values + n, names)};
  PyObject *result = NULL;
  if (args[1] != NULL && args[2] != NULL && takeover_begin(state, callable) == 0) {
    result = cold_call(state, COLD_CONTEXTUAL, args, 3);
    takeover_end(state);
  }
  Py_XDECREF(args[1]);
  Py_XDECREF(args[2]);
  return result;
}

static int set_plan(ContextualAutoTuner *self, PyObject *is_dist, PyObject *n_repeat,
                    PyObject *n_warmup) {
  if (!PyBool_Check(is_dist)) {
    PyErr_Format(PyExc_TypeError, "is_dist is True or False, not %R%s", is_dist,
                 PyCallable_Check(is_dist) ? "; contextual_autotune is used with parentheses" : "");
    return -1;
  }
  self->is_dist = is_dist == Py_True ? 1 : 0;
  self->n_repeat = 5;
  self->n_warmup = 3;
  if (callable_parse_count(n_repeat, "n_repeat", 1, &self->n_repeat) < 0) {
    return -1;
  }
  return callable_parse_count(n_warmup, "n_warmup", 0, &self->n_warmup);
}

static int set_up(ContextualAutoTuner *self, PyTypeObject *type, PyObject *fn) {
  PyObject *module = PyType_GetModule(type);
  if (module == NULL) {
    return -1;
  }
  self->module = Py_NewRef(module);
  self->state = state_of(module);
  self->fn = Py_NewRef(fn);
  if (state_load_cold(self->state) < 0) {
    return -1;
  }
  self->name = cold_call(self->state, COLD_CONTEXTUAL_NAME, &fn, 1);
  if (self->name == NULL) {
    return -1;
  }
  if (!PyUnicode_Check(self->name)) {
    PyErr_SetString(PyExc_TypeError, "the name of a function is no text");
    return -1;
  }
  return callable_wrap((PyObject *)self, self->state, fn, self->name);
}

static PyObject *contextual_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"fn", "is_dist", "n_repeat", "n_warmup", NULL};
  PyObject *fn = NULL;
  PyObject *is_dist = Py_False;
  PyObject *n_repeat = Py_None;
  PyObject *n_warmup = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OOO:ContextualAutoTuner", names, &fn, &is_dist,
                                   &n_repeat, &n_warmup)) {
    return NULL;
  }
  ContextualAutoTuner *self = (ContextualAutoTuner *)type->tp_alloc(type, 0);
  if (self == NULL) {
    return NULL;
  }
  self->vectorcall = contextual_vectorcall;
  if (set_plan(self, is_dist, n_repeat, n_warmup) < 0 || set_up(self, type, fn) < 0) {
    Py_DECREF(self);
    return NULL;
  }
  return (PyObject *)self;
}

static int contextual_traverse(PyObject *object, visitproc visit, void *arg) {
  ContextualAutoTuner *self = (ContextualAutoTuner *)object;
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(self->fn);
  Py_VISIT(self->module);
  Py_VISIT(self->dict);
  return 0;
}

/* What refers back to a tuner was made after it, so it is reached through its dict or can be
 * cleared itself; what a call relies on stays to the end. */
static int contextual_clear(PyObject *object) {
  Py_CLEAR(((ContextualAutoTuner *)object)->dict);
  return 0;
}

static void contextual_dealloc(PyObject *object) {
  ContextualAutoTuner *self = (ContextualAutoTuner *)object;
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (self->weakrefs != NULL) {
    PyObject_ClearWeakRefs(object);
  }
  Py_CLEAR(self->fn);
  Py_CLEAR(self->name);
  Py_CLEAR(self->dict);
  Py_CLEAR(self->module);
  type->tp_free(self);
  Py_DECREF(type);
}

static PyObject *contextual_repr(PyObject *object) {
  PyObject *name = callable_full_name(object, ((ContextualAutoTuner *)object)->name);
  if (name == NULL) {
    return NULL;
  }
  PyObject *repr = PyUnicode_FromFormat("<tdtune.ContextualAutoTuner %U>", name);
  Py_DECREF(name);
  return repr;
}

static PyMethodDef contextual_methods[] = {
    CALLABLE_METHODS,
    {NULL, NULL, 0, NULL},
};

static PyMemberDef contextual_members[] = {
    {"fn", T_OBJECT_EX, offsetof(ContextualAutoTuner, fn), READONLY, "the outer function"},
    {"is_dist", T_BOOL, offsetof(ContextualAutoTuner, is_dist), READONLY,
     "whether times are the greatest over all ranks"},
    {"n_repeat", T_UINT, offsetof(ContextualAutoTuner, n_repeat), READONLY,
     "timed runs of each candidate"},
    {"n_warmup", T_UINT, offsetof(ContextualAutoTuner, n_warmup), READONLY,
     "runs of each candidate before those"},
    CALLABLE_OFFSETS(ContextualAutoTuner),
    {NULL, 0, 0, 0, NULL},
};

PyDoc_STRVAR(contextual_doc,
             "ContextualAutoTuner(fn, is_dist=False, n_repeat=5, n_warmup=3)\n--\n\n"
             "A function in which Triton kernels are tuned where they run. Made by "
             "contextual_autotune().");

static PyType_Slot contextual_slots[] = {
    {Py_tp_doc, __extension__(void *) contextual_doc},
    {Py_tp_new, SLOT(contextual_new)},
    {Py_tp_dealloc, SLOT(contextual_dealloc)},
    {Py_tp_traverse, SLOT(contextual_traverse)},
    {Py_tp_clear, SLOT(contextual_clear)},
    {Py_tp_repr, SLOT(contextual_repr)},
    {Py_tp_methods, contextual_methods},
    {Py_tp_members, contextual_members},
    CALLABLE_SLOTS,
    {0, NULL},
};

static PyType_Spec contextual_spec = {
    .name = "tdtune.ContextualAutoTuner",
    .basicsize = sizeof(ContextualAutoTuner),
    .flags = CALLABLE_FLAGS,
    .slots = contextual_slots,
};

PyTypeObject *contextual_type_create(PyObject *module) {
  return (PyTypeObject *)PyType_FromModuleAndSpec(module, &contextual_spec, NULL);
}
