/* SPDX-License-Identifier: MIT */
#include "engine/session_standing.h"

#include <stdlib.h>

#include "base/text.h"

static char *describe_plan(const tdt_session *session) {
  const tdt_plan *plan = &session->plan;
  tdt__text text = TDT__TEXT_INIT;
  tdt__text_format(&text, "%u warm-ups, %u timed runs, statistic %d, %u idle passes",
                   plan->n_warmup, plan->n_repeat, (int)plan->statistic, session->n_idle_passes);
  return tdt__text_take(&text);
}

static void add_name(tdt__text *text, const tdt__site *site) {
  tdt__text_add(text, site->kernel);
  tdt__text_add(text, "[");
  tdt__text_add(text, site->key);
  tdt__text_add(text, "]");
}

static void add_candidates(tdt__text *text, const tdt__site *site) {
  tdt__text_format(text, "%zu of %s (%016llx)", site->n_trials, site->kernel,
                   (unsigned long long)site->configs_hash);
}

static void add_slots(tdt__text *text, const tdt__site *site) {
  tdt__text_add(text, site->kernel);
  if (site->step.kind == TDT__STEP_DONE) {
    tdt__text_add(text, " is through");
    return;
  }
  tdt__text_format(text, " is at candidate %zu, %u of %u %s", site->step.candidate, site->n_used,
                   site->step.n_runs,
                   site->step.kind == TDT__STEP_WARMUP ? "warm-ups" : "timed runs");
}

/* One piece for each open site. */
static char *describe_open(const tdt_session *session,
                           void (*add)(tdt__text *text, const tdt__site *site)) {
  const char *separator = "";
  tdt__text text = TDT__TEXT_INIT;
  for (size_t i = 0; i < session->sites.n; i++) {
    const tdt__site *site = session->sites.items[i];
    if (tdt__site_open(site)) {
      tdt__text_add(&text, separator);
      add(&text, site);
      separator = ", ";
    }
  }
  if (separator[0] == '\0') {
    tdt__text_add(&text, "none");
  }
  return tdt__text_take(&text);
}

bool tdt__standing_open(tdt__standing *made, const tdt_session *session) {
  *made = (tdt__standing){
      .plan = describe_plan(session),
      .kernels = describe_open(session, add_name),
      .candidates = describe_open(session, add_candidates),
      .launches = describe_open(session, add_slots),
  };
  return made->plan != NULL && made->kernels != NULL && made->candidates != NULL &&
         made->launches != NULL;
}

void tdt__standing_close(tdt__standing *made) {
  free(made->plan);
  free(made->kernels);
  free(made->candidates);
  free(made->launches);
}
