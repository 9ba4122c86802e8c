/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include <unistd.h>

#include "inject.h"
#include "prepare.h"
#include "takeover.h"

/* What tdtune._cold.foresee returns, a tuple of these. */
enum { WATCHER, CLASS, NAME, REPLACEMENT, WATCHERS, N_PARTS };

/* -- the replaced method -------------------------------------------------------------------------
 */

/* A fork took the replacement along; who watched may not be there. */
static void forget_parent(ModuleState *state) {
  if (state->watched != NULL && state->watching_pid != getpid()) {
    takeover_put_back(state->watched);
    Py_CLEAR(state->watched);
    state->n_watching = 0;
  }
}

/* Several threads may watch at the same time: the first replaces the method, the last puts it
 * back. */
static int replace(ModuleState *state, PyObject *plan) {
  forget_parent(state);
  if (state->watched == NULL) {
    PyObject *entry = takeover_replace(PyTuple_GET_ITEM(plan, CLASS), PyTuple_GET_ITEM(plan, NAME),
                                       PyTuple_GET_ITEM(plan, REPLACEMENT));
    if (entry == NULL) {
      return -1;
    }
    state->watched = entry;
    state->watching_pid = getpid();
  }
  state->n_watching++;
  return 0;
}

static void put_back(ModuleState *state) {
  forget_parent(state);
  if (state->n_watching > 0 && --state->n_watching == 0) {
    takeover_put_back(state->watched);
    Py_CLEAR(state->watched);
  }
}

/* -- the watcher ---------------------------------------------------------------------------------
 */

/* One plan in use: who watches this thread, and who did before. */
typedef struct Watch {
  PyObject *watchers; /* dict: thread -> watcher */
  PyObject *thread;
  PyObject *outer; /* of a tuning around this one; NULL: nobody */
} Watch;

static void watch_end(ModuleState *state, Watch *watch) {
  PyObject *type = NULL;
  PyObject *value = NULL;
  PyObject *traceback = NULL;
  PyErr_Fetch(&type, &value, &traceback);
  put_back(state);
  int done = watch->outer != NULL ? PyDict_SetItem(watch->watchers, watch->thread, watch->outer)
                                  : PyDict_DelItem(watch->watchers, watch->thread);
  if (done < 0) {
    PyErr_Clear();
  }
  Py_XDECREF(watch->outer);
  Py_XDECREF(watch->thread);
  PyErr_Restore(type, value, traceback);
}

static int watch_begin(ModuleState *state, PyObject *plan, Watch *watch) {
  *watch = (Watch){.watchers = PyTuple_GET_ITEM(plan, WATCHERS)};
  watch->thread = PyLong_FromUnsignedLong(PyThread_get_thread_ident());
  if (watch->thread == NULL) {
    return -1;
  }
  watch->outer = Py_XNewRef(PyDict_GetItemWithError(watch->watchers, watch->thread));
  if (PyErr_Occurred() || replace(state, plan) < 0) {
    Py_CLEAR(watch->outer);
    Py_CLEAR(watch->thread);
    return -1;
  }
  if (PyDict_SetItem(watch->watchers, watch->thread, PyTuple_GET_ITEM(plan, WATCHER)) < 0) {
    watch_end(state, watch);
    return -1;
  }
  return 0;
}

/* -- the run -------------------------------------------------------------------------------------
 */

/* NULL without an error: there is nothing to watch. An Exception is as good as that. */
static PyObject *make_plan(Miss *miss, size_t candidate) {
  PyObject *index = PyLong_FromSize_t(candidate);
  PyObject *n_workers = PyLong_FromUnsignedLong(miss->n_workers);
  PyObject *args[] = {miss->tuner->config_space, index,
                      miss->unpruned == NULL ? Py_None : miss->unpruned, n_workers};
  PyObject *plan = NULL;
  if (index != NULL && n_workers != NULL) {
    plan = cold_call(miss->tuner->state, COLD_FORESEE, args, 4);
  }
  Py_XDECREF(index);
  Py_XDECREF(n_workers);
  if (plan != NULL && PyTuple_Check(plan) && PyTuple_GET_SIZE(plan) == N_PARTS &&
      PyDict_Check(PyTuple_GET_ITEM(plan, WATCHERS))) {
    return plan;
  }
  Py_XDECREF(plan);
  if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception)) {
    PyErr_Clear();
  }
  return NULL;
}

static PyObject *run(Miss *miss, size_t candidate) {
  return inject_run(miss->tuner, miss->call, &miss->tuner->candidates.items[candidate]);
}

static PyObject *run_watched(Miss *miss, size_t candidate, PyObject *plan) {
  ModuleState *state = miss->tuner->state;
  Watch watch;
  if (watch_begin(state, plan, &watch) < 0) {
    PyErr_Clear();
    return run(miss, candidate);
  }
  PyObject *result = run(miss, candidate);
  watch_end(state, &watch);
  return result;
}

PyObject *prepare_run(Miss *miss, size_t candidate) {
  PyObject *plan = miss->watches ? make_plan(miss, candidate) : NULL;
  if (plan == NULL && PyErr_Occurred()) {
    return NULL;
  }
  PyObject *result = plan == NULL ? run(miss, candidate) : run_watched(miss, candidate, plan);
  Py_XDECREF(plan);
  miss->watches = miss->watches && result == NULL;
  return result;
}
