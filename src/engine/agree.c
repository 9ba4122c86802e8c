/* SPDX-License-Identifier: MIT */
#include "engine/agree.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "engine/callback.h"

static bool has_time(const tdt__slate *slate, size_t candidate) {
  return slate->kept[candidate] && tdt__slate_known(slate, candidate)->outcome == TDT_OUTCOME_TIMED;
}

/* On the wire, and nowhere else, what has no time is infinite. */
static void put_times(const tdt__slate *slate, double *wire_ms) {
  for (size_t i = 0; i < slate->n; i++) {
    wire_ms[i] = has_time(slate, i) ? tdt__slate_known(slate, i)->time_ms : (double)INFINITY;
  }
}

/* A time that only the record had becomes this tuning's own before it is changed. */
static tdt_status take_time(tdt__slate *slate, size_t candidate, double wire_ms, tdt_error *error) {
  tdt__timing *timing = &slate->timings[candidate];
  if (!isfinite(wire_ms)) {
    return tdt__timing_set_failed(timing, "it failed on another rank", error);
  }
  if (timing->outcome == TDT_OUTCOME_UNKNOWN) {
    tdt_status status = tdt__timing_copy(tdt__slate_known(slate, candidate), timing, error);
    if (status != TDT_OK) {
      return status;
    }
  }
  timing->time_ms = wire_ms;
  return TDT_OK;
}

static tdt_status take_times(tdt__slate *slate, const double *wire_ms, tdt_error *error) {
  for (size_t i = 0; i < slate->n; i++) {
    if (!has_time(slate, i)) {
      continue;
    }
    tdt_status status = take_time(slate, i, wire_ms[i], error);
    if (status != TDT_OK) {
      return status;
    }
  }
  return TDT_OK;
}

tdt_status tdt__agree_times(const tdt__call *call, tdt__slate *slate, tdt_error *error) {
  if (call->group.n_ranks == 1) {
    return TDT_OK;
  }
  double *wire_ms = calloc(slate->n, sizeof *wire_ms);
  if (wire_ms == NULL) {
    return tdt__fail_memory(error);
  }
  put_times(slate, wire_ms);
  tdt_status status = tdt__call_max(&call->group, wire_ms, slate->n, error);
  if (status == TDT_OK) {
    status = take_times(slate, wire_ms, error);
  }
  free(wire_ms);
  return status;
}
