/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include "around.h"
#include "bar.h"
#include "callbacks.h"
#include "convert.h"
#include "prepare.h"

/* Keeps the lock afterwards: see Crossing. */
static tdt_status on_launch(void *user, size_t candidate, tdt_error *error) {
  Miss *miss = user;
  tdt_status status = crossing_stopped(&miss->crossing, error);
  if (status != TDT_OK) {
    return status;
  }
  crossing_enter(&miss->crossing);
  PyObject *result = prepare_run(miss, candidate);
  if (result == NULL) {
    return crossing_fail(&miss->crossing, error);
  }
  if (around_take_result(miss, candidate, result) < 0) {
    return crossing_fail(&miss->crossing, error);
  }
  return TDT_OK;
}

/* An Exception here is no news: a device that is ruined fails again when it is synchronized. */
static void on_discard(void *user, size_t candidate) {
  (void)candidate;
  Miss *miss = user;
  crossing_enter(&miss->crossing);
  PyObject *done =
      cold_call(miss->tuner->state, COLD_DEVICE_MEMORY_RELEASE, &miss->place.object, 1);
  if (done == NULL && PyErr_ExceptionMatches(PyExc_Exception)) {
    PyErr_Clear();
  } else if (done == NULL) {
    (void)crossing_stop(&miss->crossing, NULL);
  }
  Py_XDECREF(done);
}

/* prune_fn(config, *args, **kwargs) */
static int wants(const Miss *miss, size_t candidate) {
  PyObject *config = miss_config(miss, candidate);
  if (config == NULL) {
    return -1;
  }
  PyObject *keep = miss_call(miss, miss->tuner->prune_fn, config);
  Py_DECREF(config);
  int truth = keep == NULL ? -1 : PyObject_IsTrue(keep);
  Py_XDECREF(keep);
  return truth;
}

static PyObject *prune_note(const Miss *miss, size_t candidate) {
  PyObject *config = text_to_str(tdt_space_config(miss->tuner->space, candidate));
  if (config == NULL) {
    return NULL;
  }
  PyObject *note = PyUnicode_FromFormat("raised by the prune_fn of %U for candidate %zu: %U",
                                        miss->tuner->name, candidate, config);
  Py_DECREF(config);
  return note;
}

static tdt_status on_prune(void *user, size_t candidate, bool *keep, tdt_error *error) {
  Miss *miss = user;
  tdt_status status = crossing_stopped(&miss->crossing, error);
  if (status != TDT_OK) {
    return status;
  }
  crossing_enter(&miss->crossing);
  int truth = wants(miss, candidate);
  if (truth < 0) {
    status = crossing_stop(&miss->crossing, error);
    exception_note(miss->crossing.stop, prune_note(miss, candidate));
  } else {
    *keep = truth > 0;
    if (*keep) {
      prepare_keep(miss, candidate);
    }
  }
  crossing_leave(&miss->crossing);
  return status;
}

static tdt_status on_poll(void *user, tdt_error *error) {
  Miss *miss = user;
  crossing_enter(&miss->crossing); /* before looking: another thread may have ended it */
  tdt_status status = crossing_stopped(&miss->crossing, error);
  if (status == TDT_OK && PyErr_CheckSignals() < 0) {
    status = crossing_stop(&miss->crossing, error);
  }
  crossing_leave(&miss->crossing);
  return status;
}

static PyObject *index_or_minus_one(size_t index) {
  return index == TDT_NONE ? PyLong_FromLong(-1) : PyLong_FromSize_t(index);
}

static PyObject *number_or_none(bool known, double number) {
  return known ? PyFloat_FromDouble(number) : Py_NewRef(Py_None);
}

static PyObject *text_or_none(const char *text) {
  return text == NULL ? Py_NewRef(Py_None) : text_to_str(text);
}

#define N_PROGRESS 9

/* Arguments of tdtune._cold.progress; a NULL among them: an error is set. */
static void progress_args(const Miss *miss, const tdt_progress *progress,
                          PyObject *args[N_PROGRESS]) {
  args[0] = Py_NewRef(miss->tuner->on_progress);
  args[1] = PyLong_FromSize_t(progress->n_candidates);
  args[2] = PyLong_FromSize_t(progress->n_done);
  args[3] = index_or_minus_one(progress->candidate);
  args[4] = PyLong_FromLong((long)progress->outcome);
  args[5] = number_or_none(progress->outcome == TDT_OUTCOME_TIMED, progress->time_ms);
  args[6] = text_or_none(progress->error);
  args[7] = index_or_minus_one(progress->best);
  args[8] = number_or_none(progress->best != TDT_NONE, progress->best_ms);
}

static void tell_progress(Miss *miss, const tdt_progress *progress) {
  PyObject *args[N_PROGRESS];
  PyObject *done = NULL;
  progress_args(miss, progress, args);
  if (!PyErr_Occurred()) {
    done = cold_call(miss->tuner->state, COLD_PROGRESS, args, N_PROGRESS);
  }
  for (size_t i = 0; i < N_PROGRESS; i++) {
    Py_XDECREF(args[i]);
  }
  if (done == NULL) {
    (void)crossing_stop(&miss->crossing, NULL);
  }
  Py_XDECREF(done);
}

/* After each candidate, so this is where the lock is given back. */
static void on_progress(void *user, const tdt_progress *progress) {
  Miss *miss = user;
  crossing_enter(&miss->crossing);
  if (miss->tuner->on_progress != Py_None && miss->crossing.stop == NULL) {
    tell_progress(miss, progress);
  }
  if (miss->crossing.stop == NULL) {
    bar_show(miss, progress);
  }
  crossing_leave(&miss->crossing);
}

static void on_log(void *user, tdt_log_level level, const char *message) {
  Miss *miss = user;
  bool had_lock = miss->crossing.has_lock;
  crossing_enter(&miss->crossing);
  if (cold_emit(miss->tuner->state, level, text_to_str(message), miss->call->verbose) < 0) {
    (void)crossing_stop(&miss->crossing, NULL);
  }
  if (!had_lock) {
    crossing_leave(&miss->crossing);
  }
}

void callbacks_install(tdt_request *request, Miss *miss) {
  request->log = (tdt_log){.write = on_log, .user = miss, .least = TDT_LOG_INFO};
  request->user = miss;
  request->device = &miss->place.device;
  request->group = &miss->board.engine;
  request->launch = on_launch;
  request->prune = miss->tuner->prune_fn == Py_None ? NULL : on_prune;
  request->discard = on_discard;
  request->poll = on_poll;
  request->progress = on_progress;
}
