/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include "autotuner.h"
#include "autotuner_type.h"
#include "call.h"
#include "callable.h"
#include "construct.h"
#include "overwrite.h"
#include "resolve.h"

static int autotuner_traverse(PyObject *object, visitproc visit, void *arg) {
  AutoTuner *self = (AutoTuner *)object;
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(self->fn);
  Py_VISIT(self->key_fn);
  Py_VISIT(self->config_space);
  Py_VISIT(self->prune_fn);
  Py_VISIT(self->prepare_fn);
  Py_VISIT(self->check_fn);
  Py_VISIT(self->keep);
  Py_VISIT(self->on_progress);
  Py_VISIT(self->positional_names);
  Py_VISIT(self->identity);
  Py_VISIT(self->module);
  Py_VISIT(self->dict);
  int stopped = lanes_traverse(&self->lane, visit, arg);
  if (stopped != 0) {
    return stopped;
  }
  return candidates_traverse(&self->candidates, visit, arg);
}

/*
 * Whatever refers back to a tuner was changed after the tuner was made: its own dicts, or an
 * object of somebody else's, which can be cleared itself. So what a call relies on stays to the
 * end, and so does the module, whose context the engine borrows.
 */
static int autotuner_clear(PyObject *object) {
  AutoTuner *self = (AutoTuner *)object;
  Py_CLEAR(self->dict);
  lanes_forget(&self->lane);
  return 0;
}

static void autotuner_dealloc(PyObject *object) {
  AutoTuner *self = (AutoTuner *)object;
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (self->weakrefs != NULL) {
    PyObject_ClearWeakRefs(object);
  }
  lanes_close(&self->lane);
  tdt_space_destroy(self->space);
  candidates_clear(&self->candidates);
  shape_cache_clear(&self->shapes);
  Py_CLEAR(self->fn);
  Py_CLEAR(self->key_fn);
  Py_CLEAR(self->config_space);
  Py_CLEAR(self->prune_fn);
  Py_CLEAR(self->prepare_fn);
  Py_CLEAR(self->check_fn);
  Py_CLEAR(self->keep);
  Py_CLEAR(self->on_progress);
  Py_CLEAR(self->positional_names);
  Py_CLEAR(self->name);
  Py_CLEAR(self->identity);
  Py_CLEAR(self->store_doubt);
  Py_CLEAR(self->dict);
  Py_CLEAR(self->module);
  type->tp_free(self);
  Py_DECREF(type);
}

static PyObject *autotuner_repr(PyObject *object) {
  const AutoTuner *self = (AutoTuner *)object;
  size_t n = self->candidates.n;
  PyObject *name = callable_full_name(object, self->name);
  if (name == NULL) {
    return NULL;
  }
  PyObject *repr = PyUnicode_FromFormat("<tdtune.AutoTuner %U, %zu %s>", name, n,
                                        n == 1 ? "candidate" : "candidates");
  Py_DECREF(name);
  return repr;
}

static PyObject *autotuner_record_path(PyObject *object, PyObject *const *args, Py_ssize_t n_args,
                                       PyObject *kwnames) {
  AutoTuner *self = (AutoTuner *)object;
  PyObject *path = NULL;
  Call call;
  if (call_open(self, &call, args, (size_t)n_args, kwnames) == 0 &&
      overwrite_meet(self, &call) == 0) {
    PyObject *key = call_key(self, &call);
    if (key != NULL) {
      path = resolve_path(self, &call, key);
      Py_DECREF(key);
    }
  }
  call_close(&call);
  return path;
}

PyDoc_STRVAR(record_path_doc,
             "record_path($self, /, *args, **kwargs)\n--\n\n"
             "Path of the file in which the result for a call with these arguments is (or would "
             "be) kept; None where the function cannot be told apart well enough to store "
             "anything.");

static PyMethodDef autotuner_methods[] = {
    {"record_path", METHOD(autotuner_record_path), METH_FASTCALL | METH_KEYWORDS, record_path_doc},
    CALLABLE_METHODS,
    {NULL, NULL, 0, NULL},
};

static PyMemberDef autotuner_members[] = {
    {"fn", T_OBJECT_EX, offsetof(AutoTuner, fn), READONLY, "the function that is tuned"},
    {"key_fn", T_OBJECT_EX, offsetof(AutoTuner, key_fn), READONLY, "makes the business key"},
    {"prune_fn", T_OBJECT_EX, offsetof(AutoTuner, prune_fn), READONLY, "the filter, or None"},
    {"config_space", T_OBJECT_EX, offsetof(AutoTuner, config_space), READONLY,
     "the configurations: a tuple of dicts"},
    CALLABLE_OFFSETS(AutoTuner),
    {NULL, 0, 0, 0, NULL},
};

PyDoc_STRVAR(
    autotuner_doc,
    "AutoTuner(fn, config_space, key_fn, prune_fn=None, *, prepare_fn=None, plan=None, "
    "warmup=None, repeat=None, check_fn=None, reset_to_zero=None, restore_value=None, "
    "on_progress=None)\n--\n\n"
    "A function that runs with the fastest of several configurations. Made by autotune().");

static PyType_Slot autotuner_slots[] = {
    {Py_tp_doc, __extension__(void *) autotuner_doc},
    {Py_tp_new, SLOT(autotuner_new)},
    {Py_tp_dealloc, SLOT(autotuner_dealloc)},
    {Py_tp_traverse, SLOT(autotuner_traverse)},
    {Py_tp_clear, SLOT(autotuner_clear)},
    {Py_tp_repr, SLOT(autotuner_repr)},
    {Py_tp_methods, autotuner_methods},
    {Py_tp_members, autotuner_members},
    CALLABLE_SLOTS,
    {0, NULL},
};

static PyType_Spec autotuner_spec = {
    .name = "tdtune.AutoTuner",
    .basicsize = sizeof(AutoTuner),
    .flags = CALLABLE_FLAGS,
    .slots = autotuner_slots,
};

PyTypeObject *autotuner_type_create(PyObject *module) {
  return (PyTypeObject *)PyType_FromModuleAndSpec(module, &autotuner_spec, NULL);
}
