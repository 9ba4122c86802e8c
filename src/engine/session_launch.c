/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "engine/callback.h"
#include "engine/session.h"
#include "engine/session_log.h"

/*
 * What a launch inside the outer function does. User code may come back in here: everything that
 * counts (slot, mark, place in the list of runs) is taken before it is called and reached by index
 * afterwards, and whether the pass was ended meanwhile is asked again.
 */
typedef struct job {
  tdt_session *session;
  tdt__site *site;
  const tdt_launch *launch;
  tdt__slot slot;
} job;

enum { FIRST_RUNS = 32, FIRST_MARKS = 32 };

bool tdt__session_ends(tdt_status status) {
  return status == TDT_ENOMEM || status == TDT_ESTOPPED;
}

/* -- failures ------------------------------------------------------------------------------------
 */

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

/* The first launch that ends the pass says why; later ones, and the run, repeat it. */
static tdt_status end_pass(tdt_session *session, tdt_status status, tdt_error *told,
                           tdt_error *error) {
  if (session->broken.code == TDT_OK) {
    (void)tdt__fail(&session->broken, status, "%s", tdt_error_text(told));
  }
  tdt_error_clear(told);
  return tdt__fail(error, session->broken.code, "%s", tdt_error_text(&session->broken));
}

/* -- one run of one candidate --------------------------------------------------------------------
 */

static tdt_status note_run(const job *j, size_t candidate, size_t *index, tdt_error *error) {
  tdt_session *session = j->session;
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
      .site = j->site,
      .kind = j->slot.candidate == candidate ? TDT__RUN_DONE : TDT__RUN_STAND_IN,
      .slot = j->slot,
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

static tdt_status prepare(const tdt_launch *launch, size_t candidate, bool timed,
                          tdt_error *reason) {
  return launch->before == NULL ? TDT_OK : launch->before(launch->user, candidate, timed, reason);
}

static attempt launch_marked(const job *j, size_t candidate, size_t mark, tdt_error *reason) {
  const tdt_device *device = &j->session->device;
  attempt made = {prepare(j->launch, candidate, mark != TDT_NONE, reason), false, false};
  made.ends = made.status == TDT_ESTOPPED;
  if (made.status == TDT_OK && mark != TDT_NONE) {
    made.status = device->table->mark(device->self, mark, reason);
    made.ends = tdt__session_ends(made.status);
  }
  if (made.status == TDT_OK) {
    made.status = j->launch->launch(j->launch->user, candidate, reason);
    made.ran = made.status == TDT_OK;
    made.ends = made.status == TDT_ESTOPPED;
  }
  if (made.ran && mark != TDT_NONE) {
    made.status = device->table->mark(device->self, mark + 1, reason);
    made.ends = tdt__session_ends(made.status);
  }
  return made;
}

/* Runs a candidate, timed if it is its turn for that. TDT_OK with *ran false: the candidate failed
 * and another must take its place. Anything else ends the pass. */
static tdt_status try_candidate(const job *j, size_t candidate, bool *ran, tdt_error *error) {
  tdt_session *session = j->session;
  const bool timed = j->slot.kind == TDT__STEP_TIMED && j->slot.candidate == candidate;
  size_t index = 0;
  size_t mark = TDT_NONE;
  *ran = false;
  tdt_status status = note_run(j, candidate, &index, error);
  if (status == TDT_OK && timed) {
    status = take_marks(session, &mark, error);
  }
  if (status != TDT_OK) {
    return status;
  }

  tdt_error reason = TDT_ERROR_INIT;
  const attempt made = launch_marked(j, candidate, mark, &reason);
  *ran = made.ran;
  if (made.status == TDT_OK) {
    j->site->last_good = candidate;
    session->runs[index].mark = mark;
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
  return tdt__session_fail_candidate(session, j->site, candidate, made.status, &reason, error);
}

/* -- one launch ----------------------------------------------------------------------------------
 */

static size_t first_choice(const job *j) {
  const tdt__trial *in_turn = &j->site->trials[j->slot.candidate];
  return in_turn->failed_here ? tdt__site_stand_in(j->site) : j->slot.candidate;
}

/* The candidate whose turn it is, or whatever works in its place. */
static tdt_status run_any(const job *j, tdt_error *error) {
  bool ran = false;
  for (size_t candidate = first_choice(j); !ran; candidate = tdt__site_stand_in(j->site)) {
    if (candidate == TDT_NONE) {
      return tdt__site_refuse(j->site, error);
    }
    tdt_status status = try_candidate(j, candidate, &ran, error);
    if (status != TDT_OK) {
      return status;
    }
  }
  return TDT_OK;
}

static tdt_status open_site(tdt_session *session, const tdt_launch *launch, tdt__site **site,
                            tdt_error *error) {
  tdt_status status = tdt__site_create(launch, &session->plan, site, error);
  if (status != TDT_OK) {
    return status;
  }
  status = tdt__sites_add(&session->sites, *site, error);
  if (status != TDT_OK) {
    tdt__site_destroy(*site);
    return status;
  }
  tdt__session_log_found(session, *site);
  return TDT_OK;
}

static tdt_status run_winner(const tdt_launch *launch, size_t winner, tdt_error *error) {
  tdt_error told = TDT_ERROR_INIT;
  tdt_status status = prepare(launch, winner, false, &told);
  if (status == TDT_OK) {
    status = launch->launch(launch->user, winner, &told);
  }
  if (status != TDT_OK) {
    return tdt__pass_on(status, &told, error);
  }
  tdt_error_clear(&told);
  return TDT_OK;
}

static tdt_status launch_in_pass(tdt_session *session, const tdt_launch *launch, tdt_error *error) {
  tdt_error told = TDT_ERROR_INIT;
  if (session->broken.code != TDT_OK) {
    return end_pass(session, session->broken.code, &told, error);
  }
  tdt__site *site = tdt__sites_find(&session->sites, launch->kernel, launch->key);
  tdt_status status = TDT_OK;
  if (site == NULL) {
    status = open_site(session, launch, &site, &told);
  }
  if (status == TDT_OK && !tdt__site_open(site)) {
    return run_winner(launch, site->winner, error);
  }
  if (status == TDT_OK) {
    const job j = {session, site, launch, tdt__site_take_slot(site)};
    status = run_any(&j, &told);
  }
  return status != TDT_OK ? end_pass(session, status, &told, error) : TDT_OK;
}

static const char *missing_field(const tdt_launch *launch) {
  if (launch->kernel == NULL || launch->key == NULL) {
    return launch->kernel == NULL ? "kernel" : "key";
  }
  if (launch->space == NULL || launch->launch == NULL) {
    return launch->space == NULL ? "space" : "launch";
  }
  return NULL;
}

/* A caller built with an older header hands over fewer fields: the rest keep their defaults. */
static tdt_status take_fields(tdt_launch *full, const tdt_launch *launch, tdt_error *error) {
  const size_t first_version = offsetof(tdt_launch, launch) + sizeof launch->launch;
  *full = (tdt_launch){0};
  if (launch->size < first_version) {
    (void)tdt__fail(error, TDT_EINVAL, "launch: size is %zu, must be sizeof(tdt_launch)",
                    launch->size);
    return TDT_EINVAL;
  }
  memcpy(full, launch, launch->size < sizeof *full ? launch->size : sizeof *full);
  const char *missing = missing_field(full);
  if (missing != NULL) {
    (void)tdt__fail(error, TDT_EINVAL, "launch: %s is missing", missing);
    return TDT_EINVAL;
  }
  return TDT_OK;
}

tdt_status tdt_session_launch(tdt_session *session, const tdt_launch *launch, tdt_error *error) {
  tdt_launch full;
  tdt_status status = take_fields(&full, launch, error);
  if (status != TDT_OK) {
    return status;
  }
  if (session->in_pass) {
    return launch_in_pass(session, &full, error);
  }
  const tdt__site *site = tdt__sites_find(&session->sites, full.kernel, full.key);
  return run_winner(&full, site != NULL && !tdt__site_open(site) ? site->winner : 0, error);
}
