/* SPDX-License-Identifier: MIT */
#include "group/greatest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "group/patience.h"
#include "group/round.h"
#include "group/rounds.h"

/* -- before --------------------------------------------------------------------------------------
 */

/* Others may have begun meanwhile what this rank did not wait for. */
static void finish_former(const tdt_group *group, tdt__reductions *mine) {
  double *values = calloc(mine->n_left, sizeof *values);
  bool done = false;
  if (values == NULL) {
    return;
  }
  const tdt_status status = group->table->wait_max(group->self, TDT__SLICE_S, values, &done, NULL);
  if (status != TDT_OK && status != TDT_ESTOPPED) {
    mine->lost = true;
  }
  if (done || mine->lost) {
    mine->n_left = 0;
  }
  free(values);
}

tdt__fact tdt__greatest_fact(const tdt__talk *talk, char text[TDT__REDUCTIONS_SIZE]) {
  tdt__reductions *mine = tdt__rounds_reductions(talk->group->rounds);
  if (mine->n_left > 0) {
    finish_former(talk->group, mine);
  }
  (void)snprintf(text, TDT__REDUCTIONS_SIZE, "%" PRIu64 "%s", mine->n_begun,
                 mine->n_left > 0 ? ", the last one not finished"
                 : mine->lost     ? ", the last one lost"
                                  : "");
  return (tdt__fact){"reductions begun over this process group", text};
}

/* -- the reduction -------------------------------------------------------------------------------
 */

/* Of one that failed to begin nobody knows whether it has. */
static tdt_status begin(tdt__talk *talk, const double *values, size_t n_values, tdt_error *told) {
  const tdt_group *group = talk->group;
  tdt__reductions *mine = tdt__rounds_reductions(group->rounds);
  tdt_status status = group->table->start_max(group->self, values, n_values, told);
  if (status == TDT_OK) {
    mine->n_begun++;
    mine->n_left = n_values;
  }
  mine->lost = status != TDT_OK;
  return status;
}

static tdt_status end(tdt__patience *patience, double *values, tdt_error *told) {
  const tdt_group *group = patience->talk->group;
  tdt__reductions *mine = tdt__rounds_reductions(group->rounds);
  bool done = false;
  for (;;) {
    tdt_status status = group->table->wait_max(group->self, TDT__SLICE_S, values, &done, told);
    if (status != TDT_OK || done) {
      mine->lost = status != TDT_OK && status != TDT_ESTOPPED;
      mine->n_left = status == TDT_ESTOPPED ? mine->n_left : 0;
      return status;
    }
    status = tdt__patience_go_on(patience, "one of the ranks", told);
    if (status != TDT_OK) {
      return status;
    }
  }
}

/* -- after it failed -----------------------------------------------------------------------------
 */

static const char *reason_of(tdt_status status, const tdt_error *told) {
  return told->code != TDT_OK ? tdt_error_text(told) : tdt_status_text(status);
}

/*
 * Whoever is still there meets in one round more. Some find out at once, and others only by their
 * deadline, `rest_s` from now: rank 0 waits a little longer than to that, and the others for it.
 */
static tdt_status hold_roll_call(tdt__talk *talk, const char *what, double rest_s,
                                 tdt_error *error) {
  char step[96];
  const double timeout_s = talk->timeout_s;
  const double grace_s = timeout_s < 10.0 ? 0.5 * timeout_s : 5.0;
  (void)snprintf(step, sizeof step, "%s could not be found", what);
  const tdt__round round = {.what = step};
  talk->timeout_s = (rest_s > 0.0 ? rest_s : 0.0) + (talk->group->rank == 0 ? 1 : 2) * grace_s;
  tdt_status status = tdt__round_hold(talk, &round, NULL, error);
  talk->timeout_s = timeout_s;
  return status;
}

/* Who took part in that round knows that it is over: no rank goes on from there. */
static void end_talk(tdt__talk *talk) {
  if (!talk->over && talk->round == 0) {
    talk->over = true;
    tdt__rounds_fail(talk->group->rounds);
  }
}

/* The reduction failed here, for this reason. */
static tdt_status find_missing(tdt__talk *talk, const char *what, double rest_s, const char *reason,
                               tdt_error *error) {
  tdt_error found = TDT_ERROR_INIT;
  tdt_status status = hold_roll_call(talk, what, rest_s, &found);
  end_talk(talk);
  if (status == TDT_OK) {
    status = tdt__fail(error, TDT_EGROUP, "%s: %s: %s", talk->who, what, reason);
  } else if (status == TDT_EGROUP) {
    (void)tdt__fail(error, status, "%s (%s: %s)", tdt_error_text(&found), what, reason);
  } else {
    (void)tdt__fail(error, status, "%s", reason_of(status, &found));
  }
  tdt_error_clear(&found);
  return status;
}

/* All ranks have begun, so that the end is near. */
static tdt_status end_or_miss(tdt__talk *talk, const char *what, double *values, tdt_error *error) {
  tdt_error told = TDT_ERROR_INIT;
  tdt__patience patience;
  tdt__patience_begin(&patience, talk, what);
  tdt_status status = end(&patience, values, &told);
  if (status == TDT_EGROUP) {
    const double rest_s = talk->timeout_s - tdt__patience_waited_s(&patience);
    status = find_missing(talk, what, rest_s, reason_of(status, &told), error);
  } else if (status != TDT_OK) {
    (void)tdt__fail(error, status, "%s: %s: %s", talk->who, what, reason_of(status, &told));
  }
  tdt_error_clear(&told);
  return status;
}

tdt_status tdt__greatest_find(tdt__talk *talk, const char *what, double *values, size_t n_values,
                              tdt_error *error) {
  static const tdt__round all_began = {.what = "the times are being reduced"};
  tdt_error told = TDT_ERROR_INIT;
  tdt_status status = tdt__talk_check(talk, error);
  if (status != TDT_OK) {
    return status;
  }
  status = begin(talk, values, n_values, &told);
  if (status != TDT_OK) {
    (void)tdt__fail(error, status, "%s: %s: %s", talk->who, what, reason_of(status, &told));
  } else {
    status = tdt__round_hold(talk, &all_began, NULL, error);
  }
  tdt_error_clear(&told);
  return status == TDT_OK ? end_or_miss(talk, what, values, error) : status;
}
