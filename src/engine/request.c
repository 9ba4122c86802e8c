/* SPDX-License-Identifier: MIT */
#include "engine/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"
#include "engine/check.h"
#include "model/identity.h"

void tdt_request_init(tdt_request *request) {
  *request = (tdt_request){.size = sizeof *request};
}

static tdt_status check_settings(const tdt_settings *settings, tdt_error *error) {
  if (settings->size < sizeof *settings) {
    return tdt__fail(error, TDT_EINVAL, "settings: size is %zu, start with tdt_settings_default()",
                     settings->size);
  }
  if (settings->on_miss != TDT_ON_MISS_TUNE && settings->on_miss != TDT_ON_MISS_FIRST &&
      settings->on_miss != TDT_ON_MISS_ERROR) {
    return tdt__fail(error, TDT_EINVAL, "settings: no such on_miss: %d", (int)settings->on_miss);
  }
  if (!(settings->lock_timeout_s >= 0.0)) {
    return tdt__fail(error, TDT_EINVAL, "settings: lock_timeout_s must be 0 or more, is %g",
                     settings->lock_timeout_s);
  }
  if (!(settings->rank_timeout_s > 0.0)) {
    return tdt__fail(error, TDT_EINVAL, "settings: rank_timeout_s must be above 0, is %g",
                     settings->rank_timeout_s);
  }
  return TDT_OK;
}

/* A caller built with an older header hands over fewer fields: the rest keep their defaults. */
static tdt_status take_fields(tdt_request *full, const tdt_request *request, unsigned n_warmup,
                              tdt_error *error) {
  const size_t first_version = offsetof(tdt_request, progress) + sizeof request->progress;
  if (request->size < first_version) {
    return tdt__fail(error, TDT_EINVAL, "request: size is %zu, start with tdt_request_init()",
                     request->size);
  }
  tdt_request_init(full);
  memcpy(full, request, request->size < sizeof *full ? request->size : sizeof *full);
  full->size = sizeof *full;
  if (full->key == NULL || full->launch == NULL) {
    return tdt__fail(error, TDT_EINVAL, "request: %s is missing",
                     full->key == NULL ? "key" : "launch");
  }
  if (full->check != NULL && n_warmup == 0) {
    return tdt__fail(error, TDT_EINVAL, "request: check needs a plan with a warm-up");
  }
  return TDT_OK;
}

static void show_key(tdt__call *call) {
  static const char dots[] = "...";
  const size_t most = sizeof call->shown_key - sizeof dots;
  size_t shown = call->key_size <= most ? call->key_size : most;
  shown = tdt__utf8_prefix(call->request.key, shown);
  memcpy(call->shown_key, call->request.key, shown);
  memcpy(call->shown_key + shown, dots, sizeof dots);
  if (shown == call->key_size) {
    call->shown_key[shown] = '\0';
  }
}

tdt_status tdt__call_init(tdt__call *call, const tdt_tuner *tuner, const tdt_request *request,
                          tdt_error *error) {
  *call = (tdt__call){.tuner = tuner};
  tdt_request *full = &call->request;
  tdt_status status = take_fields(full, request, tuner->plan.n_warmup, error);
  if (status != TDT_OK) {
    return status;
  }
  if (full->prune_rule == NULL) {
    full->prune_rule = "";
  }
  call->key_size = strlen(full->key);
  call->settings = full->settings != NULL ? *full->settings : tdt_settings_default();
  call->group = full->group != NULL ? *full->group : tdt_group_self();
  call->device = full->device != NULL ? *full->device : (tdt_device){0};
  call->own_device = full->device == NULL;
  full->settings = &call->settings;
  full->group = &call->group;
  full->device = &call->device;

  status = check_settings(&call->settings, error);
  if (status == TDT_OK) {
    status = tdt__group_check(&call->group, error);
  }
  if (status == TDT_OK && !call->own_device) {
    status = tdt__device_check(&call->device, error);
  }
  return status;
}

static tdt_status copy_identity(tdt__call *call, tdt_error *error) {
  const tdt_identity given = {
      .function = call->tuner->function,
      .hardware = call->request.hardware,
      .key = call->request.key,
  };
  return tdt__identity_copy(&given, &call->identity, error);
}

static void name_call(tdt__call *call) {
  const char *name = call->tuner->function.name;
  const size_t size = strlen(name);
  const size_t most = sizeof call->who - sizeof call->shown_key - sizeof ", key ";
  (void)snprintf(call->who, sizeof call->who, "%.*s, key %s",
                 (int)tdt__utf8_prefix(name, size < most ? size : most), name, call->shown_key);
}

tdt_status tdt__call_open(tdt__call *call, tdt_error *error) {
  show_key(call);
  name_call(call);
  tdt_status status = copy_identity(call, error);
  if (status != TDT_OK) {
    return status;
  }
  status =
      tdt__json_canonical(call->request.dependencies, "dependencies", &call->dependencies, error);
  if (status != TDT_OK) {
    goto clear_identity;
  }
  if (call->own_device) {
    status = tdt_device_host_create(&call->device, error);
    if (status != TDT_OK) {
      goto free_dependencies;
    }
  }
  return TDT_OK;

free_dependencies:
  free(call->dependencies);
clear_identity:
  tdt__identity_clear(&call->identity);
  return status;
}

void tdt__call_close(tdt__call *call) {
  if (call->own_device) {
    tdt_device_host_destroy(&call->device);
  }
  free(call->dependencies);
  tdt__identity_clear(&call->identity);
}
