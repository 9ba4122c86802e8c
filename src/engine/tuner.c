/* SPDX-License-Identifier: MIT */
#include "engine/tuner.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "engine/callback.h"
#include "engine/flight.h"
#include "engine/lookup.h"
#include "engine/plan.h"
#include "engine/policy.h"
#include "engine/process.h"
#include "engine/ranks.h"
#include "engine/tuning.h"
#include "model/identity.h"

static tdt_status fill(tdt_tuner *tuner, const tdt_function *function, const tdt_plan *plan,
                       tdt_error *error) {
  tdt_status status = tdt__function_copy(function, &tuner->function, error);
  if (status != TDT_OK) {
    return status;
  }
  char *plan_name = strdup(plan->name);
  if (plan_name == NULL) {
    status = tdt__fail_memory(error);
    goto clear_function;
  }
  tuner->plan = *plan;
  tuner->plan.name = plan_name;
  status = tdt__memory_create(&tuner->memory, error);
  if (status != TDT_OK) {
    goto free_plan_name;
  }
  return TDT_OK;

free_plan_name:
  free(plan_name);
clear_function:
  tdt__function_clear(&tuner->function);
  return status;
}

tdt_status tdt_tuner_create(tdt_context *context, const tdt_function *function,
                            const tdt_space *space, const tdt_plan *plan, tdt_tuner **tuner,
                            tdt_error *error) {
  const tdt_plan documented = tdt_plan_documented();
  tdt_plan chosen;
  if (context == NULL || function == NULL || space == NULL) {
    return tdt__fail(error, TDT_EINVAL, "a tuner needs a context, a function and a space");
  }
  tdt_status status = tdt__plan_take(plan != NULL ? plan : &documented, &chosen, error);
  if (status != TDT_OK) {
    return status;
  }
  tdt_tuner *made = calloc(1, sizeof *made);
  if (made == NULL) {
    return tdt__fail_memory(error);
  }
  made->context = context;
  made->space = space;
  status = fill(made, function, &chosen, error);
  if (status != TDT_OK) {
    free(made);
    return status;
  }
  *tuner = made;
  return TDT_OK;
}

void tdt_tuner_destroy(tdt_tuner *tuner) {
  if (tuner == NULL) {
    return;
  }
  tdt__memory_destroy(tuner->memory);
  free((char *)tuner->plan.name);
  tdt__function_clear(&tuner->function);
  free(tuner);
}

bool tdt_tuner_lookup(const tdt_tuner *tuner, const char *key, size_t key_size, size_t *candidate) {
  return tdt__memory_get(tuner->memory, key, key_size, candidate);
}

static tdt_status use_stored(tdt__flight *flight, size_t candidate, tdt_choice *choice,
                             tdt_error *error) {
  tdt_status status = tdt__flight_remember(flight, candidate, error);
  if (status == TDT_OK) {
    *choice = (tdt_choice){candidate, TDT_ORIGIN_STORED, true};
  }
  return status;
}

/* Nobody of this process tunes the key: first the store, then what stands in for measuring, then
 * another process that may be at it, and measuring last. */
static tdt_status resolve_as_owner(tdt__flight *flight, tdt_choice *choice, tdt_error *error) {
  bool capturing, found, settled;
  size_t candidate;
  tdt_status status = tdt__policy_capturing(flight->call, &capturing, error);
  if (status != TDT_OK) {
    return status;
  }
  if (flight->call->talk != NULL) {
    return tdt__ranks_resolve(flight, capturing, choice, error);
  }
  status = tdt__lookup_answer(flight->call, &found, &candidate, error);
  if (status != TDT_OK) {
    return status;
  }
  if (found) {
    return use_stored(flight, candidate, choice, error);
  }
  status = tdt__policy_settle(flight, capturing, &settled, choice, error);
  if (status != TDT_OK || settled) {
    return status;
  }
  status = tdt__process_join(flight, &found, &candidate, error);
  if (status != TDT_OK) {
    return status;
  }
  return found ? use_stored(flight, candidate, choice, error)
               : tdt__tuning_run(flight, choice, error);
}

static tdt_status resolve_miss(const tdt__call *call, tdt_choice *choice, tdt_error *error) {
  tdt__flight flight;
  tdt__joined joined;
  size_t candidate;
  tdt_status status = tdt__flight_join(&flight, call, &joined, &candidate, error);
  if (status != TDT_OK) {
    return status;
  }
  switch (joined) {
  case TDT__JOINED_REMEMBERED:
    *choice = (tdt_choice){candidate, TDT_ORIGIN_MEMORY, true};
    return TDT_OK;
  case TDT__JOINED_REENTERED:
    *choice = (tdt_choice){candidate, TDT_ORIGIN_REENTERED, false};
    return TDT_OK;
  case TDT__JOINED_OWNER:
    break;
  }
  status = resolve_as_owner(&flight, choice, error);
  tdt__flight_leave(&flight);
  return status;
}

static tdt_status open_and_resolve(tdt__call *call, tdt_choice *choice, tdt_error *error) {
  tdt_status status = tdt__call_open(call, error);
  if (status != TDT_OK) {
    return status;
  }
  status = resolve_miss(call, choice, error);
  tdt__call_close(call);
  return status;
}

/* A failure that the other ranks do not know of is told to them. */
static tdt_status open_and_resolve_with_ranks(tdt__call *call, tdt_choice *choice,
                                              tdt_error *error) {
  tdt__talk talk;
  tdt_error told = TDT_ERROR_INIT;
  tdt_status status = tdt__ranks_open(call, &talk, error);
  if (status != TDT_OK) {
    return status;
  }
  status = open_and_resolve(call, choice, &told);
  if (status != TDT_OK) {
    tdt__talk_leave(&talk, tdt_error_text(&told));
    (void)tdt__pass_on(status, &told, error);
  }
  tdt_error_clear(&told);
  tdt__ranks_close(call);
  return status;
}

tdt_status tdt_tuner_resolve(tdt_tuner *tuner, const tdt_request *request, tdt_choice *choice,
                             tdt_error *error) {
  tdt__call call;
  if (tuner == NULL || request == NULL || choice == NULL) {
    return tdt__fail(error, TDT_EINVAL, "resolve: tuner, request or choice is missing");
  }
  tdt_status status = tdt__call_init(&call, tuner, request, error);
  if (status != TDT_OK) {
    return status;
  }
  size_t candidate;
  if (tdt_tuner_lookup(tuner, call.request.key, call.key_size, &candidate)) {
    *choice = (tdt_choice){candidate, TDT_ORIGIN_MEMORY, true};
    return TDT_OK;
  }
  return call.group.n_ranks > 1 ? open_and_resolve_with_ranks(&call, choice, error)
                                : open_and_resolve(&call, choice, error);
}
