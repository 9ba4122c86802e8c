/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include "convert.h"
#include "state.h"

static const char *const cold_names[N_COLD] = {
#define COLD_NAME_(id, name) #name,
    COLD_LIST(COLD_NAME_)
#undef COLD_NAME_
};

ModuleState *state_of(PyObject *module) {
  return PyModule_GetState(module);
}

static int fetch(const char *module_name, const char *name, PyObject **function) {
  if (*function != NULL) {
    return 0;
  }
  PyObject *module = PyImport_ImportModule(module_name);
  if (module == NULL) {
    return -1;
  }
  PyObject *found = PyObject_GetAttrString(module, name);
  Py_DECREF(module);
  if (found == NULL) {
    return -1;
  }
  Py_XSETREF(*function, found);
  return 0;
}

int state_load_cold(ModuleState *state) {
  for (size_t i = 0; i < N_COLD; i++) {
    if (fetch("tdtune._cold", cold_names[i], &state->cold[i]) < 0) {
      return -1;
    }
  }
  if (fetch("functools", "update_wrapper", &state->update_wrapper) < 0) {
    return -1;
  }
  return fetch("inspect", "signature", &state->signature);
}

PyObject *cold_call(const ModuleState *state, ColdFunction which, PyObject *const *args,
                    size_t n_args) {
  /* Cleared when the interpreter ends; a finalizer may still call a tuner then. */
  PyObject *function = Py_XNewRef(state->cold[which]);
  if (function == NULL) {
    PyErr_SetString(PyExc_RuntimeError, "tdtune is being shut down");
    return NULL;
  }
  PyObject *result = PyObject_Vectorcall(function, args, n_args, NULL);
  Py_DECREF(function);
  return result;
}

int cold_emit(const ModuleState *state, tdt_log_level level, PyObject *message, bool verbose) {
  if (message == NULL) {
    return -1;
  }
  PyObject *number = PyLong_FromLong((long)level);
  if (number == NULL) {
    Py_DECREF(message);
    return -1;
  }
  PyObject *args[] = {number, message, verbose ? Py_True : Py_False};
  PyObject *result = cold_call(state, COLD_EMIT, args, 3);
  Py_DECREF(number);
  Py_DECREF(message);
  Py_XDECREF(result);
  return result == NULL ? -1 : 0;
}

static const char store_capsule[] = "tdtune._native.store";

static void close_store(PyObject *capsule) {
  tdt_store_close(PyCapsule_GetPointer(capsule, store_capsule));
}

static PyObject *open_store(const char *root) {
  tdt_store *store = NULL;
  tdt_error error = TDT_ERROR_INIT;
  if (tdt_store_open(root, &store, &error) != TDT_OK) {
    (void)raise_status(&error, NULL);
    return NULL;
  }
  PyObject *capsule = PyCapsule_New(store, store_capsule, close_store);
  if (capsule == NULL) {
    tdt_store_close(store);
  }
  return capsule;
}

/* Stores stay open: they say each of their warnings once. */
static PyObject *find_store(PyObject *stores, const char *root) {
  PyObject *key = PyBytes_FromString(root);
  if (key == NULL) {
    return NULL;
  }
  PyObject *capsule = Py_XNewRef(PyDict_GetItemWithError(stores, key));
  if (capsule == NULL && !PyErr_Occurred()) {
    capsule = open_store(root);
    if (capsule != NULL && PyDict_SetItem(stores, key, capsule) < 0) {
      Py_CLEAR(capsule);
    }
  }
  Py_DECREF(key);
  return capsule;
}

tdt_store *state_store(ModuleState *state, PyObject **holder) {
  char *root = NULL;
  tdt_error error = TDT_ERROR_INIT;
  if (tdt_store_default_root(&root, &error) != TDT_OK) {
    (void)raise_status(&error, NULL);
    return NULL;
  }
  PyObject *capsule = find_store(state->stores, root);
  tdt_text_free(root);
  if (capsule == NULL) {
    return NULL;
  }
  *holder = capsule;
  return PyCapsule_GetPointer(capsule, store_capsule);
}
