/* SPDX-License-Identifier: MIT */
#include "engine/process.h"

#include <time.h>

#include "base/clock.h"
#include "base/logger.h"
#include "engine/callback.h"
#include "engine/lookup.h"
#include "store/directory.h"

enum { LONGEST_SLICE_MS = 50 };

/* When the log says what is being waited for: soon to who listens, later to everybody. */
static const struct {
  double after_s;
  tdt_log_level level;
} notices[] = {{1.0, TDT_LOG_INFO}, {10.0, TDT_LOG_WARNING}};
enum { N_NOTICES = sizeof notices / sizeof *notices };

typedef struct waiting {
  uint64_t start_ns;
  long slice_ms;
  size_t n_told; /* of the notices */
} waiting;

static double waited_s(const waiting *state) {
  return (double)(tdt__clock_ns() - state->start_ns) / 1e9;
}

/* *taken is also true where the store cannot lock: there is nothing to wait for then. Records may
 * be kept there all the same, on a network disk say; if not, saving one will warn of it. */
static tdt_status try_lock(tdt__flight *flight, bool *taken, tdt_error *error) {
  const tdt__call *call = flight->call;
  tdt__file_lock lock = TDT__FILE_LOCK_INIT;
  tdt_error reason = TDT_ERROR_INIT;
  tdt_status status =
      tdt__store_lock_try(call->request.store, &call->identity, &lock, taken, &reason);
  if (status == TDT_ENOMEM) {
    return tdt__pass_on(status, &reason, error);
  }
  if (status != TDT_OK) {
    tdt__log(&call->request.log, TDT_LOG_INFO,
             "%s, key %s: other processes may tune it at the same time: %s",
             call->identity.function.name, call->shown_key, tdt_error_text(&reason));
    tdt_error_clear(&reason);
    *taken = true;
    return TDT_OK;
  }
  if (*taken) {
    tdt__flight_set_lock(flight, lock);
  }
  return TDT_OK;
}

static void tell_waiting(const tdt__call *call, waiting *state) {
  if (state->n_told < N_NOTICES && waited_s(state) >= notices[state->n_told].after_s) {
    tdt__log(&call->request.log, notices[state->n_told++].level,
             "%s, key %s: waiting for another process that tunes it, for at most %g s",
             call->identity.function.name, call->shown_key, call->settings.lock_timeout_s);
  }
}

static tdt_status wait_a_slice(const tdt__call *call, waiting *state, tdt_error *error) {
  const struct timespec slice = {.tv_nsec = state->slice_ms * 1000 * 1000};
  (void)nanosleep(&slice, NULL);
  state->slice_ms = state->slice_ms * 2 < LONGEST_SLICE_MS ? state->slice_ms * 2 : LONGEST_SLICE_MS;
  tell_waiting(call, state);
  return tdt__call_poll(call, error);
}

static bool may_wait(const tdt__flight *flight, const waiting *state) {
  const tdt__call *call = flight->call;
  return waited_s(state) < call->settings.lock_timeout_s && !tdt__flight_nested(flight);
}

tdt_status tdt__process_join(tdt__flight *flight, bool *found, size_t *candidate,
                             tdt_error *error) {
  const tdt__call *call = flight->call;
  waiting state = {.start_ns = tdt__clock_ns(), .slice_ms = 1};
  *found = false;
  if (call->request.store == NULL) {
    return TDT_OK;
  }
  for (;;) {
    bool taken = false;
    tdt_status status = try_lock(flight, &taken, error);
    /* Once the lock is there, its last holder may have stored the answer; while it is not, its
     * holder may have done so this moment. */
    if (status == TDT_OK) {
      status = tdt__lookup_answer(call, found, candidate, error);
    }
    if (status != TDT_OK || taken || *found || !may_wait(flight, &state)) {
      return status;
    }
    status = wait_a_slice(call, &state, error);
    if (status != TDT_OK) {
      return status;
    }
  }
}

tdt_status tdt__process_claim(tdt__flight *flight, tdt_error *error) {
  bool taken = false;
  return flight->call->request.store == NULL ? TDT_OK : try_lock(flight, &taken, error);
}
