/* SPDX-License-Identifier: MIT */
#include "engine/turn.h"

#include <string.h>

static bool is_mine(const tdt__flight *flight) {
  return pthread_equal(flight->owner, pthread_self()) != 0;
}

static bool has_all(const tdt_context *context) {
  for (const tdt__flight *flight = context->flights; flight != NULL; flight = flight->next) {
    if (is_mine(flight) && flight->device_id != NULL && !flight->has_turn) {
      return false;
    }
  }
  return true;
}

static bool taken_by_other(const tdt_context *context, const char *device_id) {
  for (const tdt__flight *flight = context->flights; flight != NULL; flight = flight->next) {
    if (!is_mine(flight) && flight->has_turn && flight->device_id != NULL &&
        strcmp(flight->device_id, device_id) == 0) {
      return true;
    }
  }
  return false;
}

static bool all_free(const tdt_context *context) {
  for (const tdt__flight *flight = context->flights; flight != NULL; flight = flight->next) {
    if (is_mine(flight) && flight->device_id != NULL &&
        taken_by_other(context, flight->device_id)) {
      return false;
    }
  }
  return true;
}

static void set_all(tdt_context *context, bool has_turn) {
  for (tdt__flight *flight = context->flights; flight != NULL; flight = flight->next) {
    if (is_mine(flight) && flight->device_id != NULL) {
      flight->has_turn = has_turn;
    }
  }
}

void tdt__turn_pause(tdt_context *context) {
  set_all(context, false);
  (void)pthread_cond_broadcast(&context->changed);
}

tdt_status tdt__turn_resume(tdt_context *context, const tdt__call *call, tdt_error *error) {
  if (has_all(context)) {
    return TDT_OK;
  }
  tdt__turn_pause(context);
  while (!all_free(context)) {
    tdt_status status = tdt__context_wait(context, call, error);
    if (status != TDT_OK) {
      return status;
    }
  }
  set_all(context, true);
  return TDT_OK;
}

tdt_status tdt__turn_take(tdt__flight *flight, tdt_error *error) {
  tdt_context *context = flight->call->tuner->context;
  tdt__context_lock(context);
  flight->device_id = flight->call->device.id;
  tdt_status status = tdt__turn_resume(context, flight->call, error);
  tdt__context_unlock(context);
  return status;
}

void tdt__turn_release(tdt__flight *flight) {
  tdt_context *context = flight->call->tuner->context;
  tdt__context_lock(context);
  flight->device_id = NULL;
  flight->has_turn = false;
  (void)pthread_cond_broadcast(&context->changed);
  tdt__context_unlock(context);
}
