/* SPDX-License-Identifier: MIT */
#ifndef TDT_ENGINE_SESSION_H
#define TDT_ENGINE_SESSION_H

#include <tdtune/session.h>

#include "engine/session_sites.h"
#include "engine/session_slots.h"
#include "group/talk.h"

typedef enum tdt__run_kind {
  TDT__RUN_DONE,     /* the candidate whose turn it was ran */
  TDT__RUN_FAILED,   /* the candidate could not run */
  TDT__RUN_STAND_IN, /* it ran in place of another */
} tdt__run_kind;

/* One run of a candidate in the pass at hand, kept until the pass is over: nothing is waited for
 * and nothing is logged while the outer function runs. */
typedef struct tdt__run {
  tdt__site *site;
  tdt__run_kind kind;
  tdt__slot slot;   /* whose turn it was */
  size_t candidate; /* what ran */
  size_t mark;      /* its start; its end is the next. TDT_NONE: not timed */
  double ms;        /* what was read between them; negative: nothing yet */
} tdt__run;

struct tdt_session {
  tdt_plan plan;
  tdt_device device;
  tdt_group group;
  bool own_device; /* the host's clock, made for this session */
  unsigned n_idle_passes;
  tdt_log log;
  void *user;
  void (*decided)(void *user, const tdt_session_tuning *tuning);

  tdt__sites sites;
  bool running;
  bool in_pass;           /* inside the outer function */
  unsigned long n_passes; /* of this call of tdt_session_run() */
  tdt_error broken;       /* what a launch of this pass ended it with; code OK: nothing */

  tdt__run *runs; /* of this pass */
  size_t n_runs;
  size_t runs_capacity;
  size_t n_marks;          /* used in this pass */
  size_t n_marks_reserved; /* of the device */

  const char *name;
  char who[192];  /* for messages to other ranks: name and pass */
  tdt__talk talk; /* with the other ranks, in a run; nothing where there are none */
  double rank_timeout_s;
  tdt_status (*poll)(void *user, tdt_error *error);
};

/* The pass is over, the outer function returned `outcome` (with *error, if it failed). What was
 * measured is read, exchanged, and tunings that are through are decided. Fails with `outcome` or
 * what else went wrong. */
tdt_status tdt__session_close_pass(tdt_session *session, tdt_status outcome, tdt_error *error);

#endif
