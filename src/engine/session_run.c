/* SPDX-License-Identifier: MIT */
#include "engine/session_run.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/error.h"
#include "engine/callback.h"

enum { FIRST_RUNS = 32, FIRST_MARKS = 32 };

bool tdt__session_ends(tdt_status status) {
  return status == TDT_ENOMEM || status == TDT_ESTOPPED;
}

/* A failed candidate may have taken the device with it. */
static tdt_status check_device(const tdt_session *session, const tdt__site *site, size_t candidate,
                               tdt_error *error) {
  tdt_error told = TDT_ERROR_INIT;
  tdt_status status = session->device.table->synchronize(session->device.self, &told);
  if (tdt__session_ends(status)) {
    return tdt__pass_on(status, &told, error);
  }
  if (status != TDT_OK) {
    const tdt__trial *trial = &site->trials[candidate];
    status = tdt__fail(
        error, TDT_EDEVICE,
        "candidate [%zu] %s of kernel %s, key %s ruined the device %s: %s; and after "
        "that: %s",
        candidate, trial->config, site->kernel, site->key, session->device.id, trial->timing.error,
        told.code != TDT_OK ? tdt_error_text(&told) : tdt_status_text(status));
  }
  tdt_error_clear(&told);
  return status;
}

tdt_status tdt__session_fail_candidate(tdt_session *session, tdt__site *site, size_t candidate,
                                       tdt_status status, tdt_error *reason, tdt_error *error) {
  const char *text = tdt_error_text(reason);
  status = tdt__site_fail(site, candidate, text[0] != '\0' ? text : tdt_status_text(status), error);
  tdt_error_clear(reason);
  return status == TDT_OK ? check_device(session, site, candidate, error) : status;
}

static tdt_status note_run(const tdt__job *job, size_t candidate, size_t *index, tdt_error *error) {
  tdt_session *session = job->session;
  if (session->n_runs == session->runs_capacity) {
    size_t capacity = session->runs_capacity > 0 ? 2 * session->runs_capacity : FIRST_RUNS;
    if (capacity > SIZE_MAX / sizeof *session->runs) {
      return tdt__fail_memory(error);
    }
    tdt__run *runs = realloc(session->runs, capacity * sizeof *runs);
    if (runs == NULL) {
      return tdt__fail_memory(error);
    }
    session->runs = runs;
    session->runs_capacity = capacity;
  }
  *index = session->n_runs++;
  session->runs[*index] = (tdt__run){
      .site = job->site,
      .kind = job->slot.candidate == candidate ? TDT__RUN_DONE : TDT__RUN_STAND_IN,
      .slot = job->slot,
      .candidate = candidate,
      .mark = TDT_NONE,
      .ms = -1.0,
  };
  return TDT_OK;
}

/* Two marks that nothing in this pass has used. */
static tdt_status take_marks(tdt_session *session, size_t *mark, tdt_error *error) {
  if (session->n_marks + 2 > session->n_marks_reserved) {
    size_t n = session->n_marks_reserved > 0 ? 2 * session->n_marks_reserved : FIRST_MARKS;
    tdt_error told = TDT_ERROR_INIT;
    tdt_status status = session->device.table->reserve(session->device.self, n, &told);
    if (status != TDT_OK) {
      return tdt__pass_on(tdt__session_ends(status) ? status : TDT_EDEVICE, &told, error);
    }
    tdt_error_clear(&told);
    session->n_marks_reserved = n;
  }
  *mark = session->n_marks;
  session->n_marks += 2;
  return TDT_OK;
}

/* Whose fault a failed run is: only the candidate's own failure leaves the pass going. */
typedef struct attempt {
  tdt_status status; /* OK: nothing failed */
  bool ran;          /* what follows in the outer function has what it needs */
  bool ends;         /* the failure ends the pass */
} attempt;

static tdt_status prepare(const tdt_launch *launch, size_t candidate, bool marked,
                          tdt_error *reason) {
  return launch->before == NULL ? TDT_OK : launch->before(launch->user, candidate, marked, reason);
}

static attempt launch_marked(const tdt__job *job, size_t candidate, size_t mark,
                             tdt_error *reason) {
  const tdt_device *device = &job->session->device;
  attempt made = {prepare(job->launch, candidate, mark != TDT_NONE, reason), false, false};
  made.ends = made.status == TDT_ESTOPPED;
  if (made.status == TDT_OK && mark != TDT_NONE) {
    made.status = device->table->mark(device->self, mark, reason);
    made.ends = tdt__session_ends(made.status);
  }
  if (made.status == TDT_OK) {
    made.status = job->launch->launch(job->launch->user, candidate, reason);
    made.ran = made.status == TDT_OK;
    made.ends = made.status == TDT_ESTOPPED;
  }
  if (made.ran && mark != TDT_NONE) {
    made.status = device->table->mark(device->self, mark + 1, reason);
    made.ends = tdt__session_ends(made.status);
  }
  return made;
}

tdt_status tdt__session_try(const tdt__job *job, size_t candidate, bool *ran, tdt_error *error) {
  tdt_session *session = job->session;
  /* A warm-up is marked, too, so that all that is done for the first time is done before time
   * counts; nobody reads its time. A stand-in is none of either. */
  const bool own_turn = job->slot.kind != TDT__STEP_DONE && job->slot.candidate == candidate;
  const bool timed = own_turn && job->slot.kind == TDT__STEP_TIMED;
  size_t index = 0;
  size_t mark = TDT_NONE;
  *ran = false;
  tdt_status status = own_turn ? take_marks(session, &mark, error) : TDT_OK;
  if (status == TDT_OK) {
    status = note_run(job, candidate, &index, error);
  }
  if (status != TDT_OK) {
    return status;
  }

  tdt_error reason = TDT_ERROR_INIT;
  const attempt made = launch_marked(job, candidate, mark, &reason);
  *ran = made.ran;
  if (made.status == TDT_OK) {
    job->site->last_good = candidate;
    session->runs[index].mark = timed ? mark : TDT_NONE;
    tdt_error_clear(&reason);
  } else {
    session->runs[index].kind = TDT__RUN_FAILED;
  }
  if (session->broken.code != TDT_OK) { /* by a launch inside this one */
    tdt_error_clear(&reason);
    return session->broken.code;
  }
  if (made.status == TDT_OK) {
    return TDT_OK;
  }
  if (made.ends) {
    return tdt__pass_on(made.status, &reason, error);
  }
  return tdt__session_fail_candidate(session, job->site, candidate, made.status, &reason, error);
}

tdt_status tdt__session_just_run(const tdt_launch *launch, size_t candidate, tdt_error *error) {
  tdt_error told = TDT_ERROR_INIT;
  tdt_status status = prepare(launch, candidate, false, &told);
  if (status == TDT_OK) {
    status = launch->launch(launch->user, candidate, &told);
  }
  if (status != TDT_OK) {
    return tdt__pass_on(status, &told, error);
  }
  tdt_error_clear(&told);
  return TDT_OK;
}
