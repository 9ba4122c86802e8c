/* SPDX-License-Identifier: MIT */
#include "board.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Each bucket has a condition of its own: a put wakes who waits for its key and few besides, so
 * that thousands of threads may wait. */
enum { N_BUCKETS = 1024, MOST_BYTES = 1 << 20 };

typedef struct entry {
  struct entry *next;
  char *key;
  char *bytes;
  size_t size;
  uint64_t seen_ns; /* from when on get sees it; UINT64_MAX: never */
} entry;

typedef struct bucket {
  entry *entries;
  pthread_cond_t changed;
} bucket;

typedef struct fault {
  size_t n_good; /* calls that still work */
  tdt_status status;
  const char *text;
} fault;

/* A rank, as its callbacks know it. */
typedef struct seat {
  board *at;
  double delay_s;
  fault faults[BOARD_N_VERBS];
} seat;

struct board {
  pthread_mutex_t mutex;
  bucket buckets[N_BUCKETS];
  board_counts counts;
  seat *seats;
};

static uint64_t now_ns(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void wait_until(board *at, bucket *in, uint64_t until_ns) {
  const struct timespec until = {(time_t)(until_ns / 1000000000U), (long)(until_ns % 1000000000U)};
  (void)pthread_cond_timedwait(&in->changed, &at->mutex, &until);
}

static bucket *bucket_of(board *at, const char *key) {
  uint64_t hash = 14695981039346656037U;
  for (; *key != '\0'; key++) {
    hash = (hash ^ (unsigned char)*key) * 1099511628211U;
  }
  return &at->buckets[(hash ^ (hash >> 32)) % N_BUCKETS];
}

static entry **find(bucket *in, const char *key) {
  entry **at = &in->entries;
  while (*at != NULL && strcmp((*at)->key, key) != 0) {
    at = &(*at)->next;
  }
  return at;
}

static void free_entry(entry **at) {
  entry *gone = *at;
  *at = gone->next;
  free(gone->key);
  free(gone->bytes);
  free(gone);
}

/* With the mutex held: what the script of this rank says to the call. */
static tdt_status scripted(seat *me, board_verb verb, tdt_error *error) {
  fault *script = &me->faults[verb];
  if (script->status == TDT_OK) {
    return TDT_OK;
  }
  if (script->n_good > 0) {
    script->n_good--;
    return TDT_OK;
  }
  return script->text != NULL ? tdt_error_set(error, script->status, "%s", script->text)
                              : script->status;
}

static tdt_status add(seat *me, bucket *in, const char *key, const void *bytes, size_t size,
                      tdt_error *error) {
  entry *made = calloc(1, sizeof *made);
  char *copy = malloc(size + 1);
  char *name = strdup(key);
  if (made == NULL || copy == NULL || name == NULL) {
    free(made);
    free(copy);
    free(name);
    return tdt_error_set(error, TDT_ENOMEM, "the board is out of memory");
  }
  memcpy(copy, bytes, size);
  *made = (entry){in->entries, name, copy, size, 0};
  if (me->delay_s != 0.0) {
    made->seen_ns = me->delay_s < 0.0 ? UINT64_MAX : now_ns() + (uint64_t)(me->delay_s * 1e9);
  }
  in->entries = made;
  return TDT_OK;
}

static void count_put(board *at, bool lost) {
  board_counts *counts = &at->counts;
  counts->n_puts++;
  counts->n_alive += !lost;
  if (counts->n_alive > counts->n_most_alive) {
    counts->n_most_alive = counts->n_alive;
  }
}

static tdt_status put(void *user, const char *key, const void *bytes, size_t size,
                      tdt_error *error) {
  seat *me = user;
  board *at = me->at;
  (void)pthread_mutex_lock(&at->mutex);
  bucket *in = bucket_of(at, key);
  tdt_status status = scripted(me, BOARD_PUT, error);
  if (status == TDT_OK && *find(in, key) != NULL) {
    status = tdt_error_set(error, TDT_EGROUP, "the key %s is used already", key);
  }
  if (status == TDT_OK && (size == 0 || size > MOST_BYTES)) {
    status = tdt_error_set(error, TDT_EGROUP, "a value of %zu bytes", size);
  }
  if (status == TDT_OK) {
    status = add(me, in, key, bytes, size, error);
  }
  if (status == TDT_OK) {
    count_put(at, me->delay_s < 0.0);
    (void)pthread_cond_broadcast(&in->changed);
  }
  (void)pthread_mutex_unlock(&at->mutex);
  return status;
}

/* With the mutex held: waits for a key; NULL if it is not there in time. */
static entry *await(board *at, bucket *in, const char *key, double slice_s) {
  const uint64_t until_ns = now_ns() + (uint64_t)(slice_s * 1e9);
  for (;;) {
    entry *found = *find(in, key);
    const uint64_t now = now_ns();
    if (found != NULL && found->seen_ns <= now) {
      return found;
    }
    if (now >= until_ns) {
      return NULL;
    }
    wait_until(at, in, found != NULL && found->seen_ns < until_ns ? found->seen_ns : until_ns);
  }
}

static tdt_status get(void *user, const char *key, double slice_s, tdt_message *message,
                      tdt_error *error) {
  seat *me = user;
  board *at = me->at;
  (void)pthread_mutex_lock(&at->mutex);
  tdt_status status = scripted(me, BOARD_GET, error);
  if (status == TDT_OK) {
    const entry *found = await(at, bucket_of(at, key), key, slice_s);
    at->counts.n_hits += found != NULL;
    at->counts.n_misses += found == NULL;
    status = found != NULL ? tdt_message_set(message, found->bytes, found->size, error) : TDT_OK;
  }
  (void)pthread_mutex_unlock(&at->mutex);
  return status;
}

static tdt_status drop(void *user, const char *key, tdt_error *error) {
  seat *me = user;
  board *at = me->at;
  (void)pthread_mutex_lock(&at->mutex);
  const tdt_status status = scripted(me, BOARD_DROP, error);
  if (status == TDT_OK) {
    at->counts.n_drops++;
    entry **gone = find(bucket_of(at, key), key);
    if (*gone != NULL) {
      at->counts.n_alive -= (*gone)->seen_ns != UINT64_MAX;
      free_entry(gone);
    }
  }
  (void)pthread_mutex_unlock(&at->mutex);
  return status;
}

board *board_create(unsigned n_ranks) {
  board *made = calloc(1, sizeof *made);
  seat *seats = calloc(n_ranks, sizeof *seats);
  if (made == NULL || seats == NULL) {
    free(made);
    free(seats);
    return NULL;
  }
  made->seats = seats;
  for (unsigned i = 0; i < n_ranks; i++) {
    seats[i].at = made;
  }
  pthread_condattr_t monotonic;
  (void)pthread_condattr_init(&monotonic);
  (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  (void)pthread_mutex_init(&made->mutex, NULL);
  for (size_t i = 0; i < N_BUCKETS; i++) {
    (void)pthread_cond_init(&made->buckets[i].changed, &monotonic);
  }
  (void)pthread_condattr_destroy(&monotonic);
  return made;
}

void board_destroy(board *at) {
  if (at == NULL) {
    return;
  }
  for (size_t i = 0; i < N_BUCKETS; i++) {
    while (at->buckets[i].entries != NULL) {
      free_entry(&at->buckets[i].entries);
    }
    (void)pthread_cond_destroy(&at->buckets[i].changed);
  }
  (void)pthread_mutex_destroy(&at->mutex);
  free(at->seats);
  free(at);
}

tdt_group_callbacks board_callbacks(board *at, unsigned rank) {
  return (tdt_group_callbacks){
      .size = sizeof(tdt_group_callbacks),
      .user = &at->seats[rank],
      .put = put,
      .get = get,
      .drop = drop,
  };
}

board_counts board_count(board *at) {
  (void)pthread_mutex_lock(&at->mutex);
  const board_counts counts = at->counts;
  (void)pthread_mutex_unlock(&at->mutex);
  return counts;
}

bool board_has(board *at, const char *key) {
  (void)pthread_mutex_lock(&at->mutex);
  const bool has = *find(bucket_of(at, key), key) != NULL;
  (void)pthread_mutex_unlock(&at->mutex);
  return has;
}

void board_fail(board *at, unsigned rank, board_verb verb, size_t call, tdt_status status,
                const char *text) {
  (void)pthread_mutex_lock(&at->mutex);
  at->seats[rank].faults[verb] = (fault){call - 1, status, text};
  (void)pthread_mutex_unlock(&at->mutex);
}

void board_delay(board *at, unsigned rank, double delay_s) {
  (void)pthread_mutex_lock(&at->mutex);
  at->seats[rank].delay_s = delay_s;
  (void)pthread_mutex_unlock(&at->mutex);
}

static bool open_rank(board_world *world, unsigned rank) {
  tdt_group *group = &world->groups[rank];
  tdt_group_rounds *rounds = NULL;
  if (tdt_group_rounds_create(&rounds, NULL) != TDT_OK) {
    return false;
  }
  const tdt_group_callbacks callbacks = board_callbacks(world->at, rank);
  if (tdt_group_callback_create(&callbacks, rank, world->n, NULL, rounds, group, NULL) != TDT_OK) {
    tdt_group_rounds_destroy(rounds);
    return false;
  }
  return true;
}

bool board_world_open(board_world *world, unsigned n) {
  *world = (board_world){board_create(n), n, calloc(n, sizeof(tdt_group))};
  bool opened = world->at != NULL && world->groups != NULL;
  for (unsigned i = 0; opened && i < n; i++) {
    opened = open_rank(world, i);
  }
  if (!opened) {
    board_world_close(world);
  }
  return opened;
}

void board_world_close(board_world *world) {
  for (unsigned i = 0; world->groups != NULL && i < world->n; i++) {
    tdt_group_rounds *rounds = world->groups[i].rounds;
    tdt_group_callback_destroy(&world->groups[i]);
    tdt_group_rounds_destroy(rounds);
  }
  free(world->groups);
  board_destroy(world->at);
  *world = (board_world){0};
}

tdt_status board_world_renew(board_world *world, unsigned rank) {
  const tdt_group_callbacks callbacks = board_callbacks(world->at, rank);
  tdt_group made;
  const tdt_status status = tdt_group_callback_create(&callbacks, rank, world->n, NULL,
                                                      world->groups[rank].rounds, &made, NULL);
  if (status == TDT_OK) {
    tdt_group_callback_destroy(&world->groups[rank]);
    world->groups[rank] = made;
  }
  return status;
}
