/* SPDX-License-Identifier: MIT */
#include "engine/ranks.h"

#include "base/error.h"
#include "engine/agree.h"
#include "engine/callback.h"
#include "engine/lookup.h"
#include "engine/policy.h"
#include "engine/process.h"
#include "engine/result.h"
#include "engine/select.h"
#include "engine/tuning.h"
#include "engine/turn.h"
#include "group/patience.h"
#include "group/rounds.h"

/* -- the floor -----------------------------------------------------------------------------------
 */

/* Another thread of this process tunes over the group. It may need this thread's devices. */
static tdt_status wait_for_floor(const tdt__call *call, tdt_error *error) {
  tdt_context *context = call->tuner->context;
  tdt__context_lock(context);
  tdt__turn_pause(context);
  tdt__context_unlock(context);
  while (!tdt__rounds_enter(call->group.rounds, TDT__SLICE_S)) {
    tdt_status status = tdt__call_poll(call, error);
    if (status != TDT_OK) {
      return status;
    }
  }
  tdt__context_lock(context);
  tdt_status status = tdt__turn_resume(context, call, error);
  tdt__context_unlock(context);
  if (status != TDT_OK) {
    tdt__rounds_leave(call->group.rounds);
  }
  return status;
}

static tdt_status poll_call(void *user, tdt_error *error) {
  return tdt__call_poll(user, error);
}

tdt_status tdt__ranks_open(tdt__call *call, tdt__talk *talk, tdt_error *error) {
  if (!tdt__rounds_enter(call->group.rounds, 0.0)) {
    tdt_status status = wait_for_floor(call, error);
    if (status != TDT_OK) {
      return status;
    }
  }
  tdt__talk_begin(talk, &call->group);
  talk->log = &call->request.log;
  talk->who = call->who;
  talk->timeout_s = call->settings.rank_timeout_s;
  talk->user = call;
  talk->poll = poll_call;
  call->talk = talk;
  return TDT_OK;
}

void tdt__ranks_close(tdt__call *call) {
  call->talk = NULL;
  tdt__rounds_leave(call->group.rounds);
}

/* -- the miss ------------------------------------------------------------------------------------
 */

/* What a rank knows already is the answer for all. Whoever did not know it stores it. */
static tdt_status adopt(tdt__flight *flight, const tdt__slate *slate, size_t candidate, bool news,
                        tdt_choice *choice, tdt_error *error) {
  tdt_status status = TDT_OK;
  if (news && flight->writes) {
    status = tdt__result_save(flight->call, slate, candidate, true, error);
  }
  if (status == TDT_OK) {
    status = tdt__flight_remember(flight, candidate, error);
  }
  if (status == TDT_OK) {
    tdt__lookup_tell(flight->call, candidate);
    *choice = (tdt_choice){candidate, TDT_ORIGIN_STORED, true};
  }
  return status;
}

static tdt_status answer_or_tune(tdt__flight *flight, bool capturing, tdt__slate *slate, bool news,
                                 tdt_choice *choice, tdt_error *error) {
  const tdt__call *call = flight->call;
  size_t candidate;
  bool settled;
  if (tdt__select_stored(slate, call->request.prune != NULL, &candidate)) {
    return adopt(flight, slate, candidate, news, choice, error);
  }
  tdt_status status = tdt__policy_settle(flight, capturing, &settled, choice, error);
  if (status == TDT_EMISS) {
    call->talk->over = true; /* the settings are the same on all ranks */
  }
  if (status != TDT_OK || settled) {
    return status;
  }
  if (flight->writes) {
    status = tdt__process_claim(flight, error);
  }
  return status == TDT_OK ? tdt__tuning_measure(flight, slate, choice, error) : status;
}

static tdt_status agree_and_act(tdt__flight *flight, bool capturing, tdt__slate *slate,
                                tdt_choice *choice, tdt_error *error) {
  tdt__agreed agreed;
  bool news = false;
  tdt_status status = tdt__agree_call(flight->call, capturing, slate, &agreed, error);
  if (status != TDT_OK) {
    return status;
  }
  flight->writes = agreed.writes;
  if (agreed.hands_over) {
    status = tdt__agree_record(flight->call, agreed.from, slate, &news, error);
    if (status != TDT_OK) {
      return status;
    }
  }
  return answer_or_tune(flight, capturing, slate, news, choice, error);
}

tdt_status tdt__ranks_resolve(tdt__flight *flight, bool capturing, tdt_choice *choice,
                              tdt_error *error) {
  tdt__slate slate;
  /* What all have agreed upon must not be forgotten by one. */
  tdt_status status = tdt__flight_reserve(flight, error);
  if (status == TDT_OK) {
    status = tdt__lookup(flight->call, &slate, error);
  }
  if (status != TDT_OK) {
    return status;
  }
  status = agree_and_act(flight, capturing, &slate, choice, error);
  tdt__slate_clear(&slate);
  return status;
}
