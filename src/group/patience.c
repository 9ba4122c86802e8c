/* SPDX-License-Identifier: MIT */
#include "group/patience.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/logger.h"
#include "group/names.h"

void tdt__patience_begin(tdt__patience *patience, tdt__talk *talk, const char *what) {
  *patience = (tdt__patience){
      .talk = talk,
      .what = what,
      .start_ns = tdt__clock_ns(),
      .timeout_s = talk->timeout_s,
  };
}

double tdt__patience_waited_s(const tdt__patience *patience) {
  return (double)(tdt__clock_ns() - patience->start_ns) / 1e9;
}

bool tdt__patience_is_over(const tdt__patience *patience) {
  return tdt__patience_waited_s(patience) >= patience->timeout_s;
}

bool tdt__patience_wants_notice(tdt__patience *patience) {
  if (patience->told || tdt__patience_waited_s(patience) < TDT__NOTICE_S) {
    return false;
  }
  patience->told = true;
  return true;
}

void tdt__patience_notice(const tdt__patience *patience, const char *whom) {
  const tdt__talk *talk = patience->talk;
  tdt__log(talk->log, TDT_LOG_WARNING,
           "%s: %s: rank %u has waited %.0f s for %s, and will for at most %g s", talk->who,
           patience->what, tdt__rank_number(talk->group, talk->group->rank),
           tdt__patience_waited_s(patience), whom, talk->timeout_s);
}

tdt_status tdt__patience_poll(const tdt__patience *patience, tdt_error *error) {
  const tdt__talk *talk = patience->talk;
  tdt_error told = TDT_ERROR_INIT;
  tdt_status status = talk->poll == NULL ? TDT_OK : talk->poll(talk->user, &told);
  if (status != TDT_OK) {
    const char *text = tdt_error_text(&told);
    (void)tdt__fail(error, status, "%s", text[0] != '\0' ? text : tdt_status_text(status));
  }
  tdt_error_clear(&told);
  return status;
}

tdt_status tdt__patience_give_up(const tdt__patience *patience, const char *whom,
                                 tdt_error *error) {
  const tdt__talk *talk = patience->talk;
  return tdt__fail(error, TDT_EGROUP, "waited %g s in vain for %s; rank %u at %s: %s",
                   talk->timeout_s, whom, tdt__rank_number(talk->group, talk->group->rank),
                   talk->who, patience->what);
}

tdt_status tdt__patience_go_on(tdt__patience *patience, const char *whom, tdt_error *error) {
  if (tdt__patience_is_over(patience)) {
    return tdt__patience_give_up(patience, whom, error);
  }
  if (tdt__patience_wants_notice(patience)) {
    tdt__patience_notice(patience, whom);
  }
  return tdt__patience_poll(patience, error);
}
