/* SPDX-License-Identifier: MIT */
#include "engine/policy.h"

#include "base/env.h"
#include "base/error.h"
#include "base/logger.h"
#include "engine/callback.h"

tdt_status tdt__policy_capturing(const tdt__call *call, bool *capturing, tdt_error *error) {
  const tdt_device *device = &call->device;
  *capturing = false;
  if (device->table->capturing == NULL) {
    return TDT_OK;
  }
  tdt_error told = TDT_ERROR_INIT;
  tdt_status status = device->table->capturing(device->self, capturing, &told);
  if (status != TDT_OK) {
    return tdt__pass_on(status == TDT_ESTOPPED ? status : TDT_EDEVICE, &told, error);
  }
  tdt_error_clear(&told);
  return TDT_OK;
}

static tdt_status use_first_by_settings(tdt__flight *flight, tdt_choice *choice, tdt_error *error) {
  const tdt__call *call = flight->call;
  tdt_status status = tdt__flight_remember(flight, 0, error);
  if (status != TDT_OK) {
    return status;
  }
  tdt__log(
      &call->request.log, TDT_LOG_WARNING,
      "%s: no result for key %s, and the settings (%s) forbid measuring: candidate 0 is used, %s",
      call->identity.function.name, call->shown_key, tdt__env_name(TDT__ENV_ON_MISS),
      tdt_space_config(call->tuner->space, 0));
  *choice = (tdt_choice){0, TDT_ORIGIN_FIRST, true};
  return TDT_OK;
}

static void use_first_while_capturing(const tdt__call *call, tdt_choice *choice) {
  tdt__log(&call->request.log, TDT_LOG_WARNING,
           "%s: no result for key %s and a graph is being captured: candidate 0 is used this "
           "time, %s; call it once before the capture",
           call->identity.function.name, call->shown_key, tdt_space_config(call->tuner->space, 0));
  *choice = (tdt_choice){0, TDT_ORIGIN_CAPTURING, false};
}

tdt_status tdt__policy_settle(tdt__flight *flight, bool capturing, bool *settled,
                              tdt_choice *choice, tdt_error *error) {
  const tdt__call *call = flight->call;
  *settled = true;
  if (capturing) {
    use_first_while_capturing(call, choice);
    return TDT_OK;
  }
  switch (call->settings.on_miss) {
  case TDT_ON_MISS_FIRST:
    return use_first_by_settings(flight, choice, error);
  case TDT_ON_MISS_ERROR:
    return tdt__fail(
        error, TDT_EMISS, "%s: no result for key %s, and the settings (%s) forbid measuring",
        call->identity.function.name, call->shown_key, tdt__env_name(TDT__ENV_ON_MISS));
  case TDT_ON_MISS_TUNE:
    break;
  }
  *settled = false;
  return TDT_OK;
}
