/* SPDX-License-Identifier: MIT */
#include "engine/session.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "engine/callback.h"
#include "engine/check.h"
#include "engine/plan.h"
#include "engine/session_agree.h"
#include "engine/session_log.h"

static const tdt_plan default_plan = {
    .size = sizeof(tdt_plan),
    .name = "contextual",
    .n_warmup = 3,
    .n_repeat = 5,
    .statistic = TDT_STATISTIC_MEAN,
};

void tdt_session_options_init(tdt_session_options *options) {
  *options =
      (tdt_session_options){.size = sizeof *options, .n_idle_passes = 3, .rank_timeout_s = 600.0};
}

/* In a session candidates run as the outer function comes by: each has its turn once. */
static tdt_status take_plan(const tdt_plan *given, tdt_plan *plan, tdt_error *error) {
  tdt_plan full;
  tdt_status status = tdt__plan_take(given != NULL ? given : &default_plan, &full, error);
  if (status != TDT_OK) {
    return status;
  }
  if (tdt__plan_decides(&full)) {
    return tdt__fail(error, TDT_EINVAL,
                     "plan %s: in a session every candidate runs equally often, n_more must be 0",
                     full.name);
  }
  *plan = full;
  plan->name = default_plan.name; /* the caller's may not live as long */
  return TDT_OK;
}

/* A caller built with an older header hands over fewer fields: the rest keep their defaults. */
static tdt_status take_options(tdt_session_options *full, tdt_plan *plan,
                               const tdt_session_options *options, tdt_error *error) {
  const size_t first_version = offsetof(tdt_session_options, decided) + sizeof options->decided;
  tdt_session_options_init(full);
  if (options->size < first_version) {
    return tdt__fail(error, TDT_EINVAL,
                     "session options: size is %zu, start with tdt_session_options_init()",
                     options->size);
  }
  memcpy(full, options, options->size < sizeof *full ? options->size : sizeof *full);
  if (full->n_idle_passes == 0) {
    return tdt__fail(error, TDT_EINVAL, "session options: n_idle_passes must be at least 1, is 0");
  }
  if (!(full->rank_timeout_s > 0.0)) {
    return tdt__fail(error, TDT_EINVAL, "session options: rank_timeout_s must be above 0, is %g",
                     full->rank_timeout_s);
  }
  tdt_status status = take_plan(full->plan, plan, error);
  if (status == TDT_OK && full->device != NULL) {
    status = tdt__device_check(full->device, error);
  }
  if (status == TDT_OK && full->group != NULL) {
    status = tdt__group_check(full->group, error);
  }
  return status;
}

tdt_status tdt_session_create(const tdt_session_options *options, tdt_session **session,
                              tdt_error *error) {
  tdt_session_options full;
  tdt_plan plan;
  tdt_status status = take_options(&full, &plan, options, error);
  if (status != TDT_OK) {
    return status;
  }
  tdt_session *made = calloc(1, sizeof *made);
  if (made == NULL) {
    return tdt__fail_memory(error);
  }
  made->plan = plan;
  made->group = full.group != NULL ? *full.group : tdt_group_self();
  made->n_idle_passes = full.n_idle_passes;
  made->log = full.log;
  made->user = full.user;
  made->decided = full.decided;
  made->rank_timeout_s = full.rank_timeout_s;
  made->poll = full.poll;
  made->name = full.name != NULL ? full.name : "outer function";
  if (full.device != NULL) {
    made->device = *full.device;
  } else {
    made->own_device = true;
    status = tdt_device_host_create(&made->device, error);
  }
  if (status != TDT_OK) {
    free(made);
    return status;
  }
  *session = made;
  return TDT_OK;
}

void tdt_session_destroy(tdt_session *session) {
  if (session == NULL) {
    return;
  }
  if (session->own_device) {
    tdt_device_host_destroy(&session->device);
  }
  tdt__sites_clear(&session->sites);
  tdt_error_clear(&session->broken);
  free(session->runs);
  free(session);
}

/* What the pass came to: the outer function's own failure, or that of a launch which it kept to
 * itself. */
static tdt_status call_outer(tdt_session *session, tdt_status (*outer)(void *, tdt_error *),
                             void *user, tdt_error *error) {
  tdt_error told = TDT_ERROR_INIT;
  session->in_pass = true;
  tdt_status status = outer(user, &told);
  session->in_pass = false;
  if (status != TDT_OK) {
    return tdt__pass_on(status, &told, error);
  }
  tdt_error_clear(&told);
  if (session->broken.code != TDT_OK) {
    return tdt__fail(error, session->broken.code, "%s", tdt_error_text(&session->broken));
  }
  return TDT_OK;
}

static tdt_status run_passes(tdt_session *session, tdt_status (*outer)(void *, tdt_error *),
                             void *user, tdt_error *error) {
  tdt_status status;
  bool last;
  do {
    session->n_passes++;
    tdt__session_talk_goes_on(session);
    session->n_runs = 0;
    session->n_marks = 0;
    status = call_outer(session, outer, user, error);
    last = tdt__sites_count_open(&session->sites) == 0;
    status = tdt__session_close_pass(session, status, error);
    tdt__session_log_pass(session, status, error);
  } while (status == TDT_OK && !last);
  return status;
}

tdt_status tdt_session_run(tdt_session *session, tdt_status (*outer)(void *user, tdt_error *error),
                           void *user, tdt_error *error) {
  if (session->running || outer == NULL) {
    return tdt__fail(error, TDT_EINVAL, "session: %s",
                     outer == NULL ? "outer is missing" : "it is running already");
  }
  tdt_error told = TDT_ERROR_INIT;
  session->running = true;
  session->n_passes = 0;
  tdt_status status = tdt__session_talk_begin(session, &told);
  if (status == TDT_OK) {
    status = run_passes(session, outer, user, &told);
    tdt__session_talk_end(session, status, &told);
  }
  session->running = false;
  session->n_runs = 0;
  tdt_error_clear(&session->broken);
  if (status != TDT_OK) {
    tdt__sites_drop_open(&session->sites);
    return tdt__pass_on(status, &told, error);
  }
  return TDT_OK;
}

size_t tdt_session_n_tunings(const tdt_session *session) {
  return session->sites.n;
}

tdt_status tdt_session_tuning_at(const tdt_session *session, size_t index,
                                 tdt_session_tuning *tuning, tdt_error *error) {
  if (index >= session->sites.n) {
    return tdt__fail(error, TDT_EINVAL, "session: no tuning %zu, there are %zu", index,
                     session->sites.n);
  }
  tdt__site_show(session->sites.items[index], tuning);
  return TDT_OK;
}
