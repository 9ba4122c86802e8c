/* SPDX-License-Identifier: MIT */
#include "engine/callback.h"

#include "base/error.h"

tdt_status tdt__pass_on(tdt_status status, tdt_error *told, tdt_error *error) {
  const char *text = tdt_error_text(told);
  (void)tdt__fail(error, status, "%s", text[0] != '\0' ? text : tdt_status_text(status));
  tdt_error_clear(told);
  return status;
}

tdt_status tdt__call_launch(const tdt__call *call, size_t candidate, tdt_error *reason) {
  return call->request.launch(call->request.user, candidate, reason);
}

tdt_status tdt__call_before(const tdt__call *call, size_t candidate, tdt_error *reason) {
  return call->request.before == NULL ? TDT_OK
                                      : call->request.before(call->request.user, candidate, reason);
}

tdt_status tdt__call_check(const tdt__call *call, size_t candidate, tdt_error *reason) {
  static const char wrong[] = "wrong result";
  bool right = true;
  tdt_error told = TDT_ERROR_INIT;
  tdt_status status = call->request.check(call->request.user, candidate, &right, &told);
  if (status == TDT_OK && right) {
    tdt_error_clear(&told);
    return TDT_OK;
  }
  if (status == TDT_ESTOPPED) {
    return tdt__pass_on(status, &told, reason);
  }
  if (status == TDT_OK) {
    status = tdt__fail(reason, TDT_ELAUNCH, "%s", wrong);
  } else {
    const char *text = tdt_error_text(&told);
    (void)tdt__fail(reason, status, "%s: %s", wrong,
                    text[0] != '\0' ? text : tdt_status_text(status));
  }
  tdt_error_clear(&told);
  return status;
}

tdt_status tdt__call_prepare(const tdt__call *call, size_t candidate, tdt_error *reason) {
  return call->request.prepare(call->request.user, candidate, reason);
}

void tdt__call_anticipate(const tdt__call *call, size_t candidate) {
  call->request.anticipate(call->request.user, candidate);
}

tdt_status tdt__call_prune(const tdt__call *call, size_t candidate, bool *keep, tdt_error *error) {
  if (call->request.prune == NULL) {
    *keep = true;
    return TDT_OK;
  }
  tdt_error told = TDT_ERROR_INIT;
  tdt_status status = call->request.prune(call->request.user, candidate, keep, &told);
  if (status != TDT_OK) {
    return tdt__pass_on(status, &told, error);
  }
  tdt_error_clear(&told);
  return TDT_OK;
}

void tdt__call_discard(const tdt__call *call, size_t candidate) {
  if (call->request.discard != NULL) {
    call->request.discard(call->request.user, candidate);
  }
}

tdt_status tdt__call_poll(const tdt__call *call, tdt_error *error) {
  if (call->request.poll == NULL) {
    return TDT_OK;
  }
  tdt_error told = TDT_ERROR_INIT;
  tdt_status status = call->request.poll(call->request.user, &told);
  if (status != TDT_OK) {
    return tdt__pass_on(status, &told, error);
  }
  tdt_error_clear(&told);
  return TDT_OK;
}

void tdt__call_progress(const tdt__call *call, const tdt_progress *progress) {
  if (call->request.progress != NULL) {
    call->request.progress(call->request.user, progress);
  }
}
