/* SPDX-License-Identifier: MIT */
#ifndef TDT_GROUP_TALK_H
#define TDT_GROUP_TALK_H

#include <stdbool.h>

#include <tdtune/group.h>
#include <tdtune/log.h>

/*
 * One rank's part in one conversation of a group: what is said in it is round.h's, here is how it
 * begins, how long anybody waits, and how a rank leaves.
 *
 * A rank leaves by a note: its message of the next round says why it will not be there, and it goes
 * without waiting for anybody. So every rank takes part in every round, if only by a note, and the
 * ranks' counts of rounds cannot drift apart. A note that is older than TDT__NOTE_FRESH_S when it
 * is read was meant for nobody who waits: that round is skipped. So is one with the note of a rank
 * that left an earlier tuning, which has ended here as well. A note that cannot be posted is owed,
 * and posted before anything else is said.
 */
typedef struct tdt__talk {
  const tdt_group *group;
  const tdt_log *log;
  const char *who;  /* what is tuned, for messages: "scale, key (64,)" */
  double timeout_s; /* longest wait for other ranks */
  void *user;       /* of poll() */
  tdt_status (*poll)(void *user, tdt_error *error); /* NULL: nothing ends a wait early */
  uint64_t n_failed;                                /* of the group when the talk began */
  uint64_t round; /* that has begun, and this rank has not posted in; 0: none */
  bool over;      /* it has failed, and the others know or will learn it */
} tdt__talk;

enum { TDT__NOTE_FRESH_S = 30 };

/* Begins a talk. The thread has the floor of the group's rounds until the talk is finished with. */
void tdt__talk_begin(tdt__talk *talk, const tdt_group *group);

/* Whether the ranks can go on talking: not after the talk is over, or a tuning inside of it was not
 * agreed upon. */
bool tdt__talk_stands(const tdt__talk *talk);

/* Fails with TDT_EGROUP if the talk is over, or a tuning inside of it was not agreed upon. */
tdt_status tdt__talk_check(tdt__talk *talk, tdt_error *error);

/* Posts the note that is owed, if one is. TDT_ENOMEM. */
tdt_status tdt__talk_pay(const tdt_group *group, tdt_error *error);

/* This rank goes, for this reason. Nothing happens where the talk is over already. */
void tdt__talk_leave(tdt__talk *talk, const char *reason);

/* The answer that all ranks have read ended it. Returns TDT_EGROUP with that text. */
tdt_status tdt__talk_fail(tdt__talk *talk, const char *text, tdt_error *error);

/* The group failed with `told` as this rank had to do with rank `with` (itself: all others).
 * TDT_EGROUP gets to say where; other statuses are passed on. */
tdt_status tdt__talk_lost(const tdt__talk *talk, const char *what, unsigned with, tdt_status status,
                          const tdt_error *told, tdt_error *error);

#endif
