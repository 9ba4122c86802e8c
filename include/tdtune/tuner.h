/* SPDX-License-Identifier: MIT */
#ifndef TDTUNE_TUNER_H
#define TDTUNE_TUNER_H

#include <stdbool.h>

#include <tdtune/device.h>
#include <tdtune/group.h>
#include <tdtune/identity.h>
#include <tdtune/log.h>
#include <tdtune/plan.h>
#include <tdtune/settings.h>
#include <tdtune/space.h>
#include <tdtune/store.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What the tuners of a process share: who measures on which device, and which thread waits for
 * which. One for a program is enough; measurements of tuners of different contexts may overlap.
 */
typedef struct tdt_context tdt_context;

/* Returns TDT_ENOMEM. Free with tdt_context_destroy(), after all its tuners. */
TDT_EXPORT tdt_status tdt_context_create(tdt_context **context, tdt_error *error);
TDT_EXPORT void tdt_context_destroy(tdt_context *context);

/* One function and its candidates, and in memory the winners found or looked up so far. */
typedef struct tdt_tuner tdt_tuner;

/*
 * Makes a tuner. `function` and `plan` are copied (NULL plan: the documented one); `context` and
 * `space` are borrowed until the tuner is destroyed.
 * Returns TDT_EINVAL (no name, a plan out of bounds), TDT_ENOMEM. Free with tdt_tuner_destroy().
 */
TDT_EXPORT tdt_status tdt_tuner_create(tdt_context *context, const tdt_function *function,
                                       const tdt_space *space, const tdt_plan *plan,
                                       tdt_tuner **tuner, tdt_error *error);

/* Frees the tuner. NULL is allowed. No call on it may be under way. */
TDT_EXPORT void tdt_tuner_destroy(tdt_tuner *tuner);

/*
 * The hit: whether the winner for `key` (`key_size` bytes, no NUL needed) is in memory, and which.
 * Takes no lock, allocates nothing, never waits; any number of threads.
 */
TDT_EXPORT bool tdt_tuner_lookup(const tdt_tuner *tuner, const char *key, size_t key_size,
                                 size_t *candidate);

/* How far a tuning is; handed to the progress callback after each candidate, and with a plan that
 * measures some of them on also after each time that it did. */
typedef struct tdt_progress {
  size_t n_candidates; /* that take part in this tuning */
  size_t n_done;       /* of those, measured (if not for the last time) or failed */
  size_t candidate;    /* the one just done, TDT_NONE at the start */
  tdt_outcome outcome; /* of it */
  double time_ms;      /* of it, if TIMED; by all its runs so far */
  const char *error;   /* of it, if FAILED; borrowed for the call */
  size_t best;         /* fastest so far, TDT_NONE if none ran */
  double best_ms;
} tdt_progress;

/*
 * All that a miss may need. Start with tdt_request_init(), which sets defaults; `launch` is
 * required. Everything is borrowed until tdt_tuner_resolve() returns, and every callback runs on
 * the thread that called it (except prepare and anticipate, see there), never under a lock (but
 * measurements with the same device id wait for one another). Callbacks may call any function of
 * this library, also resolve itself.
 */
typedef struct tdt_request {
  size_t size;                  /* sizeof(tdt_request) of the caller; set by tdt_request_init() */
  const char *key;              /* NUL-terminated canonical text of the business key */
  const char *hardware;         /* text of a JSON object; NULL means {} */
  const char *dependencies;     /* text of a JSON object: software the times depend on; NULL: {} */
  const char *prune_rule;       /* digest of the pruning rule's source: a stored result counts its
                                   pruned candidates only under the same rule. NULL means "" */
  const tdt_settings *settings; /* NULL: the defaults */
  const tdt_device *device;     /* NULL: the host's clock */
  const tdt_group *group;       /* NULL: this process alone */
  tdt_store *store;             /* NULL: memory only */
  tdt_log log;
  void *user; /* first argument of the callbacks below */

  /*
   * Runs the function once with candidate `candidate`; for a device with a stream, queueing the
   * work is enough. TDT_ESTOPPED ends the tuning at once; every other failure makes the candidate
   * a failed one, with the error's text as its reason. Over several ranks it is then still launched
   * for the rest of those runs which the others do meanwhile, for it may communicate with them.
   */
  tdt_status (*launch)(void *user, size_t candidate, tdt_error *error);
  /*
   * Whether the candidate takes part: once per candidate, in order, before anything is measured.
   * NULL: all do. A failure ends the tuning with that status; nothing is remembered.
   */
  tdt_status (*prune)(void *user, size_t candidate, bool *keep, tdt_error *error);
  /* After a candidate failed, before the next: let go of what it held. NULL: nothing to do. */
  void (*discard)(void *user, size_t candidate);
  /* From time to time while waiting for another thread or process; TDT_ESTOPPED gives up waiting.
   * NULL: wait on. */
  tdt_status (*poll)(void *user, tdt_error *error);
  /* NULL: nobody watches. */
  void (*progress)(void *user, const tdt_progress *progress);
  /*
   * Makes the candidate ready to be launched (compiles it, say): once for each that takes part,
   * before any of them is launched. NULL: nothing to prepare. A failure is none of the candidate's,
   * which gets its normal chance (the log says how many failed and why the first did: a warning if
   * all of them, else at TDT_LOG_INFO); but one that fails on some ranks and not on others counts
   * as failed and is launched on none. TDT_ESTOPPED ends the tuning: candidates being prepared are
   * finished, no others are begun.
   *
   * Called from up to settings->n_workers threads at once, which this library makes and ends, each
   * candidate by one of them; with 0 or 1, or where no thread can be made, from the thread that
   * called resolve, one candidate after another. In either case poll() is asked in between.
   */
  tdt_status (*prepare)(void *user, size_t candidate, tdt_error *error);
  /*
   * The same, for a caller who learns what to prepare only from a launch, and as help that has no
   * say in the outcome. Once in a tuning, between the first launch that succeeds and the next one,
   * it is called for each other candidate that is still to run. (If the plan has no warm-ups the
   * first launches are timed together, and it is called after those.) It must not launch; nothing
   * is launched or timed meanwhile, and the device's turn is kept, so that a tuning with the same
   * device begun in it would wait for ever. Threads as for prepare. Not called with n_workers 0 or
   * 1, nor for a single candidate: there it would gain nothing. NULL: nothing to do.
   */
  void (*anticipate)(void *user, size_t candidate);
  /*
   * Right before each launch() and outside of the time that is taken: puts back what an earlier
   * launch changed. For a device with a stream, queueing that is enough. A failure counts like one
   * of launch(), which is then not called. NULL: nothing to put back.
   */
  tdt_status (*before)(void *user, size_t candidate, tdt_error *error);
  /*
   * Whether what the candidate's first warm-up made is right; called once for each, after the
   * device has finished it. If *right becomes false or this fails, the candidate is a failed one,
   * its reason "wrong result"; TDT_ESTOPPED ends the tuning. Needs a plan with a warm-up. NULL:
   * what runs is right.
   */
  tdt_status (*check)(void *user, size_t candidate, bool *right, tdt_error *error);
} tdt_request;

TDT_EXPORT void tdt_request_init(tdt_request *request);

/* Where a winner came from. */
typedef enum tdt_origin {
  TDT_ORIGIN_MEMORY = 0,    /* remembered by this process */
  TDT_ORIGIN_STORED = 1,    /* found in the store, this rank's or another's */
  TDT_ORIGIN_TUNED = 2,     /* measured by this call */
  TDT_ORIGIN_FIRST = 3,     /* candidate 0, because the settings forbid measuring */
  TDT_ORIGIN_CAPTURING = 4, /* candidate 0, because a graph is being captured */
  TDT_ORIGIN_REENTERED = 5, /* the candidate in hand: called from inside its own tuning */
} tdt_origin;

typedef struct tdt_choice {
  size_t candidate;
  tdt_origin origin;
  bool remembered; /* the next tdt_tuner_lookup() of the key finds it */
} tdt_choice;

/*
 * The winner for request->key: from memory, from the store, or by tuning. Several threads that ask
 * for the same new key: one tunes, the others wait for its answer. Several processes that share
 * the store: likewise, for at most settings->lock_timeout_s.
 *
 * Returns
 *   TDT_EINVAL    a required field is missing, a text is no JSON object, or there is a check and
 *                 the plan has no warm-up
 *   TDT_EMISS     the settings say so; nothing ran
 *   TDT_EPRUNED   all candidates were pruned; the text gives name, key and counts
 *   TDT_EFAILED   none of those left could run; the text lists each with its reason
 *   TDT_EDEVICE   a candidate ruined the device; the text names it
 *   TDT_ESTOPPED  a callback said so; times measured so far are stored as an incomplete record,
 *                 and the next attempt measures the rest only. Of several ranks nothing is kept:
 *                 none knows more than its own times
 *   TDT_EGROUP    a rank could not be reached or did not come in time, the ranks are not about to
 *                 do the same, or another one gave up; the text says which and where
 *   TDT_ENOMEM, or what prune() returned
 * After a failure nothing is remembered for the key, what was stored before is still there, and the
 * next call tries again. A store that cannot be used is no failure: a warning, and memory only.
 */
TDT_EXPORT tdt_status tdt_tuner_resolve(tdt_tuner *tuner, const tdt_request *request,
                                        tdt_choice *choice, tdt_error *error);

#ifdef __cplusplus
}
#endif

#endif
