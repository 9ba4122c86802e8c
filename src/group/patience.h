/* SPDX-License-Identifier: MIT */
#ifndef TDT_GROUP_PATIENCE_H
#define TDT_GROUP_PATIENCE_H

#include "group/talk.h"

/* Waiting is done in slices, so that a poll() can end it. */
#define TDT__SLICE_S 0.1

/* After this long the log names whom a rank waits for; a little before that rank 0, which alone
 * knows who is missing, has told the others. */
#define TDT__NOTICE_S 10.0
#define TDT__HINT_S   5.0

/* One wait for other ranks. */
typedef struct tdt__patience {
  tdt__talk *talk;
  const char *what; /* the wait is about */
  uint64_t start_ns;
  double timeout_s;
  bool told;
} tdt__patience;

void tdt__patience_begin(tdt__patience *patience, tdt__talk *talk, const char *what);
double tdt__patience_waited_s(const tdt__patience *patience);
bool tdt__patience_is_over(const tdt__patience *patience);

/* Whether it is time to say in the log whom this rank waits for; true once. */
bool tdt__patience_wants_notice(tdt__patience *patience);
void tdt__patience_notice(const tdt__patience *patience, const char *whom);

/* Between two slices: polls, says once whom for, and fails with TDT_EGROUP at the deadline. */
tdt_status tdt__patience_go_on(tdt__patience *patience, const char *whom, tdt_error *error);

/* The deadline has passed: TDT_EGROUP, saying whom this rank waited for. */
tdt_status tdt__patience_give_up(const tdt__patience *patience, const char *whom, tdt_error *error);

/* What poll() says. */
tdt_status tdt__patience_poll(const tdt__patience *patience, tdt_error *error);

#endif
