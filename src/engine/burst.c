/* SPDX-License-Identifier: MIT */
#include "engine/burst.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "engine/callback.h"
#include "engine/plan.h"
#include "engine/prepare.h"
#include "group/talk.h"

static bool can_delay(const tdt_device_table *table) {
  return table->size >= offsetof(tdt_device_table, delay) + sizeof table->delay &&
         table->delay != NULL;
}

tdt_status tdt__burst_open(tdt__burst *b, const tdt__call *call, const tdt__slate *slate,
                           tdt_error *error) {
  const tdt_plan *plan = &call->tuner->plan;
  *b = (tdt__burst){
      .call = call,
      .device = &call->device,
      .slate = slate,
      .samples_ms = calloc(tdt__plan_longest_burst(plan), sizeof(double)),
      .delays = plan->hides_gaps && can_delay(call->device.table),
  };
  return b->samples_ms != NULL ? TDT_OK : tdt__fail_memory(error);
}

void tdt__burst_close(tdt__burst *b) {
  free(b->samples_ms);
  b->samples_ms = NULL;
}

tdt_status tdt__burst_synchronize(const tdt__burst *b, tdt_error *reason) {
  return b->device->table->synchronize(b->device->self, reason);
}

/* A candidate has run, and nothing is being timed. */
static tdt_status anticipate_rest(tdt__burst *b, const tdt__step *step, tdt_error *error) {
  if (b->launched) {
    return TDT_OK;
  }
  b->launched = true;
  tdt_status status = tdt__anticipate(b->call, b->slate->queue + step->position,
                                      b->slate->n_queued - step->position, step->candidate, error);
  b->ended = status != TDT_OK;
  return status;
}

/* What the candidate made in its first warm-up. */
static tdt_status check_result(const tdt__burst *b, size_t candidate, tdt_error *reason) {
  if (b->call->request.check == NULL) {
    return TDT_OK;
  }
  tdt_status status = tdt__burst_synchronize(b, reason);
  return status == TDT_OK ? tdt__call_check(b->call, candidate, reason) : status;
}

static tdt_status launch_once(tdt__burst *b, size_t candidate, tdt_error *reason) {
  const uint64_t start_ns = b->delays ? tdt__clock_ns() : 0;
  b->n_begun++;
  tdt_status status = tdt__call_before(b->call, candidate, reason);
  if (status == TDT_OK) {
    status = tdt__call_launch(b->call, candidate, reason);
  }
  if (b->delays) {
    b->launch_ms = (double)(tdt__clock_ns() - start_ns) / 1e6;
  }
  return status;
}

static tdt_status warm_up(tdt__burst *b, const tdt__step *step, tdt_error *reason) {
  for (unsigned run = 0; run < step->n_runs; run++) {
    tdt_status status = launch_once(b, step->candidate, reason);
    if (status == TDT_OK) {
      status = anticipate_rest(b, step, reason);
    }
    if (status == TDT_OK && run == 0) {
      status = check_result(b, step->candidate, reason);
    }
    if (status != TDT_OK) {
      return status;
    }
  }
  return tdt__burst_synchronize(b, reason);
}

static tdt_status queue_run(tdt__burst *b, size_t candidate, size_t run, tdt_error *reason) {
  const tdt_device_table *table = b->device->table;
  b->n_begun++;
  tdt_status status = tdt__call_before(b->call, candidate, reason);
  if (status == TDT_OK) {
    status = table->mark(b->device->self, 2 * run, reason);
  }
  if (status == TDT_OK) {
    status = tdt__call_launch(b->call, candidate, reason);
  }
  if (status == TDT_OK) {
    status = table->mark(b->device->self, 2 * run + 1, reason);
  }
  return status;
}

/* Keeps the device busy until all runs of the burst are queued. One that cannot is not asked again.
 */
static tdt_status hide_gaps(tdt__burst *b, unsigned n_runs, tdt_error *reason) {
  const double most_ms = 10.0;
  const double needed_ms = 1.5 * n_runs * b->launch_ms + 0.05;
  const double ms = needed_ms < most_ms ? needed_ms : most_ms;
  tdt_status status = b->device->table->delay(b->device->self, ms, reason);
  if (status != TDT_OK && status != TDT_ESTOPPED && status != TDT_ENOMEM) {
    tdt_error_clear(reason);
    b->delays = false;
    return TDT_OK;
  }
  return status;
}

static tdt_status queue_burst(tdt__burst *b, const tdt__step *step, tdt_error *reason) {
  tdt_status status = b->delays ? hide_gaps(b, step->n_runs, reason) : TDT_OK;
  const uint64_t start_ns = b->delays ? tdt__clock_ns() : 0;
  for (size_t run = 0; status == TDT_OK && run < step->n_runs; run++) {
    status = queue_run(b, step->candidate, run, reason);
  }
  if (b->delays) {
    b->launch_ms = (double)(tdt__clock_ns() - start_ns) / 1e6 / step->n_runs;
  }
  return status;
}

static tdt_status run_timed(tdt__burst *b, const tdt__step *step, tdt_error *reason) {
  tdt_status status = queue_burst(b, step, reason);
  for (size_t run = 0; status == TDT_OK && run < step->n_runs; run++) {
    status = b->device->table->elapsed_ms(b->device->self, 2 * run, 2 * run + 1,
                                          &b->samples_ms[run], reason);
  }
  return status;
}

static tdt_status run_burst(tdt__burst *b, const tdt__step *step, tdt_error *reason) {
  b->n_begun = 0;
  if (step->kind == TDT__STEP_WARMUP) {
    return warm_up(b, step, reason);
  }
  tdt_status status = run_timed(b, step, reason);
  return status == TDT_OK ? anticipate_rest(b, step, reason) : status;
}

/*
 * The burst failed here after some runs. Other ranks may be in the middle of the runs that are
 * left, and in communication with this one: it does these as well, whatever comes of them. Only a
 * stop is news.
 */
static tdt_status keep_step(tdt__burst *b, const tdt__step *step, tdt_status outcome,
                            tdt_error *reason) {
  tdt_error told = TDT_ERROR_INIT;
  tdt_status status = TDT_OK;
  while (status != TDT_ESTOPPED && b->n_begun < step->n_runs && tdt__talk_stands(b->call->talk)) {
    tdt_error_clear(&told);
    status = launch_once(b, step->candidate, &told);
  }
  if (status == TDT_ESTOPPED) {
    tdt_error_clear(reason);
    return tdt__pass_on(status, &told, reason);
  }
  tdt_error_clear(&told);
  return outcome;
}

tdt_status tdt__burst_run(tdt__burst *b, const tdt__step *step, tdt_error *reason) {
  tdt_status outcome = run_burst(b, step, reason);
  if (outcome != TDT_OK && outcome != TDT_ESTOPPED && !b->ended && b->call->talk != NULL) {
    outcome = keep_step(b, step, outcome, reason);
  }
  return outcome;
}
