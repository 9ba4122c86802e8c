/* SPDX-License-Identifier: MIT */
#include "engine/session_slots.h"

#include <stdlib.h>

#include "base/error.h"

/* -- inside a pass -------------------------------------------------------------------------------
 */

/* On to the next burst of a candidate that is still in. */
static void next_burst(tdt__site *site) {
  do {
    site->step = tdt__schedule_after(site->schedule, &site->step);
  } while (site->step.kind != TDT__STEP_DONE && site->trials[site->step.candidate].dropped);
  site->n_used = 0;
}

tdt__slot tdt__site_take_slot(tdt__site *site) {
  site->reached = true;
  if (site->step.kind == TDT__STEP_DONE) {
    return (tdt__slot){TDT__STEP_DONE, site->last_turn, 0};
  }
  site->last_turn = site->step.candidate;
  site->n_used++;
  const tdt__slot slot = {site->step.kind, site->step.candidate, site->n_used};
  if (site->n_used == site->step.n_runs) {
    next_burst(site);
  }
  return slot;
}

/* -- between passes ------------------------------------------------------------------------------
 */

tdt_status tdt__site_add_sample(tdt__site *site, size_t candidate, double ms, tdt_error *error) {
  tdt__trial *trial = &site->trials[candidate];
  if (trial->samples_ms == NULL) {
    trial->samples_ms = calloc(site->plan->n_repeat, sizeof *trial->samples_ms);
    if (trial->samples_ms == NULL) {
      return tdt__fail_memory(error);
    }
  }
  trial->samples_ms[trial->n_samples++] = ms;
  return TDT_OK;
}

void tdt__site_skip_dropped(tdt__site *site) {
  if (site->step.kind != TDT__STEP_DONE && site->trials[site->step.candidate].dropped) {
    next_burst(site);
  }
}

bool tdt__site_through(const tdt__site *site) {
  return site->step.kind == TDT__STEP_DONE;
}

static void clear_samples(tdt__trial *trial) {
  free(trial->samples_ms);
  trial->samples_ms = NULL;
  trial->n_samples = 0;
}

static tdt_status give_dropped(tdt__site *site, tdt__trial *trial, tdt_error *error) {
  tdt_status status = tdt__schedule_fail(site->schedule, trial->timing.error, error);
  if (status == TDT_OK) {
    clear_samples(trial);
  }
  return status;
}

static tdt_status give_samples(tdt__site *site, const tdt__step *step, size_t *timed,
                               tdt_error *error) {
  tdt__trial *trial = &site->trials[step->candidate];
  tdt_status status =
      tdt__schedule_give(site->schedule, trial->samples_ms, trial->n_samples, error);
  if (status == TDT_OK) {
    clear_samples(trial);
    tdt__schedule_take(site->schedule, step->position, &trial->timing);
    *timed = step->candidate;
  }
  return status;
}

tdt_status tdt__site_catch_up(tdt__site *site, bool *more, size_t *timed, tdt_error *error) {
  *timed = TDT_NONE;
  *more = false;
  const tdt__step step = tdt__schedule_next(site->schedule);
  if (step.kind == TDT__STEP_DONE) {
    return TDT_OK;
  }
  tdt__trial *trial = &site->trials[step.candidate];
  const bool at_hand = site->step.position == step.position && site->step.kind == step.kind;
  if (!trial->dropped && at_hand) {
    return TDT_OK;
  }
  *more = true;
  if (trial->dropped) {
    return give_dropped(site, trial, error);
  }
  if (step.kind == TDT__STEP_WARMUP) {
    return tdt__schedule_give(site->schedule, NULL, 0, error);
  }
  return give_samples(site, &step, timed, error);
}
