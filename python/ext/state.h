/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_STATE_H
#define TDT_EXT_STATE_H

#include "compat.h"

#include <sys/types.h>

#include <tdtune/tdtune.h>

/* What tdtune._cold does for the extension. Fetched once, at the first construction, so that no
 * call looks for a name in a module. */
#define COLD_LIST(X)                                                                               \
  X(BLUEPRINT, blueprint)                                                                          \
  X(IDENTIFY, identify)                                                                            \
  X(DESCRIBE_KEY, describe_key)                                                                    \
  X(MAY_BE_COMPARED, may_be_compared)                                                              \
  X(SITUATION, situation)                                                                          \
  X(RESOLVE_GROUP, resolve_group)                                                                  \
  X(EMIT, emit)                                                                                    \
  X(PROGRESS, progress)                                                                            \
  X(PROGRESS_BAR, progress_bar)                                                                    \
  X(AROUND, around)                                                                                \
  X(DEVICE_MEMORY_RELEASE, device_memory_release)                                                  \
  X(DEVICE_ENTER, device_enter)                                                                    \
  X(FORESEE, foresee)                                                                              \
  X(CONTEXTUAL_NAME, contextual_name)                                                              \
  X(CONTEXTUAL, contextual)

typedef enum ColdFunction {
#define COLD_ENUM_(id, name) COLD_##id,
  COLD_LIST(COLD_ENUM_)
#undef COLD_ENUM_
      N_COLD
} ColdFunction;

/* The keywords that are for the tuner and not for the function. */
#define CONTROL_LIST(X)                                                                            \
  X(AUTOTUNE, "autotune")                                                                          \
  X(VERBOSE, "autotune_verbose")                                                                   \
  X(OVERWRITE, "autotune_allow_arg_overwrite")                                                     \
  X(PG, "autotune_pg")

typedef enum Control {
#define CONTROL_ENUM_(id, name) CONTROL_##id,
  CONTROL_LIST(CONTROL_ENUM_)
#undef CONTROL_ENUM_
      N_CONTROLS
} Control;

/*
 * One per module object. Every tuner holds the module, so the context outlives the engine's tuners
 * that borrow it.
 */
typedef struct ModuleState {
  PyTypeObject *autotuner_type;
  PyTypeObject *contextual_type;
  PyTypeObject *session_type;
  PyTypeObject *tunable_type;
  PyTypeObject *group_type;
  PyTypeObject *by_layout_type;
  tdt_context *context;
  PyObject *stores;               /* dict: folder -> capsule of its tdt_store */
  PyObject *controls[N_CONTROLS]; /* the names, interned */
  PyObject *cold[N_COLD];
  PyObject *update_wrapper; /* of functools */
  PyObject *signature;      /* of inspect */
  PyObject *active;         /* the contextual tuner that is being called, NULL: none */
  PyObject *taken;          /* list: what takeover_end() puts back; NULL: nothing */
  pid_t active_pid;         /* of the process in which it became active */
  PyObject *watched;        /* what prepare_run() puts back; NULL: nothing */
  Py_ssize_t n_watching;    /* runs that are being watched */
  pid_t watching_pid;       /* of the process in which that began */
} ModuleState;

ModuleState *state_of(PyObject *module);

/* Fetches what COLD_LIST names, and the two standard functions, unless that was done. */
int state_load_cold(ModuleState *state);

/* Calls a function of tdtune._cold. `args` are borrowed. */
PyObject *cold_call(const ModuleState *state, ColdFunction which, PyObject *const *args,
                    size_t n_args);

/* Hands one line to tdtune._cold.emit. Steals `message`, which may be NULL with an error set. */
int cold_emit(const ModuleState *state, tdt_log_level level, PyObject *message, bool verbose);

/* The store in the folder that counts now, and in *holder what keeps it open (a new reference).
 * NULL with an error set. */
tdt_store *state_store(ModuleState *state, PyObject **holder);

#endif
