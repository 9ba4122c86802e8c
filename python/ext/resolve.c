/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include <string.h>

#include "around.h"
#include "bar.h"
#include "callable.h"
#include "callbacks.h"
#include "convert.h"
#include "front.h"
#include "identify.h"
#include "overwrite.h"
#include "prepare.h"
#include "resolve.h"
#include "withdraw.h"

/* Everything that a miss needs besides the tuner; texts are borrowed from the objects. */
typedef struct Needs {
  PyObject *situation;
  PyObject *hardware;
  PyObject *dependencies;
  PyObject *store_holder;
  tdt_store *store;
  tdt_settings settings;
} Needs;

static void needs_clear(Needs *needs) {
  Py_CLEAR(needs->situation);
  Py_CLEAR(needs->hardware);
  Py_CLEAR(needs->dependencies);
  Py_CLEAR(needs->store_holder);
}

static PyObject *ask_situation(const AutoTuner *self, const Call *call) {
  PyObject *args[] = {callable_positional(call->args, call->n_args),
                      callable_keywords(call->args + call->n_args, call->names),
                      call->pg == NULL ? Py_None : call->pg};
  PyObject *situation = NULL;
  if (args[0] != NULL && args[1] != NULL) {
    situation = cold_call(self->state, COLD_SITUATION, args, 3);
  }
  Py_XDECREF(args[0]);
  Py_XDECREF(args[1]);
  return situation;
}

static int needs_open(Needs *needs, AutoTuner *self, const Call *call) {
  needs->situation = ask_situation(self, call);
  if (needs->situation == NULL) {
    return -1;
  }
  needs->hardware = PyObject_GetAttrString(needs->situation, "hardware");
  needs->dependencies = PyObject_GetAttrString(needs->situation, "dependencies");
  if (needs->hardware == NULL || needs->dependencies == NULL) {
    return -1;
  }
  if (self->store_doubt != Py_None) {
    return 0;
  }
  needs->store = state_store(self->state, &needs->store_holder);
  return needs->store == NULL ? -1 : 0;
}

static int needs_settings(Needs *needs) {
  tdt_error error = TDT_ERROR_INIT;
  if (tdt_settings_from_environment(&needs->settings, &error) != TDT_OK) {
    return raise_status(&error, NULL);
  }
  return 0;
}

static int fill_request(tdt_request *request, const AutoTuner *self, const Needs *needs,
                        const char *key) {
  tdt_request_init(request);
  request->key = key;
  request->hardware = text_from_str(needs->hardware, "the hardware description");
  request->dependencies = text_from_str(needs->dependencies, "the list of dependencies");
  if (request->hardware == NULL || request->dependencies == NULL) {
    return -1;
  }
  request->prune_rule = identity_prune_rule(self);
  request->settings = &needs->settings;
  request->store = needs->store;
  return request->prune_rule == NULL ? -1 : 0;
}

static int open_place(Miss *miss, const Needs *needs) {
  PyObject *device = PyObject_GetAttrString(needs->situation, "place");
  int done = device == NULL ? -1 : place_open(&miss->place, &miss->crossing, device);
  Py_XDECREF(device);
  return done;
}

static int open_board(Miss *miss, const Needs *needs) {
  PyObject *group = PyObject_GetAttrString(needs->situation, "group");
  int done = group == NULL
                 ? -1
                 : board_open(&miss->board, miss->tuner->state->group_type, &miss->crossing, group);
  Py_XDECREF(group);
  return done;
}

static int open_lane(Miss *miss) {
  miss->lane = lane_make(&miss->tuner->lane, miss->call->pg);
  return miss->lane == NULL ? -1 : identity_engine(miss->tuner, miss->lane);
}

/* All that comes before the engine. */
static int miss_open(Miss *miss, Needs *needs, tdt_request *request, const char *key) {
  AutoTuner *self = miss->tuner;
  if (identity_ensure(self, miss->call->verbose) < 0 || needs_settings(needs) < 0 ||
      needs_open(needs, self, miss->call) < 0 || fill_request(request, self, needs, key) < 0) {
    return -1;
  }
  if (open_place(miss, needs) < 0 || open_board(miss, needs) < 0 || open_lane(miss) < 0) {
    return -1;
  }
  callbacks_install(request, miss);
  around_install(request, miss);
  prepare_install(request, miss, needs->settings.n_workers);
  return 0;
}

static void miss_close(Miss *miss) {
  Py_CLEAR(miss->unpruned);
  around_close(miss);
  board_close(&miss->board);
  place_close(&miss->place);
  crossing_clear(&miss->crossing);
}

/* Runs the engine, and turns its answer into Python's. */
static int run_engine(Miss *miss, const tdt_request *request, tdt_choice *choice) {
  Crossing *crossing = &miss->crossing;
  tdt_error error = TDT_ERROR_INIT;
  crossing_leave(crossing);
  tdt_status status = tdt_tuner_resolve(miss->lane->engine, request, choice, &error);
  crossing_enter(crossing);
  bar_close(miss);
  if (crossing->stop != NULL) {
    tdt_error_clear(&error);
    exception_raise(crossing->stop);
    crossing->stop = NULL;
    return -1;
  }
  if (status == TDT_OK) {
    return around_finish(miss);
  }
  bool has_cause = status == TDT_EFAILED || status == TDT_EDEVICE || status == TDT_ELAUNCH;
  return raise_status(&error, has_cause ? crossing->failure : NULL);
}

/* *lane becomes the one that it was asked for in. */
static int resolve_text(AutoTuner *self, const Call *call, const char *key, Lane **lane,
                        tdt_choice *choice) {
  Needs needs = {0};
  Miss miss = {
      .crossing = {.has_lock = true, .handled = exception_handled()}, .tuner = self, .call = call};
  tdt_request request;
  int done = miss_open(&miss, &needs, &request, key);
  if (done < 0) {
    (void)withdraw_call(self, call);
  } else {
    done = run_engine(&miss, &request, choice);
  }
  *lane = miss.lane;
  miss_close(&miss);
  needs_clear(&needs);
  return done;
}

/* Canonical text of the call's key: a new reference. */
static PyObject *key_text(const AutoTuner *self, const Call *call, PyObject *key) {
  PyObject *text = cold_call(self->state, COLD_DESCRIBE_KEY, &key, 1);
  if (text != NULL && !PyUnicode_Check(text)) {
    PyErr_Format(PyExc_TypeError, "the description of a key is text, not %R", text);
    Py_CLEAR(text);
  }
  return overwrite_key(self, call, text);
}

static int tell_hit(const AutoTuner *self, const char *key, size_t candidate) {
  PyObject *message = PyUnicode_FromFormat("%U, key %s: [%zu] %s is remembered", self->name, key,
                                           candidate, tdt_space_config(self->space, candidate));
  return cold_emit(self->state, TDT_LOG_INFO, message, true);
}

static int choose(AutoTuner *self, const Call *call, const char *key, Lane **lane,
                  tdt_choice *choice) {
  if (*lane == NULL || (*lane)->engine == NULL ||
      !tdt_tuner_lookup((*lane)->engine, key, strlen(key), &choice->candidate)) {
    return resolve_text(self, call, key, lane, choice);
  }
  choice->remembered = true;
  return call->verbose ? tell_hit(self, key, choice->candidate) : 0;
}

int resolve_key(AutoTuner *self, const Call *call, Lane *lane, PyObject *key, size_t *candidate) {
  PyObject *text = key_text(self, call, key);
  const char *utf8 = text == NULL ? NULL : text_from_str(text, "the description of a key");
  if (utf8 == NULL) {
    Py_XDECREF(text);
    return withdraw_call(self, call);
  }
  tdt_choice choice = {0};
  int done = choose(self, call, utf8, &lane, &choice);
  Py_DECREF(text);
  if (done == 0 && choice.remembered && call->overwritten == NULL) {
    done = front_add(self->state, lane->front, key, choice.candidate);
  }
  if (done < 0) {
    return -1;
  }
  *candidate = choice.candidate;
  return 1;
}

static PyObject *path_of(const AutoTuner *self, const Needs *needs, const char *key) {
  tdt_identity identity = {.key = key};
  identity.hardware = text_from_str(needs->hardware, "the hardware description");
  if (identity.hardware == NULL || identity_function(self->identity, &identity.function) < 0) {
    return NULL;
  }
  char *path = NULL;
  tdt_error error = TDT_ERROR_INIT;
  if (tdt_store_path(needs->store, &identity, &path, &error) != TDT_OK) {
    (void)raise_status(&error, NULL);
    return NULL;
  }
  PyObject *str = PyUnicode_DecodeFSDefault(path);
  tdt_text_free(path);
  return str;
}

static PyObject *path_for_text(AutoTuner *self, const Call *call, PyObject *text) {
  const char *key = text_from_str(text, "the description of a key");
  if (key == NULL || identity_ensure(self, false) < 0) {
    return NULL;
  }
  if (self->store_doubt != Py_None) {
    return Py_NewRef(Py_None);
  }
  Needs needs = {0};
  PyObject *path = NULL;
  if (needs_open(&needs, self, call) == 0) {
    path = path_of(self, &needs, key);
  }
  needs_clear(&needs);
  return path;
}

PyObject *resolve_path(AutoTuner *self, const Call *call, PyObject *key) {
  PyObject *text = key_text(self, call, key);
  if (text == NULL) {
    return NULL;
  }
  PyObject *path = path_for_text(self, call, text);
  Py_DECREF(text);
  return path;
}
