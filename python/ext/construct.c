/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include "autotuner.h"
#include "callable.h"
#include "construct.h"
#include "vectorcall.h"

typedef struct Arguments {
  PyObject *fn;
  PyObject *config_space;
  PyObject *key_fn;
  PyObject *prune_fn;
  PyObject *prepare_fn;
  PyObject *plan;
  PyObject *warmup;
  PyObject *repeat;
  PyObject *check_fn;
  PyObject *reset_to_zero;
  PyObject *restore_value;
  PyObject *on_progress;
} Arguments;

static int parse(Arguments *a, PyObject *args, PyObject *kwargs) {
  static char *names[] = {
      "fn",     "config_space", "key_fn",        "prune_fn",      "prepare_fn",  "plan", "warmup",
      "repeat", "check_fn",     "reset_to_zero", "restore_value", "on_progress", NULL};
  *a = (Arguments){NULL,    NULL,    NULL,    Py_None, Py_None, Py_None,
                   Py_None, Py_None, Py_None, Py_None, Py_None, Py_None};
  return PyArg_ParseTupleAndKeywords(args, kwargs, "OOO|O$OOOOOOOO:AutoTuner", names, &a->fn,
                                     &a->config_space, &a->key_fn, &a->prune_fn, &a->prepare_fn,
                                     &a->plan, &a->warmup, &a->repeat, &a->check_fn,
                                     &a->reset_to_zero, &a->restore_value, &a->on_progress)
             ? 0
             : -1;
}

/* None: the documented one. */
static int choose_plan(PyObject *name, tdt_plan *plan) {
  const tdt_plan plans[] = {tdt_plan_documented(), tdt_plan_race(), tdt_plan_careful()};
  *plan = plans[0];
  if (name == Py_None) {
    return 0;
  }
  for (size_t i = 0; PyUnicode_Check(name) && i < sizeof plans / sizeof *plans; i++) {
    if (PyUnicode_CompareWithASCIIString(name, plans[i].name) == 0) {
      *plan = plans[i];
      return 0;
    }
  }
  PyErr_Format(PyUnicode_Check(name) ? PyExc_ValueError : PyExc_TypeError,
               "plan is \"documented\", \"race\" or \"careful\", not %R", name);
  return -1;
}

static int set_plan(AutoTuner *self, const Arguments *a) {
  if (choose_plan(a->plan, &self->plan) < 0 ||
      callable_parse_count(a->warmup, "warmup", 0, &self->plan.n_warmup) < 0 ||
      callable_parse_count(a->repeat, "repeat", 1, &self->plan.n_repeat) < 0) {
    return -1;
  }
  if (a->check_fn != Py_None && self->plan.n_warmup == 0) {
    PyErr_SetString(PyExc_ValueError,
                    "check_fn is given the result of the first warm-up, but warmup is 0");
    return -1;
  }
  return 0;
}

/* What happens around the runs. After the blueprint. */
static int set_around(AutoTuner *self, const Arguments *a) {
  self->check_fn = Py_NewRef(a->check_fn);
  self->keep = Py_NewRef(Py_None);
  if (a->check_fn == Py_None && a->reset_to_zero == Py_None && a->restore_value == Py_None) {
    return 0;
  }
  PyObject *args[] = {self->fn, self->config_space, a->check_fn, a->reset_to_zero,
                      a->restore_value};
  PyObject *keep = cold_call(self->state, COLD_AROUND, args, 5);
  if (keep == NULL) {
    return -1;
  }
  Py_SETREF(self->keep, keep);
  return 0;
}

static int set_callables(AutoTuner *self, const Arguments *a) {
  if (!PyCallable_Check(a->key_fn)) {
    PyErr_Format(PyExc_TypeError, "key_fn is a function, not %R", a->key_fn);
    return -1;
  }
  if (a->prune_fn != Py_None && !PyCallable_Check(a->prune_fn)) {
    PyErr_Format(PyExc_TypeError, "prune_fn is a function or None, not %R", a->prune_fn);
    return -1;
  }
  if (a->prepare_fn != Py_None && !PyCallable_Check(a->prepare_fn)) {
    PyErr_Format(PyExc_TypeError, "prepare_fn is a function or None, not %R", a->prepare_fn);
    return -1;
  }
  if (a->on_progress != Py_None && !PyCallable_Check(a->on_progress)) {
    PyErr_Format(PyExc_TypeError, "on_progress is a function or None, not %R", a->on_progress);
    return -1;
  }
  self->prune_fn = Py_NewRef(a->prune_fn);
  self->prepare_fn = Py_NewRef(a->prepare_fn);
  self->on_progress = Py_NewRef(a->on_progress);
  return 0;
}

/* An attribute of the blueprint that is a tuple: a new reference. */
static PyObject *tuple_of(PyObject *blueprint, const char *name) {
  PyObject *tuple = PyObject_GetAttrString(blueprint, name);
  if (tuple != NULL && !PyTuple_Check(tuple)) {
    PyErr_Format(PyExc_TypeError, "blueprint: %s is no tuple", name);
    Py_CLEAR(tuple);
  }
  return tuple;
}

static int set_free(AutoTuner *self, PyObject *blueprint) {
  PyObject *number = PyObject_GetAttrString(blueprint, "n_positional_free");
  if (number == NULL) {
    return -1;
  }
  self->n_positional_free = PyNumber_AsSsize_t(number, NULL); /* clipped: "no limit" is large */
  Py_DECREF(number);
  return self->n_positional_free == -1 && PyErr_Occurred() ? -1 : 0;
}

static int set_space(AutoTuner *self, PyObject *blueprint) {
  PyObject *texts = tuple_of(blueprint, "configs");
  if (texts == NULL) {
    return -1;
  }
  if (PyTuple_GET_SIZE(texts) != PyTuple_GET_SIZE(self->config_space)) {
    PyErr_SetString(PyExc_ValueError, "blueprint: configs and candidates differ in number");
  } else {
    self->space = candidates_space(texts);
  }
  Py_DECREF(texts);
  return self->space == NULL ? -1 : 0;
}

static int set_from_blueprint(AutoTuner *self, PyObject *blueprint) {
  self->fn = PyObject_GetAttrString(blueprint, "fn");
  self->key_fn = self->fn == NULL ? NULL : PyObject_GetAttrString(blueprint, "key_fn");
  self->name = self->key_fn == NULL ? NULL : PyObject_GetAttrString(blueprint, "name");
  if (self->name == NULL) {
    return -1;
  }
  if (!PyUnicode_Check(self->name)) {
    PyErr_SetString(PyExc_TypeError, "blueprint: name is no text");
    return -1;
  }
  self->config_space = tuple_of(blueprint, "candidates");
  self->positional_names =
      self->config_space == NULL ? NULL : tuple_of(blueprint, "positional_names");
  if (self->positional_names == NULL || set_free(self, blueprint) < 0 ||
      candidates_fill(&self->candidates, self->config_space) < 0) {
    return -1;
  }
  return set_space(self, blueprint);
}

static int draw_blueprint(AutoTuner *self, const Arguments *a) {
  PyObject *args[] = {a->fn, a->config_space, a->key_fn, a->prune_fn};
  PyObject *blueprint = cold_call(self->state, COLD_BLUEPRINT, args, 4);
  if (blueprint == NULL) {
    return -1;
  }
  int done = set_from_blueprint(self, blueprint);
  Py_DECREF(blueprint);
  return done;
}

static int set_up(AutoTuner *self, PyTypeObject *type, const Arguments *a) {
  PyObject *module = PyType_GetModule(type);
  if (module == NULL) {
    return -1;
  }
  self->module = Py_NewRef(module);
  self->state = state_of(module);
  if (lane_init(&self->lane) < 0 || state_load_cold(self->state) < 0) {
    return -1;
  }
  if (set_plan(self, a) < 0 || draw_blueprint(self, a) < 0 || set_callables(self, a) < 0 ||
      set_around(self, a) < 0) {
    return -1;
  }
  return callable_wrap((PyObject *)self, self->state, self->fn, self->name);
}

PyObject *autotuner_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  Arguments a;
  if (parse(&a, args, kwargs) < 0) {
    return NULL;
  }
  AutoTuner *self = (AutoTuner *)type->tp_alloc(type, 0);
  if (self == NULL) {
    return NULL;
  }
  self->vectorcall = autotuner_vectorcall;
  if (set_up(self, type, &a) < 0) {
    Py_DECREF(self);
    return NULL;
  }
  return (PyObject *)self;
}
