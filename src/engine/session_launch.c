/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "engine/session.h"
#include "engine/session_log.h"
#include "engine/session_run.h"

/* The first launch that ends the pass says why; later ones, and the run, repeat it. */
static tdt_status end_pass(tdt_session *session, tdt_status status, tdt_error *told,
                           tdt_error *error) {
  if (session->broken.code == TDT_OK) {
    (void)tdt__fail(&session->broken, status, "%s", tdt_error_text(told));
  }
  tdt_error_clear(told);
  return tdt__fail(error, session->broken.code, "%s", tdt_error_text(&session->broken));
}

static size_t first_choice(const tdt__job *job) {
  const tdt__trial *in_turn = &job->site->trials[job->slot.candidate];
  return in_turn->failed_here ? tdt__site_stand_in(job->site) : job->slot.candidate;
}

/* The candidate whose turn it is, or whatever works in its place. */
static tdt_status run_any(const tdt__job *job, tdt_error *error) {
  bool ran = false;
  for (size_t candidate = first_choice(job); !ran; candidate = tdt__site_stand_in(job->site)) {
    if (candidate == TDT_NONE) {
      return tdt__site_refuse(job->site, error);
    }
    tdt_status status = tdt__session_try(job, candidate, &ran, error);
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
    return tdt__session_just_run(launch, site->winner, error);
  }
  if (status == TDT_OK) {
    const tdt__job job = {session, site, launch, tdt__site_take_slot(site)};
    status = run_any(&job, &told);
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
  return tdt__session_just_run(&full, site != NULL && !tdt__site_open(site) ? site->winner : 0,
                               error);
}
