/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include "bar.h"
#include "convert.h"

/* Of several ranks the first one shows it. */
static PyObject *open_bar(const Miss *miss, const tdt_progress *progress) {
  if (miss->board.engine.rank != 0) {
    return Py_NewRef(Py_None);
  }
  PyObject *n = PyLong_FromSize_t(progress->n_candidates);
  PyObject *args[] = {miss->tuner->name, n, miss->call->verbose ? Py_True : Py_False};
  PyObject *bar = n == NULL ? NULL : cold_call(miss->tuner->state, COLD_PROGRESS_BAR, args, 3);
  Py_XDECREF(n);
  return bar;
}

static PyObject *update(const Miss *miss, const tdt_progress *progress) {
  const bool any = progress->best != TDT_NONE;
  PyObject *config =
      any ? text_to_str(tdt_space_config(miss->tuner->space, progress->best)) : Py_NewRef(Py_None);
  if (config == NULL) {
    return NULL;
  }
  return PyObject_CallMethod(miss->bar, "update", "nNd", (Py_ssize_t)progress->n_done, config,
                             any ? progress->best_ms : 0.0);
}

static void settle(Miss *miss, PyObject *done) {
  if (done == NULL) {
    (void)crossing_stop(&miss->crossing, NULL);
  }
  Py_XDECREF(done);
}

void bar_show(Miss *miss, const tdt_progress *progress) {
  if (miss->bar == NULL) {
    miss->bar = open_bar(miss, progress);
    if (miss->bar == NULL) {
      settle(miss, NULL);
    }
  } else if (miss->bar != Py_None) {
    settle(miss, update(miss, progress));
  }
}

void bar_close(Miss *miss) {
  if (miss->bar != NULL && miss->bar != Py_None) {
    settle(miss, PyObject_CallMethod(miss->bar, "close", NULL));
  }
  Py_CLEAR(miss->bar);
}
