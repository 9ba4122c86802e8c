/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include "board.h"
#include "convert.h"
#include "group.h"

/* -- construction --------------------------------------------------------------------------------
 */

static int read_unsigned(PyObject *number, unsigned *value) {
  unsigned long read = PyLong_AsUnsignedLong(number);
  if (read == (unsigned long)-1 && PyErr_Occurred()) {
    return -1;
  }
  if (read > UINT_MAX) {
    PyErr_Format(PyExc_OverflowError, "a rank is a smaller number than %R", number);
    return -1;
  }
  *value = (unsigned)read;
  return 0;
}

static int read_attribute(PyObject *board, const char *name, unsigned *value) {
  PyObject *number = PyObject_GetAttrString(board, name);
  int done = number == NULL ? -1 : read_unsigned(number, value);
  Py_XDECREF(number);
  return done;
}

static int fill_numbers(Group *self, PyObject *list) {
  if (!PyList_Check(list) || (size_t)PyList_GET_SIZE(list) != self->n_ranks) {
    PyErr_Format(PyExc_ValueError, "the numbers of %u ranks are not %R", self->n_ranks, list);
    return -1;
  }
  self->numbers = PyMem_Calloc(self->n_ranks, sizeof *self->numbers);
  if (self->numbers == NULL) {
    (void)PyErr_NoMemory();
    return -1;
  }
  for (unsigned i = 0; i < self->n_ranks; i++) {
    if (read_unsigned(PyList_GET_ITEM(list, (Py_ssize_t)i), &self->numbers[i]) < 0) {
      return -1;
    }
  }
  return 0;
}

static int read_numbers(Group *self) {
  PyObject *list = PyObject_GetAttrString(self->board, "numbers");
  int done = list == NULL ? -1 : fill_numbers(self, list);
  Py_XDECREF(list);
  return done;
}

static int set_up(Group *self, PyObject *board) {
  self->board = Py_NewRef(board);
  if (read_attribute(board, "rank", &self->rank) < 0 ||
      read_attribute(board, "n_ranks", &self->n_ranks) < 0) {
    return -1;
  }
  if (self->rank >= self->n_ranks) {
    PyErr_Format(PyExc_ValueError, "there is no rank %u among %u", self->rank, self->n_ranks);
    return -1;
  }
  tdt_error error = TDT_ERROR_INIT;
  if (tdt_group_rounds_create(&self->rounds, &error) != TDT_OK) {
    return raise_status(&error, NULL);
  }
  return read_numbers(self);
}

static PyObject *group_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"board", NULL};
  PyObject *board = NULL;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:Group", names, &board)) {
    return NULL;
  }
  Group *self = (Group *)type->tp_alloc(type, 0);
  if (self != NULL && set_up(self, board) < 0) {
    Py_CLEAR(self);
  }
  return (PyObject *)self;
}

/* A board knows nothing of its group, so there are no cycles to be found. */
static void group_dealloc(PyObject *object) {
  Group *self = (Group *)object;
  PyTypeObject *type = Py_TYPE(self);
  tdt_group_rounds_destroy(self->rounds);
  PyMem_Free(self->numbers);
  Py_CLEAR(self->board);
  type->tp_free(self);
  Py_DECREF(type);
}

/* -- its one method ------------------------------------------------------------------------------
 */

static PyObject *group_withdraw(PyObject *object, PyObject *reason) {
  if (!PyUnicode_Check(reason)) {
    PyErr_Format(PyExc_TypeError, "a reason is text, not %R", reason);
    return NULL;
  }
  const char *text = text_from_str(reason, "a reason");
  if (text == NULL || board_withdraw((Group *)object, text) < 0) {
    return NULL;
  }
  Py_RETURN_NONE;
}

PyDoc_STRVAR(withdraw_doc, "withdraw($self, reason, /)\n--\n\n"
                           "Tell the other ranks that this one will not take part in what they "
                           "may be about to tune. Waits for nobody; if they cannot be told, they "
                           "are not.");

static PyMethodDef group_methods[] = {
    {"withdraw", group_withdraw, METH_O, withdraw_doc},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef group_members[] = {
    {"rank", T_UINT, offsetof(Group, rank), READONLY, "this process among them"},
    {"n_ranks", T_UINT, offsetof(Group, n_ranks), READONLY, "how many there are"},
    {NULL, 0, 0, 0, NULL},
};

PyDoc_STRVAR(group_doc, "Group(board)\n--\n\n"
                        "Ranks that tune together, whose messages a board carries.");

static PyType_Slot group_slots[] = {
    {Py_tp_doc, __extension__(void *) group_doc},
    {Py_tp_new, SLOT(group_new)},
    {Py_tp_dealloc, SLOT(group_dealloc)},
    {Py_tp_methods, group_methods},
    {Py_tp_members, group_members},
    {0, NULL},
};

static PyType_Spec group_spec = {
    .name = "tdtune._native.Group",
    .basicsize = sizeof(Group),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = group_slots,
};

PyTypeObject *group_type_create(PyObject *module) {
  return (PyTypeObject *)PyType_FromModuleAndSpec(module, &group_spec, NULL);
}
