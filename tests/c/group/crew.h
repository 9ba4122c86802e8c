/* SPDX-License-Identifier: MIT */
#ifndef TDT_TESTS_CREW_H
#define TDT_TESTS_CREW_H

#include <stdbool.h>

#include "board.h"
#include "harness.h"

/* Ranks as threads. An assertion of cmocka's must not fail in a thread: EXPECT() there. */

typedef struct crew_member {
  board_world *world;
  const tdt_group *group;
  bool (*act)(struct crew_member *me);
  unsigned rank;
  const char *expected; /* what did not hold, or NULL */
  int line;
  tdt_error error; /* for the acts to use */
} crew_member;

#define EXPECT(me, condition)                                                                      \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      (me)->expected = #condition;                                                                 \
      (me)->line = __LINE__;                                                                       \
      return false;                                                                                \
    }                                                                                              \
  } while (0)

/* Every rank does this in a thread of its own; ends the test unless it went well for all. */
void crew_run(board_world *world, bool (*act)(crew_member *me));

#endif
