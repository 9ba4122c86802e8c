/* SPDX-License-Identifier: MIT */
#ifndef TDTUNE_SESSION_H
#define TDTUNE_SESSION_H

#include <stdbool.h>

#include <tdtune/device.h>
#include <tdtune/group.h>
#include <tdtune/log.h>
#include <tdtune/plan.h>
#include <tdtune/record.h>
#include <tdtune/space.h>
#include <tdtune/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Kernels tuned where they really run. An outer function that launches tunable kernels is called
 * again and again (each call is a pass); in every pass each launch runs one candidate of its
 * kernel, and the time is taken around that launch alone. When all is known, one more pass runs
 * with the winners. Tunings are told apart by kernel and key, and any number may be open at once.
 * A kernel with one candidate has nothing to tune: it just runs.
 *
 * A session is used by one thread at a time. It keeps the winners it found: run it again and only
 * kernels and keys that are new are tuned.
 */
typedef struct tdt_session tdt_session;

/* One tuning of a session, as the callbacks and tdt_session_tuning() show it; borrowed until the
 * session runs again or is destroyed. */
typedef struct tdt_session_tuning {
  const char *kernel;
  const char *key;
  size_t n_candidates;
  size_t winner;                   /* TDT_NONE while it is open */
  const tdt_candidate *candidates; /* one view each; config is the canonical description, time_ms
                                      the greatest over the ranks once it is decided */
} tdt_session_tuning;

typedef struct tdt_session_options {
  size_t size;              /* sizeof(tdt_session_options) of the caller */
  const tdt_plan *plan;     /* copied; NULL: 3 warm-ups, 5 timed runs, mean */
  const tdt_device *device; /* borrowed for the session's life; NULL: the host's clock. Marks with
                               even numbers are starts, odd ones the ends */
  const tdt_group *group;   /* likewise; NULL: this process alone */
  unsigned n_idle_passes;   /* passes in a row without progress of an open tuning that end it all */
  tdt_log log;              /* events, one a line, as docs/contextual.md lists them */
  void *user;
  /* A tuning was decided by measuring; after the pass in which it happened, before the next. Not
   * called for a kernel with one candidate. NULL: not told. */
  void (*decided)(void *user, const tdt_session_tuning *tuning);
  double rank_timeout_s; /* longest wait for the other ranks of the group; above 0 */
  /* From time to time while waiting for other ranks; TDT_ESTOPPED gives up. NULL: wait on. */
  tdt_status (*poll)(void *user, tdt_error *error);
  const char *name; /* of the outer function, for messages about ranks; borrowed for the session's
                       life. NULL: "outer function" */
} tdt_session_options;

/* The defaults: 3 warm-ups, 5 timed runs, mean, host clock, one rank, 3 idle passes, 600 s for
 * other ranks, silent. */
TDT_EXPORT void tdt_session_options_init(tdt_session_options *options);

/* Returns TDT_EINVAL (a plan out of bounds, n_idle_passes of 0, a device or group whose table is of
 * another abi or incomplete), TDT_ENOMEM. Free with tdt_session_destroy(). */
TDT_EXPORT tdt_status tdt_session_create(const tdt_session_options *options, tdt_session **session,
                                         tdt_error *error);
/* NULL is allowed. Not while it runs. */
TDT_EXPORT void tdt_session_destroy(tdt_session *session);

/*
 * Calls outer(user) until every kernel that it launches through tdt_session_launch() is tuned, then
 * once more with the winners; the outer function's results are those of that last call. If the
 * first call found nothing to tune, it is the only one.
 *
 * Over several ranks all of them run the same outer function with the same kernels; failures and
 * times are exchanged between passes, as MAX over vectors as long as the candidates, never inside
 * one. Every pass is followed by an exchange, also the last.
 *
 * Returns
 *   what outer() returned, if that is a failure
 *   TDT_EFAILED   no candidate of a kernel works; the text names kernel, key and every reason
 *   TDT_ESTALLED  the outer function no longer reaches a kernel that it reached before; named
 *   TDT_EDEVICE   a candidate ruined the device, which is named; or it could not make marks
 *   TDT_EGROUP    the ranks could not be reached, or do not launch the same kernels, or another
 *                 one failed; the text says which
 *   TDT_EINVAL    the session is running already, or `outer` is missing
 *   TDT_ENOMEM
 * A failure of tdt_session_launch() that the outer function keeps to itself ends the run as well,
 * unless it was the winner's. After a failure tunings that were open are dropped, decided ones stay
 * decided, and the session may run again.
 */
TDT_EXPORT tdt_status tdt_session_run(tdt_session *session,
                                      tdt_status (*outer)(void *user, tdt_error *error), void *user,
                                      tdt_error *error);

/* One launch of a tunable kernel; plain data, borrowed for the call. */
typedef struct tdt_launch {
  size_t size;            /* sizeof(tdt_launch) of the caller */
  const char *kernel;     /* a text that only this kernel has; it names it in messages */
  const char *key;        /* canonical text of what its fastest candidate depends on */
  const tdt_space *space; /* its candidates for this key; read at the first launch only */
  void *user;
  /* Runs the kernel once. TDT_ESTOPPED ends the session's run at once; any other failure makes the
   * candidate a failed one, with the error's text as its reason. */
  tdt_status (*launch)(void *user, size_t candidate, tdt_error *error);
  /* Called right before each launch() and outside of the time that is taken, to prepare what the
   * candidate works on; `marked` says whether there will be marks around that launch: it is a timed
   * one, or a warm-up, which is done like one. A failure counts like one of launch(), which is then
   * not called. NULL: nothing to prepare. */
  tdt_status (*before)(void *user, size_t candidate, bool marked, tdt_error *error);
} tdt_launch;

/*
 * To be called by the outer function where it launches the kernel: runs exactly one candidate that
 * works. If the one whose turn it is fails, another takes its place in this very call (one that has
 * worked before, else the others in order), so that what follows in the outer function has what it
 * needs and ranks stay in step. Once the winner is known that one runs, and what it returns is
 * returned. Outside the outer function it runs the winner, or candidate 0 where none is known.
 *
 * Returns TDT_ESTOPPED, TDT_EFAILED, TDT_EDEVICE, TDT_ENOMEM as above, or TDT_EINVAL (a required
 * field is missing). The outer function hands a failure on; until it returns, every further launch
 * fails likewise (except after TDT_EINVAL or a failure of the winner).
 */
TDT_EXPORT tdt_status tdt_session_launch(tdt_session *session, const tdt_launch *launch,
                                         tdt_error *error);

/* The tunings in the order in which they were first reached. */
TDT_EXPORT size_t tdt_session_n_tunings(const tdt_session *session);
/* Returns TDT_EINVAL where there is none. */
TDT_EXPORT tdt_status tdt_session_tuning_at(const tdt_session *session, size_t index,
                                            tdt_session_tuning *tuning, tdt_error *error);

#ifdef __cplusplus
}
#endif

#endif
