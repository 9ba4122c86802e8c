/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include "bytecode.h"

/*
 * Bytecode is a row of units: what to do, and a number. Which operations look names up differs from
 * version to version of Python and is told by a table of letters:
 *
 *   g, c, s  begins a look-up: of a global, of a closure variable, or a store of a global
 *   a        goes on with an attribute, if a look-up has begun
 *   -        changes nothing
 *   e        holds the upper bytes of the next unit's number
 *   else     ends a look-up
 *
 * Of an operation in upper case the lowest bit of the number says something else.
 */
enum { N_OPERATIONS = 256, LOWER = 0x20 };

typedef struct LookUps {
  PyObject *found; /* list of tuples: a letter's number, and those of its name and attributes */
  PyObject *open;  /* list: the one that has begun; NULL: none */
} LookUps;

static int close_open(LookUps *self) {
  if (self->open == NULL) {
    return 0;
  }
  PyObject *tuple = PyList_AsTuple(self->open);
  Py_CLEAR(self->open);
  int done = tuple == NULL ? -1 : PyList_Append(self->found, tuple);
  Py_XDECREF(tuple);
  return done;
}

static int append(PyObject *list, unsigned long number) {
  PyObject *value = PyLong_FromUnsignedLong(number);
  int done = value == NULL ? -1 : PyList_Append(list, value);
  Py_XDECREF(value);
  return done;
}

static int begin(LookUps *self, unsigned char letter, unsigned long number) {
  if (close_open(self) < 0 || (self->open = PyList_New(0)) == NULL ||
      append(self->open, letter) < 0) {
    return -1;
  }
  return append(self->open, number);
}

static int take_unit(LookUps *self, unsigned char letter, unsigned long number) {
  unsigned char lower = letter | LOWER;
  unsigned long name = letter == lower ? number : number >> 1;
  switch (lower) {
  case 'g':
  case 'c':
  case 's':
    return begin(self, lower, name);
  case 'a':
    return self->open == NULL ? 0 : append(self->open, name);
  case '-':
    return 0;
  default:
    return close_open(self);
  }
}

static int take_all(LookUps *self, const unsigned char *code, Py_ssize_t size,
                    const unsigned char *letters) {
  unsigned long upper = 0;
  for (Py_ssize_t i = 0; i + 1 < size; i += 2) {
    unsigned char letter = letters[code[i]];
    unsigned long number = upper | code[i + 1];
    upper = letter == 'e' ? (number << 8) & 0xFFFFFFFFUL : 0;
    if (letter != 'e' && take_unit(self, letter, number) < 0) {
      return -1;
    }
  }
  return close_open(self);
}

static PyObject *find_all(const Py_buffer *code, const Py_buffer *letters) {
  if (letters->len != N_OPERATIONS) {
    PyErr_Format(PyExc_ValueError, "letters are %d, not %zd", (int)N_OPERATIONS, letters->len);
    return NULL;
  }
  LookUps look_ups = {.found = PyList_New(0)};
  if (look_ups.found != NULL && take_all(&look_ups, code->buf, code->len, letters->buf) < 0) {
    Py_CLEAR(look_ups.found);
  }
  Py_XDECREF(look_ups.open);
  return look_ups.found;
}

static PyObject *bytecode_look_ups(PyObject *module, PyObject *args) {
  (void)module;
  Py_buffer code;
  Py_buffer letters;
  if (!PyArg_ParseTuple(args, "y*y*:look_ups", &code, &letters)) {
    return NULL;
  }
  PyObject *found = find_all(&code, &letters);
  PyBuffer_Release(&code);
  PyBuffer_Release(&letters);
  return found;
}

PyDoc_STRVAR(look_ups_doc,
             "look_ups($module, code, letters, /)\n--\n\n"
             "What bytecode looks up by name: tuples of the operation's letter (as a number), the "
             "number of the name, and those of the attributes that follow it. `letters` gives each "
             "operation's; see tdtune.names.");

PyMethodDef bytecode_methods[] = {
    {"look_ups", bytecode_look_ups, METH_VARARGS, look_ups_doc},
    {NULL, NULL, 0, NULL},
};
