/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include "board.h"
#include "convert.h"

/* -- what every method has in common -------------------------------------------------------------
 */

static bool enter(const Board *board) {
  bool had_lock = board->crossing->has_lock;
  crossing_enter(board->crossing);
  return had_lock;
}

static void leave(const Board *board, bool had_lock) {
  if (!had_lock) {
    crossing_leave(board->crossing);
  }
}

/* Takes the exception that is raised. */
static tdt_status fail(const Board *board, tdt_error *error) {
  if (!PyErr_ExceptionMatches(PyExc_Exception)) {
    return crossing_stop(board->crossing, error);
  }
  PyObject *exception = exception_take();
  tdt_status status = exception_to_error(exception, TDT_EGROUP, error);
  Py_DECREF(exception);
  return status;
}

/* -- the store -----------------------------------------------------------------------------------
 */

static tdt_status put_once(const Board *board, const char *key, const void *bytes, size_t size,
                           tdt_error *error) {
  PyObject *done = PyObject_CallMethod(board->group->board, "put", "sy#", key, (const char *)bytes,
                                       (Py_ssize_t)size);
  if (done == NULL) {
    return fail(board, error);
  }
  Py_DECREF(done);
  return TDT_OK;
}

/*
 * Also after something has ended the tuning: that is how a rank tells the others. And if a signal
 * comes in the middle of it, the message is sent again, or they would wait for it; the engine hears
 * of the signal from what it calls next.
 */
static tdt_status on_put(void *user, const char *key, const void *bytes, size_t size,
                         tdt_error *error) {
  Board *board = user;
  bool had_lock = enter(board);
  tdt_error stopped = TDT_ERROR_INIT;
  tdt_status status = put_once(board, key, bytes, size, &stopped);
  if (status == TDT_ESTOPPED) {
    status = put_once(board, key, bytes, size, error);
  } else if (status != TDT_OK) {
    (void)tdt_error_set(error, status, "%s", tdt_error_text(&stopped));
  }
  tdt_error_clear(&stopped);
  leave(board, had_lock);
  return status;
}

static tdt_status read_answer(PyObject *answer, tdt_message *message, tdt_error *error) {
  if (answer == Py_None) {
    return TDT_OK;
  }
  if (!PyBytes_Check(answer)) {
    return tdt_error_set(error, TDT_EGROUP, "a message between ranks is no bytes");
  }
  return tdt_message_set(message, PyBytes_AS_STRING(answer), (size_t)PyBytes_GET_SIZE(answer),
                         error);
}

static tdt_status on_get(void *user, const char *key, double slice_s, tdt_message *message,
                         tdt_error *error) {
  Board *board = user;
  tdt_status status = crossing_stopped(board->crossing, error);
  if (status != TDT_OK) {
    return status;
  }
  bool had_lock = enter(board);
  PyObject *answer = PyObject_CallMethod(board->group->board, "get", "sd", key, slice_s);
  status = answer == NULL ? fail(board, error) : read_answer(answer, message, error);
  Py_XDECREF(answer);
  leave(board, had_lock);
  return status;
}

/* A key that stays does no harm. */
static tdt_status on_drop(void *user, const char *key, tdt_error *error) {
  (void)error;
  Board *board = user;
  bool had_lock = enter(board);
  PyObject *done = PyObject_CallMethod(board->group->board, "drop", "s", key);
  if (done == NULL) {
    (void)fail(board, NULL);
  }
  Py_XDECREF(done);
  leave(board, had_lock);
  return TDT_OK;
}

/* -- the reduction -------------------------------------------------------------------------------
 */

static PyObject *floats(const double *values, size_t n) {
  PyObject *list = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; list != NULL && i < n; i++) {
    PyObject *value = PyFloat_FromDouble(values[i]);
    if (value == NULL) {
      Py_CLEAR(list);
      break;
    }
    PyList_SET_ITEM(list, (Py_ssize_t)i, value);
  }
  return list;
}

/* 1: `values` are written; 0: the answer is not there yet; -1: an error is set. */
static int read_floats(PyObject *answer, double *values, size_t n) {
  if (answer == Py_None) {
    return 0;
  }
  if (!PyList_Check(answer) || (size_t)PyList_GET_SIZE(answer) != n) {
    PyErr_Format(PyExc_TypeError, "the ranks' answer is no list of %zu numbers: %R", n, answer);
    return -1;
  }
  for (size_t i = 0; i < n; i++) {
    values[i] = PyFloat_AsDouble(PyList_GET_ITEM(answer, (Py_ssize_t)i));
    if (values[i] == -1.0 && PyErr_Occurred()) {
      return -1;
    }
  }
  return 1;
}

static tdt_status on_start_max(void *user, const double *values, size_t n_values,
                               tdt_error *error) {
  Board *board = user;
  tdt_status status = crossing_stopped(board->crossing, error);
  if (status != TDT_OK) {
    return status;
  }
  bool had_lock = enter(board);
  board->group->n_values = n_values;
  PyObject *list = floats(values, n_values);
  PyObject *done =
      list == NULL ? NULL : PyObject_CallMethod(board->group->board, "start_max", "(O)", list);
  if (done == NULL) {
    status = fail(board, error);
  }
  Py_XDECREF(done);
  Py_XDECREF(list);
  leave(board, had_lock);
  return status;
}

static tdt_status on_wait_max(void *user, double slice_s, double *values, bool *done,
                              tdt_error *error) {
  Board *board = user;
  tdt_status status = crossing_stopped(board->crossing, error);
  if (status != TDT_OK) {
    return status;
  }
  bool had_lock = enter(board);
  PyObject *answer = PyObject_CallMethod(board->group->board, "wait_max", "d", slice_s);
  int read = answer == NULL ? -1 : read_floats(answer, values, board->group->n_values);
  if (read < 0) {
    status = fail(board, error);
  } else {
    *done = read > 0;
  }
  Py_XDECREF(answer);
  leave(board, had_lock);
  return status;
}

/* -- its life ------------------------------------------------------------------------------------
 */

static int open_engine(Board *board) {
  const tdt_group_callbacks callbacks = {
      .size = sizeof callbacks,
      .user = board,
      .put = on_put,
      .get = on_get,
      .drop = on_drop,
      .start_max = on_start_max,
      .wait_max = on_wait_max,
  };
  const Group *group = board->group;
  tdt_error error = TDT_ERROR_INIT;
  if (tdt_group_callback_create(&callbacks, group->rank, group->n_ranks, group->numbers,
                                group->rounds, &board->engine, &error) != TDT_OK) {
    board->engine = tdt_group_self();
    Py_CLEAR(board->group);
    return raise_status(&error, NULL);
  }
  return 0;
}

static int open_group(Board *board, Group *group) {
  board->group = (Group *)Py_NewRef((PyObject *)group);
  return open_engine(board);
}

int board_open(Board *board, PyTypeObject *type, Crossing *crossing, PyObject *group) {
  *board = (Board){.crossing = crossing, .engine = tdt_group_self()};
  if (group == Py_None) {
    return 0;
  }
  if (!PyObject_TypeCheck(group, type)) {
    PyErr_Format(PyExc_TypeError, "a group is a tdtune._native.Group or None, not %R", group);
    return -1;
  }
  return open_group(board, (Group *)group);
}

void board_close(Board *board) {
  if (board->group != NULL) {
    tdt_group_callback_destroy(&board->engine);
    Py_CLEAR(board->group);
  }
}

int board_withdraw(Group *group, const char *reason) {
  Crossing crossing = {.has_lock = true};
  Board board = {.crossing = &crossing, .engine = tdt_group_self()};
  if (open_group(&board, group) < 0) {
    PyErr_Clear();
    return 0;
  }
  (void)tdt_group_withdraw(&board.engine, reason, NULL);
  board_close(&board);
  PyObject *stop = crossing.stop;
  crossing.stop = NULL;
  crossing_clear(&crossing);
  if (stop == NULL) {
    return 0;
  }
  exception_raise(stop);
  return -1;
}
