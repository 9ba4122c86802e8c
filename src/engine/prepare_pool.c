/* SPDX-License-Identifier: MIT */
#include "engine/prepare_pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "engine/callback.h"

enum { SLICE_NS = 50 * 1000 * 1000, SECOND_NS = 1000 * 1000 * 1000 };

/* Compilers recurse deeply, and a secondary thread's stack is small on some systems. */
static const size_t stack_size = (size_t)8 << 20;

/* The mutex guards n_running only, and is never held while a piece is worked on. */
typedef struct pool {
  const tdt__pieces *pieces;
  atomic_size_t n_begun; /* pieces; may grow beyond their number */
  atomic_bool stopped;
  pthread_mutex_t mutex;
  pthread_cond_t done; /* n_running became 0 */
  unsigned n_running;
} pool;

/* Whether there was a piece left to do. */
static bool do_next(pool *p) {
  if (atomic_load(&p->stopped)) {
    return false;
  }
  const tdt__pieces *pieces = p->pieces;
  const size_t begun = atomic_fetch_add(&p->n_begun, 1);
  if (begun >= pieces->n) {
    return false;
  }
  if (!pieces->work(pieces->user, (pieces->first + begun) % pieces->n)) {
    atomic_store(&p->stopped, true);
  }
  return true;
}

static void *work(void *argument) {
  pool *p = argument;
  while (do_next(p)) {
  }
  (void)pthread_mutex_lock(&p->mutex);
  p->n_running--;
  if (p->n_running == 0) {
    (void)pthread_cond_signal(&p->done);
  }
  (void)pthread_mutex_unlock(&p->mutex);
  return NULL;
}

/* -- the calling thread --------------------------------------------------------------------------
 */

static tdt_status work_alone(pool *p, const tdt__call *call, tdt_error *error) {
  tdt_status status = TDT_OK;
  while (status == TDT_OK && do_next(p)) {
    status = tdt__call_poll(call, error);
  }
  return status;
}

static struct timespec end_of_slice(void) {
  struct timespec end;
  (void)clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_nsec += SLICE_NS;
  if (end.tv_nsec >= SECOND_NS) {
    end.tv_nsec -= SECOND_NS;
    end.tv_sec++;
  }
  return end;
}

/* Waits until all workers are through, or one slice; tells whether they are. */
static bool wait_a_slice(pool *p) {
  const struct timespec end = end_of_slice();
  (void)pthread_mutex_lock(&p->mutex);
  int failure = 0;
  while (p->n_running > 0 && failure == 0) {
    failure = pthread_cond_timedwait(&p->done, &p->mutex, &end);
  }
  const bool through = p->n_running == 0;
  (void)pthread_mutex_unlock(&p->mutex);
  return through;
}

/* poll() comes before each wait, so that a caller may let go in it of what workers need. */
static tdt_status watch(pool *p, const tdt__call *call, tdt_error *error) {
  tdt_status status = TDT_OK;
  do {
    if (status == TDT_OK) {
      status = tdt__call_poll(call, error);
    }
    if (status != TDT_OK) {
      atomic_store(&p->stopped, true);
    }
  } while (!wait_a_slice(p));
  return status;
}

/* -- threads -------------------------------------------------------------------------------------
 */

/* Waiting must not stretch when somebody sets the clock. */
static int init_condition(pthread_cond_t *condition) {
  pthread_condattr_t attributes;
  int failure = pthread_condattr_init(&attributes);
  if (failure != 0) {
    return failure;
  }
  failure = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  if (failure == 0) {
    failure = pthread_cond_init(condition, &attributes);
  }
  (void)pthread_condattr_destroy(&attributes);
  return failure;
}

/* Starts as many as there can be, and returns how many. */
static unsigned start(pool *p, pthread_t *threads, unsigned n) {
  pthread_attr_t attributes;
  unsigned n_started = 0;
  if (pthread_attr_init(&attributes) != 0) {
    return 0;
  }
  (void)pthread_attr_setstacksize(&attributes, stack_size);
  (void)pthread_mutex_lock(&p->mutex);
  while (n_started < n && pthread_create(&threads[n_started], &attributes, work, p) == 0) {
    n_started++;
  }
  p->n_running = n_started;
  (void)pthread_mutex_unlock(&p->mutex);
  (void)pthread_attr_destroy(&attributes);
  return n_started;
}

static tdt_status work_together(pool *p, pthread_t *threads, unsigned n, const tdt__call *call,
                                tdt_error *error) {
  const unsigned n_started = start(p, threads, n);
  if (n_started == 0) {
    return work_alone(p, call, error);
  }
  tdt_status status = watch(p, call, error);
  for (unsigned i = 0; i < n_started; i++) {
    (void)pthread_join(threads[i], NULL);
  }
  return status;
}

/* False: there can be no threads. */
static bool open_threads(pool *p, pthread_t **threads, unsigned n) {
  *threads = calloc(n, sizeof **threads);
  if (*threads == NULL) {
    return false;
  }
  if (pthread_mutex_init(&p->mutex, NULL) == 0) {
    if (init_condition(&p->done) == 0) {
      return true;
    }
    (void)pthread_mutex_destroy(&p->mutex);
  }
  free(*threads);
  return false;
}

static void close_threads(pool *p, pthread_t *threads) {
  (void)pthread_cond_destroy(&p->done);
  (void)pthread_mutex_destroy(&p->mutex);
  free(threads);
}

tdt_status tdt__pieces_do(const tdt__pieces *pieces, unsigned n_workers, const tdt__call *call,
                          tdt_error *error) {
  pool p = {.pieces = pieces};
  const unsigned n = n_workers < pieces->n ? n_workers : (unsigned)pieces->n;
  pthread_t *threads;
  if (n < 2 || !open_threads(&p, &threads, n)) {
    return work_alone(&p, call, error);
  }
  tdt_status status = work_together(&p, threads, n, call, error);
  close_threads(&p, threads);
  return status;
}
