/* SPDX-License-Identifier: MIT */
#ifndef TDT_TESTS_SESSION_STAGE_H
#define TDT_TESTS_SESSION_STAGE_H

#include <string.h>

#include "harness.h"

#include <tdtune/tdtune.h>

/*
 * A scripted outer function: in every pass it launches its acts (a kernel with a key, so many times
 * each) in order. Candidates take the time that the script says, on a clock that only launches and
 * the outer function itself move; a device with that clock; a log that is kept. Nothing but
 * what is called assert_ asserts, so that several can run in threads: what must never happen makes
 * the outer function fail with TDT_EIO.
 */
enum { STAGE_ACTS = 6, STAGE_CANDIDATES = 6, STAGE_MARKS = 1024 };

typedef struct stage_candidate {
  double cost_ms;
  const char *fails; /* reason of a failing launch; NULL: it runs */
  tdt_status status; /* of a failing launch; TDT_OK means TDT_ELAUNCH */
  unsigned from_run; /* the first run of it that fails, from 1; 0: the first */
  bool ruins;        /* the device, in failing */
  unsigned n_tried;
  unsigned n_ran;
} stage_candidate;

typedef struct stage stage;

typedef struct stage_act {
  stage *on;
  const char *kernel;
  const char *key;
  tdt_space *space;
  size_t n_candidates;
  stage_candidate candidates[STAGE_CANDIDATES];
  unsigned per_pass;  /* launches in a pass */
  unsigned from_pass; /* the first pass that launches it, from 1 */
  unsigned to_pass;   /* the last; 0: all */
  unsigned every;     /* only each so manieth pass from the first on; 0: each */
  unsigned n_ran;     /* successful runs of its candidates */
  size_t last_ran;
} stage_act;

struct stage {
  tdt_session *session;
  tdt_session_options options; /* for the session to be made by the next stage_run() */
  tdt_plan plan;
  stage_act acts[STAGE_ACTS];
  size_t n_acts;

  unsigned pass;       /* of the current run, from 1; after it, how many there were */
  unsigned fail_pass;  /* the outer function fails in this pass, after its first act; 0: never */
  bool swallows;       /* the outer function hides what a launch returned */
  unsigned n_launches; /* in this run that succeeded */
  unsigned n_after_failure; /* launches tried after one that failed, in this run */
  bool in_outer;

  tdt_device_table table;
  tdt_device device;
  double now_ms;
  double marks_ms[STAGE_MARKS];
  size_t n_reserved;
  unsigned n_waited_inside; /* device calls that wait, made while the outer function runs */
  bool ruined;
  size_t mark_fails;    /* this call of mark() fails, from 1; 0: none */
  size_t elapsed_fails; /* likewise */
  double elapsed_gives; /* what elapsed_ms() of that call gives instead, if it is not 0 */
  size_t n_mark;
  size_t n_elapsed;

  unsigned n_decided;
  char decided[512]; /* "kernel/key=winner@pass;" */
  char *log;
  size_t log_size;
  tdt_error error;
};

/* For cmocka's state; stage_open() and stage_close() are the same for one in the caller's memory.
 */
int stage_setup(void **state);
int stage_teardown(void **state);
int stage_open(stage *s);
void stage_close(stage *s);

/* One more act with candidates {"c":0} ..., each at its cost. */
stage_act *stage_add(stage *s, const char *kernel, const char *key, size_t n, const double *costs);

/* Makes the session, if there is none, and runs it; counters of a run start at 0. */
tdt_status stage_run(stage *s);
/* The same with an outer function of the caller's. */
tdt_status stage_run_with(stage *s, tdt_status (*outer)(void *, tdt_error *));

/* Launches an act once, as the outer function does. */
tdt_status stage_launch(stage_act *act, tdt_error *error);

/* The tuning of an act; false if there is none. */
bool stage_find(const stage *s, const stage_act *act, tdt_session_tuning *tuning);

enum { RUNS = 3 + 5 }; /* of one candidate under the default plan */

/* Passes that `n` candidates of `runs` runs each take at `per_pass` launches, the last one too. */
unsigned stage_passes(size_t n, unsigned runs, unsigned per_pass);

/* Runs the session, which must succeed. */
void assert_run(stage *s);
/* The act is decided, and the last pass ran with that winner. */
void assert_winner(const stage *s, const stage_act *act, size_t winner);

/* How many log lines hold both texts. */
unsigned stage_count(const stage *s, const char *one, const char *other);

/* Forgets the log. */
void stage_forget_log(stage *s);

#endif
