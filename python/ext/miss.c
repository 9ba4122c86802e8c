/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include "autotuner.h"
#include "miss.h"

PyObject *miss_config(const Miss *miss, size_t candidate) {
  PyObject *config = PyDict_Copy(miss->tuner->candidates.items[candidate].config);
  PyObject *name = NULL;
  PyObject *value = NULL;
  Py_ssize_t position = 0;
  while (config != NULL && miss->call->overwritten != NULL &&
         PyDict_Next(miss->call->overwritten, &position, &name, &value)) {
    int is_field = PyDict_Contains(config, name);
    if (is_field < 0 || (is_field > 0 && PyDict_SetItem(config, name, value) < 0)) {
      Py_CLEAR(config);
    }
  }
  return config;
}

PyObject *miss_call(const Miss *miss, PyObject *fn, PyObject *first) {
  const Call *call = miss->call;
  size_t n = (size_t)(call->n_args + call_n_names(call));
  PyObject **stack = PyMem_Malloc((n + 1) * sizeof(PyObject *));
  if (stack == NULL) {
    return PyErr_NoMemory();
  }
  stack[0] = first;
  for (size_t i = 0; i < n; i++) {
    stack[1 + i] = call->args[i];
  }
  PyObject *result = PyObject_Vectorcall(fn, stack, (size_t)call->n_args + 1, call->names);
  PyMem_Free(stack);
  return result;
}
