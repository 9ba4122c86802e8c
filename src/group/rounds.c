/* SPDX-License-Identifier: MIT */
#include "group/rounds.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/error.h"

struct tdt_group_rounds {
  pthread_mutex_t mutex;
  pthread_cond_t left;
  pthread_t speaker; /* meaningful while depth > 0 */
  unsigned depth;    /* how often the speaker has the floor */
  uint64_t n_rounds; /* this and what follows are the speaker's */
  uint64_t first;
  tdt__owed owed;
  uint64_t n_failed;
  tdt__reductions reductions;
};

/* The condition goes by the clock that nobody sets. */
static int init_condition(pthread_cond_t *condition) {
  pthread_condattr_t attributes;
  int failed = pthread_condattr_init(&attributes);
  if (failed != 0) {
    return failed;
  }
  failed = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  if (failed == 0) {
    failed = pthread_cond_init(condition, &attributes);
  }
  (void)pthread_condattr_destroy(&attributes);
  return failed;
}

tdt_status tdt_group_rounds_create(tdt_group_rounds **rounds, tdt_error *error) {
  tdt_group_rounds *made = calloc(1, sizeof *made);
  if (made == NULL) {
    return tdt__fail_memory(error);
  }
  if (pthread_mutex_init(&made->mutex, NULL) != 0) {
    goto free_rounds;
  }
  if (init_condition(&made->left) != 0) {
    goto destroy_mutex;
  }
  *rounds = made;
  return TDT_OK;

destroy_mutex:
  (void)pthread_mutex_destroy(&made->mutex);
free_rounds:
  free(made);
  return tdt__fail_memory(error);
}

void tdt_group_rounds_destroy(tdt_group_rounds *rounds) {
  if (rounds == NULL) {
    return;
  }
  (void)pthread_cond_destroy(&rounds->left);
  (void)pthread_mutex_destroy(&rounds->mutex);
  free(rounds);
}

static struct timespec in_seconds(double seconds) {
  struct timespec at;
  (void)clock_gettime(CLOCK_MONOTONIC, &at);
  const long whole = (long)seconds;
  at.tv_sec += whole;
  at.tv_nsec += (long)((seconds - (double)whole) * 1e9);
  if (at.tv_nsec >= 1000000000L) {
    at.tv_sec++;
    at.tv_nsec -= 1000000000L;
  }
  return at;
}

static bool is_mine(const tdt_group_rounds *rounds) {
  return rounds->depth == 0 || pthread_equal(rounds->speaker, pthread_self()) != 0;
}

bool tdt__rounds_enter(tdt_group_rounds *rounds, double slice_s) {
  const struct timespec until = in_seconds(slice_s);
  (void)pthread_mutex_lock(&rounds->mutex);
  int waited = 0;
  while (waited == 0 && !is_mine(rounds)) {
    waited = pthread_cond_timedwait(&rounds->left, &rounds->mutex, &until);
  }
  const bool entered = is_mine(rounds);
  if (entered) {
    rounds->first = rounds->depth == 0 ? rounds->n_rounds + 1 : rounds->first;
    rounds->speaker = pthread_self();
    rounds->depth++;
  }
  (void)pthread_mutex_unlock(&rounds->mutex);
  return entered;
}

void tdt__rounds_leave(tdt_group_rounds *rounds) {
  (void)pthread_mutex_lock(&rounds->mutex);
  rounds->depth--;
  if (rounds->depth == 0) {
    (void)pthread_cond_broadcast(&rounds->left);
  }
  (void)pthread_mutex_unlock(&rounds->mutex);
}

uint64_t tdt__rounds_next(tdt_group_rounds *rounds) {
  return ++rounds->n_rounds;
}

tdt__owed *tdt__rounds_owed(tdt_group_rounds *rounds) {
  return &rounds->owed;
}

uint64_t tdt__rounds_first(const tdt_group_rounds *rounds) {
  return rounds->first;
}

void tdt__rounds_fail(tdt_group_rounds *rounds) {
  rounds->n_failed++;
}

uint64_t tdt__rounds_n_failed(const tdt_group_rounds *rounds) {
  return rounds->n_failed;
}

tdt__reductions *tdt__rounds_reductions(tdt_group_rounds *rounds) {
  return &rounds->reductions;
}
