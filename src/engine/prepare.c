/* SPDX-License-Identifier: MIT */
#include "engine/prepare.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "engine/agree.h"
#include "engine/callback.h"

/* *why (free() it) stays NULL where it went well. */
static tdt_status prepare_one(const tdt__call *call, size_t candidate, char **why,
                              tdt_error *error) {
  tdt_error reason = TDT_ERROR_INIT;
  tdt_status status = tdt__call_prepare(call, candidate, &reason);
  if (status == TDT_ESTOPPED) {
    return tdt__pass_on(status, &reason, error);
  }
  if (status != TDT_OK) {
    const char *text = tdt_error_text(&reason);
    *why = strdup(text[0] != '\0' ? text : tdt_status_text(status));
    status = *why != NULL ? TDT_OK : tdt__fail_memory(error);
  }
  tdt_error_clear(&reason);
  return status;
}

static tdt_status prepare_all(const tdt__call *call, const tdt__slate *slate, char **reasons,
                              tdt_error *error) {
  tdt_status status = TDT_OK;
  for (size_t i = 0; status == TDT_OK && i < slate->n_queued; i++) {
    status = prepare_one(call, slate->queue[i], &reasons[slate->queue[i]], error);
  }
  return status;
}

/* What failed by what the ranks said is not measured. */
static void drop_failed(tdt__slate *slate) {
  size_t n = 0;
  for (size_t i = 0; i < slate->n_queued; i++) {
    const size_t candidate = slate->queue[i];
    if (slate->timings[candidate].outcome != TDT_OUTCOME_FAILED) {
      slate->queue[n++] = candidate;
    }
  }
  slate->n_queued = n;
}

tdt_status tdt__prepare(const tdt__call *call, tdt__slate *slate, tdt_error *error) {
  if (call->request.prepare == NULL) {
    return TDT_OK;
  }
  char **reasons = calloc(slate->n, sizeof *reasons);
  if (reasons == NULL) {
    return tdt__fail_memory(error);
  }
  tdt_status status = prepare_all(call, slate, reasons, error);
  if (status == TDT_OK && call->talk != NULL) {
    status = tdt__agree_prepared(call, (const char *const *)reasons, slate, error);
    drop_failed(slate);
  }
  for (size_t i = 0; i < slate->n; i++) {
    free(reasons[i]);
  }
  free((void *)reasons);
  return status;
}
