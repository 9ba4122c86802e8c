/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include <tdtune/tdtune.h>

#include "convert.h"
#include "facts.h"

/* Takes over a text of the library. */
static PyObject *take_text(char *text) {
  PyObject *str = text_to_str(text);
  tdt_text_free(text);
  return str;
}

static PyObject *facts_host_hardware(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  char *json = NULL;
  tdt_error error = TDT_ERROR_INIT;
  if (tdt_host_hardware(&json, &error) != TDT_OK) {
    (void)raise_status(&error, NULL);
    return NULL;
  }
  return take_text(json);
}

typedef tdt_status (*record_text_fn)(const tdt_record *record, char **text, tdt_error *error);

static PyObject *record_text(PyObject *path, record_text_fn make) {
  PyObject *bytes = NULL;
  if (!PyUnicode_FSConverter(path, (void *)&bytes)) {
    return NULL;
  }
  tdt_record *record = NULL;
  char *text = NULL;
  tdt_error error = TDT_ERROR_INIT;
  tdt_status status = TDT_OK;
  Py_BEGIN_ALLOW_THREADS status = tdt_record_load(PyBytes_AS_STRING(bytes), &record, &error);
  if (status == TDT_OK) {
    status = make(record, &text, &error);
  }
  tdt_record_destroy(record);
  Py_END_ALLOW_THREADS Py_DECREF(bytes);
  if (status != TDT_OK) {
    (void)raise_status(&error, NULL);
    return NULL;
  }
  return take_text(text);
}

static PyObject *facts_record_json(PyObject *module, PyObject *path) {
  (void)module;
  return record_text(path, tdt_record_json);
}

static PyObject *facts_record_table(PyObject *module, PyObject *path) {
  (void)module;
  return record_text(path, tdt_record_table);
}

static PyObject *facts_default_root(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  char *root = NULL;
  tdt_error error = TDT_ERROR_INIT;
  if (tdt_store_default_root(&root, &error) != TDT_OK) {
    (void)raise_status(&error, NULL);
    return NULL;
  }
  PyObject *str = PyUnicode_DecodeFSDefault(root);
  tdt_text_free(root);
  return str;
}

static PyObject *facts_n_workers(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  tdt_settings settings;
  tdt_error error = TDT_ERROR_INIT;
  if (tdt_settings_from_environment(&settings, &error) != TDT_OK) {
    (void)raise_status(&error, NULL);
    return NULL;
  }
  return PyLong_FromUnsignedLong(settings.n_workers);
}

static PyObject *facts_digest(PyObject *module, PyObject *bytes) {
  (void)module;
  Py_buffer view;
  if (PyObject_GetBuffer(bytes, &view, PyBUF_SIMPLE) < 0) {
    return NULL;
  }
  char digest[TDT_DIGEST_SIZE];
  tdt_digest(view.buf, (size_t)view.len, digest);
  PyBuffer_Release(&view);
  return PyUnicode_FromString(digest);
}

static PyObject *facts_version(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  return PyUnicode_FromString(tdt_version());
}

PyDoc_STRVAR(host_hardware_doc,
             "host_hardware($module, /)\n--\n\n"
             "Facts about this machine's processor as the text of a JSON object.");
PyDoc_STRVAR(record_json_doc, "record_json($module, path, /)\n--\n\n"
                              "The record in file `path` as JSON text. FileNotFoundError, OSError, "
                              "or ValueError where the file is no record.");
PyDoc_STRVAR(record_table_doc, "record_table($module, path, /)\n--\n\n"
                               "The record in file `path` as a table to print. Errors as "
                               "record_json().");
PyDoc_STRVAR(default_root_doc, "default_root($module, /)\n--\n\n"
                               "The folder in which records are kept, as the environment has it "
                               "now. Nothing is created.");
PyDoc_STRVAR(n_workers_doc, "n_workers($module, /)\n--\n\n"
                            "Most threads that compile, as the environment has it now; 1: none "
                            "besides the caller.");
PyDoc_STRVAR(digest_doc, "digest($module, data, /)\n--\n\n"
                         "128-bit digest of bytes as 32 hex digits.");
PyDoc_STRVAR(version_doc, "version($module, /)\n--\n\nVersion of the library.");

PyMethodDef facts_methods[] = {
    {"host_hardware", facts_host_hardware, METH_NOARGS, host_hardware_doc},
    {"record_json", facts_record_json, METH_O, record_json_doc},
    {"record_table", facts_record_table, METH_O, record_table_doc},
    {"default_root", facts_default_root, METH_NOARGS, default_root_doc},
    {"n_workers", facts_n_workers, METH_NOARGS, n_workers_doc},
    {"digest", facts_digest, METH_O, digest_doc},
    {"version", facts_version, METH_NOARGS, version_doc},
    {NULL, NULL, 0, NULL},
};
