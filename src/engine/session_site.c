/* SPDX-License-Identifier: MIT */
#include "engine/session_site.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/text.h"

uint64_t tdt__site_hash(const char *kernel, const char *key) {
  const uint64_t both[] = {tdt__hash(kernel, strlen(kernel)), tdt__hash(key, strlen(key))};
  return tdt__hash(both, sizeof both);
}

static tdt__site *create_empty(size_t n_trials) {
  if (n_trials > (SIZE_MAX - sizeof(tdt__site)) / sizeof(tdt__trial)) {
    return NULL;
  }
  tdt__site *site = calloc(1, sizeof *site + n_trials * sizeof(tdt__trial));
  if (site != NULL) {
    site->n_trials = n_trials;
    site->last_good = TDT_NONE;
    site->winner = TDT_NONE;
  }
  return site;
}

static bool copy_texts(tdt__site *site, const tdt_launch *launch) {
  site->kernel = strdup(launch->kernel);
  site->key = strdup(launch->key);
  site->views = calloc(site->n_trials, sizeof *site->views);
  bool copied = site->kernel != NULL && site->key != NULL && site->views != NULL;
  for (size_t i = 0; copied && i < site->n_trials; i++) {
    const char *config = tdt_space_config(launch->space, i);
    const uint64_t chain[] = {site->configs_hash, tdt__hash(config, strlen(config))};
    site->configs_hash = tdt__hash(chain, sizeof chain);
    site->trials[i].config = strdup(config);
    copied = site->trials[i].config != NULL;
  }
  return copied;
}

static tdt_status make_schedule(tdt__site *site, tdt_error *error) {
  size_t *candidates = calloc(site->n_trials, sizeof *candidates);
  if (candidates == NULL) {
    return tdt__fail_memory(error);
  }
  for (size_t i = 0; i < site->n_trials; i++) {
    candidates[i] = i;
  }
  tdt_status status =
      tdt__schedule_create(site->plan, candidates, site->n_trials, &site->schedule, error);
  free(candidates);
  if (status == TDT_OK) {
    site->step = tdt__schedule_next(site->schedule);
  }
  return status;
}

tdt_status tdt__site_create(const tdt_launch *launch, const tdt_plan *plan, tdt__site **site,
                            tdt_error *error) {
  tdt__site *made = create_empty(tdt_space_size(launch->space));
  if (made == NULL) {
    return tdt__fail_memory(error);
  }
  made->name_hash = tdt__site_hash(launch->kernel, launch->key);
  made->plan = plan;
  tdt_status status = copy_texts(made, launch) ? TDT_OK : tdt__fail_memory(error);
  if (status == TDT_OK && made->n_trials == 1) {
    made->winner = 0;
  } else if (status == TDT_OK) {
    status = make_schedule(made, error);
  }
  if (status != TDT_OK) {
    tdt__site_destroy(made);
    return status;
  }
  *site = made;
  return TDT_OK;
}

void tdt__site_destroy(tdt__site *site) {
  if (site == NULL) {
    return;
  }
  for (size_t i = 0; i < site->n_trials; i++) {
    free(site->trials[i].config);
    free(site->trials[i].samples_ms);
    tdt__timing_clear(&site->trials[i].timing);
  }
  tdt__schedule_destroy(site->schedule);
  free(site->views);
  free(site->key);
  free(site->kernel);
  free(site);
}

bool tdt__site_open(const tdt__site *site) {
  return site->winner == TDT_NONE;
}

tdt_status tdt__site_fail(tdt__site *site, size_t candidate, const char *reason, tdt_error *error) {
  tdt__trial *trial = &site->trials[candidate];
  trial->failed_here = true;
  return tdt__timing_set_failed(&trial->timing, reason, error);
}

static bool usable(const tdt__trial *trial) {
  return !trial->dropped && !trial->failed_here;
}

size_t tdt__site_stand_in(const tdt__site *site) {
  if (site->last_good != TDT_NONE && usable(&site->trials[site->last_good])) {
    return site->last_good;
  }
  size_t last_resort = TDT_NONE;
  for (size_t i = 0; i < site->n_trials; i++) {
    if (usable(&site->trials[i])) {
      return i;
    }
    if (last_resort == TDT_NONE && !site->trials[i].failed_here) {
      last_resort = i;
    }
  }
  return last_resort;
}

size_t tdt__site_fastest(const tdt__site *site) {
  size_t fastest = TDT_NONE;
  for (size_t i = 0; i < site->n_trials; i++) {
    const tdt__trial *trial = &site->trials[i];
    if (trial->dropped || trial->timing.outcome != TDT_OUTCOME_TIMED) {
      continue;
    }
    if (fastest == TDT_NONE || trial->timing.time_ms < site->trials[fastest].timing.time_ms) {
      fastest = i;
    }
  }
  return fastest;
}

void tdt__site_decide(tdt__site *site, size_t winner) {
  site->winner = winner;
  tdt__schedule_destroy(site->schedule);
  site->schedule = NULL;
}

tdt_status tdt__site_refuse(const tdt__site *site, tdt_error *error) {
  tdt__text lines = TDT__TEXT_INIT;
  for (size_t i = 0; i < site->n_trials; i++) {
    const char *reason = site->trials[i].timing.error;
    tdt__text_format(&lines, "\n  [%zu] %s: ", i, site->trials[i].config);
    tdt__text_add(&lines, reason != NULL ? reason : "");
  }
  char *reasons = tdt__text_take(&lines);
  if (reasons == NULL) {
    return tdt__fail_memory(error);
  }
  (void)tdt__fail(error, TDT_EFAILED, "%s for kernel %s, key %s: all %zu failed:%s",
                  tdt_status_text(TDT_EFAILED), site->kernel, site->key, site->n_trials, reasons);
  free(reasons);
  return TDT_EFAILED;
}

static tdt_candidate view_of(const tdt__trial *trial) {
  const tdt__timing *timing = &trial->timing;
  return (tdt_candidate){
      .config = trial->config,
      .outcome = timing->outcome,
      .time_ms = timing->time_ms,
      .samples_ms = timing->samples_ms,
      .n_samples = timing->n_samples,
      .error = timing->outcome == TDT_OUTCOME_FAILED ? timing->error : NULL,
  };
}

void tdt__site_show(tdt__site *site, tdt_session_tuning *tuning) {
  for (size_t i = 0; i < site->n_trials; i++) {
    site->views[i] = view_of(&site->trials[i]);
  }
  *tuning = (tdt_session_tuning){
      .kernel = site->kernel,
      .key = site->key,
      .n_candidates = site->n_trials,
      .winner = site->winner,
      .candidates = site->views,
  };
}
