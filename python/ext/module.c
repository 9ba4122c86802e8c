/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include "autotuner_type.h"
#include "by_layout.h"
#include "bytecode.h"
#include "contextual.h"
#include "convert.h"
#include "extent.h"
#include "facts.h"
#include "group.h"
#include "session.h"
#include "state.h"
#include "takeover.h"
#include "tunable.h"

static const char *const control_names[N_CONTROLS] = {
#define CONTROL_NAME_(id, name) name,
    CONTROL_LIST(CONTROL_NAME_)
#undef CONTROL_NAME_
};

static int add_type(PyObject *module, PyTypeObject *(*create)(PyObject *module),
                    PyTypeObject **type) {
  *type = create(module);
  return *type == NULL ? -1 : PyModule_AddType(module, *type);
}

static int add_types(PyObject *module, ModuleState *state) {
  if (add_type(module, autotuner_type_create, &state->autotuner_type) < 0 ||
      add_type(module, contextual_type_create, &state->contextual_type) < 0 ||
      add_type(module, session_type_create, &state->session_type) < 0) {
    return -1;
  }
  if (add_type(module, group_type_create, &state->group_type) < 0 ||
      add_type(module, by_layout_type_create, &state->by_layout_type) < 0) {
    return -1;
  }
  return add_type(module, tunable_type_create, &state->tunable_type);
}

static int module_exec(PyObject *module) {
  ModuleState *state = state_of(module);
  tdt_error error = TDT_ERROR_INIT;
  if (tdt_context_create(&state->context, &error) != TDT_OK) {
    return raise_status(&error, NULL);
  }
  state->stores = PyDict_New();
  if (state->stores == NULL) {
    return -1;
  }
  for (size_t i = 0; i < N_CONTROLS; i++) {
    state->controls[i] = PyUnicode_InternFromString(control_names[i]);
    if (state->controls[i] == NULL) {
      return -1;
    }
  }
  if (PyModule_AddFunctions(module, takeover_methods) < 0 ||
      PyModule_AddFunctions(module, bytecode_methods) < 0 ||
      PyModule_AddFunctions(module, extent_methods) < 0) {
    return -1;
  }
  return add_types(module, state);
}

static int module_traverse(PyObject *module, visitproc visit, void *arg) {
  ModuleState *state = state_of(module);
  Py_VISIT(state->autotuner_type);
  Py_VISIT(state->contextual_type);
  Py_VISIT(state->session_type);
  Py_VISIT(state->tunable_type);
  Py_VISIT(state->group_type);
  Py_VISIT(state->by_layout_type);
  Py_VISIT(state->stores);
  for (size_t i = 0; i < N_COLD; i++) {
    Py_VISIT(state->cold[i]);
  }
  Py_VISIT(state->update_wrapper);
  Py_VISIT(state->signature);
  Py_VISIT(state->active);
  Py_VISIT(state->taken);
  Py_VISIT(state->watched);
  return 0;
}

static int module_clear(PyObject *module) {
  ModuleState *state = state_of(module);
  Py_CLEAR(state->autotuner_type);
  Py_CLEAR(state->contextual_type);
  Py_CLEAR(state->session_type);
  Py_CLEAR(state->tunable_type);
  Py_CLEAR(state->group_type);
  Py_CLEAR(state->by_layout_type);
  Py_CLEAR(state->stores);
  for (size_t i = 0; i < N_CONTROLS; i++) {
    Py_CLEAR(state->controls[i]);
  }
  for (size_t i = 0; i < N_COLD; i++) {
    Py_CLEAR(state->cold[i]);
  }
  Py_CLEAR(state->update_wrapper);
  Py_CLEAR(state->signature);
  Py_CLEAR(state->active);
  Py_CLEAR(state->taken);
  Py_CLEAR(state->watched);
  return 0;
}

static void module_free(void *module) {
  (void)module_clear(module);
  tdt_context_destroy(state_of(module)->context);
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, SLOT(module_exec)},
    {0, NULL},
};

PyDoc_STRVAR(module_doc, "The engine of tdtune as Python objects.");

static struct PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,         .m_name = "tdtune._native", .m_doc = module_doc,
    .m_size = sizeof(ModuleState), .m_methods = facts_methods, .m_slots = module_slots,
    .m_traverse = module_traverse, .m_clear = module_clear,    .m_free = module_free,
};

PyMODINIT_FUNC PyInit__native(void);

PyMODINIT_FUNC PyInit__native(void) {
  return PyModuleDef_Init(&module_definition);
}
