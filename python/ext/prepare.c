/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include "convert.h"
#include "prepare.h"

/* -- threads -------------------------------------------------------------------------------------
 */

/* The interpreter lock, for the calling thread or one of the engine's. */
typedef struct Visit {
  Miss *miss;
  bool is_worker;
  PyGILState_STATE state;
} Visit;

static Visit visit_begin(Miss *miss) {
  Visit visit = {.miss = miss, .is_worker = PyThread_get_thread_ident() != miss->thread};
  if (visit.is_worker) {
    visit.state = PyGILState_Ensure();
  } else {
    crossing_enter(&miss->crossing);
  }
  return visit;
}

static void visit_end(const Visit *visit) {
  if (visit->is_worker) {
    PyGILState_Release(visit->state);
  } else {
    crossing_leave(&visit->miss->crossing);
  }
}

/* A new thread is on device 0; the calling thread is where its user wants it to be. */
static int enter_device(const Visit *visit) {
  if (!visit->is_worker) {
    return 0;
  }
  PyObject *done =
      cold_call(visit->miss->tuner->state, COLD_DEVICE_ENTER, &visit->miss->place.object, 1);
  Py_XDECREF(done);
  return done == NULL ? -1 : 0;
}

/* -- prepare_fn ----------------------------------------------------------------------------------
 */

/* prepare_fn(config, *args, **kwargs) */
static int call_prepare(const Visit *visit, size_t candidate) {
  const Miss *miss = visit->miss;
  PyObject *config = enter_device(visit) < 0 ? NULL : miss_config(miss, candidate);
  PyObject *done = config == NULL ? NULL : miss_call(miss, miss->tuner->prepare_fn, config);
  Py_XDECREF(config);
  Py_XDECREF(done);
  return done == NULL ? -1 : 0;
}

/* An Exception says why the candidate is not prepared, anything else ends the tuning. */
static tdt_status take_exception(Miss *miss, tdt_error *error) {
  if (!PyErr_ExceptionMatches(PyExc_Exception)) {
    return crossing_stop(&miss->crossing, error);
  }
  PyObject *exception = exception_take();
  tdt_status status = exception_to_error(exception, TDT_EFAILED, error);
  Py_DECREF(exception);
  return status;
}

static tdt_status on_prepare(void *user, size_t candidate, tdt_error *error) {
  Miss *miss = user;
  tdt_status status = TDT_OK;
  Visit visit = visit_begin(miss);
  if (call_prepare(&visit, candidate) < 0) {
    status = take_exception(miss, error);
  }
  visit_end(&visit);
  return status;
}

/* -- kernels of Triton ---------------------------------------------------------------------------
 */

static bool uses_triton(void) {
  PyObject *name = PyUnicode_FromString("triton.runtime.jit");
  PyObject *module = name == NULL ? NULL : PyImport_GetModule(name);
  const bool there = module != NULL && module != Py_None;
  PyErr_Clear();
  Py_XDECREF(name);
  Py_XDECREF(module);
  return there;
}

void prepare_install(tdt_request *request, Miss *miss, unsigned n_workers) {
  miss->thread = PyThread_get_thread_ident();
  if (miss->tuner->prepare_fn != Py_None) {
    request->prepare = on_prepare;
  }
  miss->n_workers = n_workers;
  miss->watches = n_workers > 1 && miss->tuner->candidates.n > 1 && uses_triton();
  if (miss->watches && request->prune != NULL) {
    miss->unpruned = PyList_New(0);
    miss->watches = miss->unpruned != NULL;
    PyErr_Clear();
  }
}

void prepare_keep(Miss *miss, size_t candidate) {
  PyObject *index = miss->unpruned == NULL ? NULL : PyLong_FromSize_t(candidate);
  if (index == NULL || PyList_Append(miss->unpruned, index) < 0) {
    PyErr_Clear(); /* one less is compiled ahead */
  }
  Py_XDECREF(index);
}
