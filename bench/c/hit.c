/* SPDX-License-Identifier: MIT */
/*
 * What it costs to find a remembered key, in C: with few keys and with many, in the order in which
 * they came and at random, each hit waiting for the last one or not, on one core and on several.
 * Beside them what one access to memory costs that is in no cache. Prints JSON; all times are the
 * least of several rounds, in nanoseconds.
 *
 * usage: hit [number of keys at most, default 1000000]
 */
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/digest.h"
#include "store/memory.h"

enum { KEY_ROOM = 64, N_CANDIDATES = 32, ROUNDS = 7, LEAST_HITS = 1000000, MOST_THREADS = 16 };

static uint64_t now_ns(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void *checked(void *made) {
  if (made == NULL) {
    (void)fputs("out of memory\n", stderr);
    exit(1);
  }
  return made;
}

static uint64_t next_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

/* 0 .. n-1; where `shuffled`, every order is about as likely. */
static uint32_t *make_order(size_t n, bool shuffled) {
  uint32_t *order = checked(malloc(n * sizeof *order));
  uint64_t state = 88172645463325252U;
  for (size_t i = 0; i < n; i++) {
    order[i] = (uint32_t)i;
  }
  for (size_t i = n - 1; shuffled && i > 0; i--) {
    size_t other = next_random(&state) % (i + 1);
    uint32_t kept = order[i];
    order[i] = order[other];
    order[other] = kept;
  }
  return order;
}

/* As by_layout() makes one of a matrix. */
static size_t write_key(char *key, uint32_t number) {
  return (size_t)snprintf(key, KEY_ROOM, "((%u, 4096), (4096, 1), torch.float16)", number);
}

/* Texts in the order in which they are asked for, so that reading them costs little. */
typedef struct texts {
  char (*keys)[KEY_ROOM];
  uint8_t *sizes;
  size_t n;
} texts;

static texts make_texts(size_t n, bool shuffled) {
  texts made = {checked(malloc(n * KEY_ROOM)), checked(malloc(n)), n};
  uint32_t *order = make_order(n, shuffled);
  for (size_t i = 0; i < n; i++) {
    made.sizes[i] = (uint8_t)write_key(made.keys[i], order[i]);
  }
  free(order);
  return made;
}

static void free_texts(texts *made) {
  free(made->keys);
  free(made->sizes);
}

static tdt__memory *remember(size_t n) {
  tdt__memory *memory = NULL;
  texts all = make_texts(n, false);
  (void)tdt__memory_create(&memory, NULL);
  (void)checked(memory);
  for (size_t i = 0; i < n; i++) {
    if (tdt__memory_put(memory, all.keys[i], all.sizes[i], i % N_CANDIDATES, NULL) != TDT_OK) {
      (void)checked(NULL);
    }
  }
  free_texts(&all);
  return memory;
}

/* Where `waiting`, the place of the next key is known only when the last answer is there. */
static double time_hits(const tdt__memory *memory, const texts *asked, bool waiting) {
  size_t passes = LEAST_HITS / asked->n + 1;
  size_t missed = 0;
  uint64_t start = now_ns();
  for (size_t pass = 0; pass < passes; pass++) {
    for (size_t i = 0; i < asked->n; i++) {
      size_t candidate = 0;
      missed += !tdt__memory_get(memory, asked->keys[i], asked->sizes[i], &candidate);
      i += waiting ? candidate / N_CANDIDATES : 0; /* 0, which the processor does not know */
    }
  }
  uint64_t spent = now_ns() - start;
  if (missed > 0) {
    (void)fputs("a key is not there\n", stderr);
    exit(1);
  }
  return (double)spent / (double)(passes * asked->n);
}

static double least_hit(const tdt__memory *memory, const texts *asked, bool waiting) {
  double least = 1e300;
  for (int round = 0; round < ROUNDS; round++) {
    double hit = time_hits(memory, asked, waiting);
    least = hit < least ? hit : least;
  }
  return least;
}

static size_t bytes_in_use(void) {
  struct mallinfo2 all = mallinfo2();
  return all.uordblks + all.hblkhd;
}

static void print_keys(size_t n) {
  size_t before = bytes_in_use();
  tdt__memory *memory = remember(n);
  size_t used = bytes_in_use() - before;
  texts in_order = make_texts(n, false);
  texts at_random = make_texts(n, true);
  printf(
      "  {\"keys\": %zu, \"bytes_per_key\": %.1f, \"in_order_ns\": %.1f, \"at_random_ns\": %.1f, "
      "\"at_random_waiting_ns\": %.1f}",
      n, (double)used / (double)n, least_hit(memory, &in_order, false),
      least_hit(memory, &at_random, false), least_hit(memory, &at_random, true));
  free_texts(&in_order);
  free_texts(&at_random);
  tdt__memory_destroy(memory);
}

/* The part of a hit in which threads have nothing in common. */
static double time_hashes(const texts *asked) {
  size_t passes = LEAST_HITS / asked->n + 1;
  uint64_t sum = 0;
  uint64_t start = now_ns();
  for (size_t pass = 0; pass < passes; pass++) {
    for (size_t i = 0; i < asked->n; i++) {
      sum += tdt__hash_wide(asked->keys[i], asked->sizes[i]).low;
    }
  }
  uint64_t spent = now_ns() - start;
  volatile uint64_t used = sum;
  (void)used;
  return (double)spent / (double)(passes * asked->n);
}

typedef struct worker {
  pthread_t thread;
  const tdt__memory *memory; /* NULL: hashes only */
  const texts *asked;
  double spent_ns;
} worker;

static void *work(void *argument) {
  worker *self = argument;
  self->spent_ns =
      self->memory == NULL ? time_hashes(self->asked) : time_hits(self->memory, self->asked, false);
  return NULL;
}

/* The slowest of several threads, which all hit one table. */
static double together(const tdt__memory *memory, const texts *asked, size_t n_threads) {
  worker workers[MOST_THREADS];
  double slowest = 0;
  for (size_t i = 0; i < n_threads; i++) {
    workers[i] = (worker){.memory = memory, .asked = asked};
    if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) {
      (void)checked(NULL);
    }
  }
  for (size_t i = 0; i < n_threads; i++) {
    (void)pthread_join(workers[i].thread, NULL);
    slowest = workers[i].spent_ns > slowest ? workers[i].spent_ns : slowest;
  }
  return slowest;
}

static void print_threads(size_t n_keys) {
  tdt__memory *memory = remember(n_keys);
  texts asked = make_texts(n_keys, true);
  long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
  const char *comma = "";
  printf(" \"threads\": [");
  for (long n = 1; n <= n_cores && n <= MOST_THREADS; n *= 2) {
    double hit = 1e300;
    double hash = 1e300;
    for (int round = 0; round < ROUNDS; round++) {
      double slowest = together(memory, &asked, (size_t)n);
      hit = slowest < hit ? slowest : hit;
      slowest = together(NULL, &asked, (size_t)n);
      hash = slowest < hash ? slowest : hash;
    }
    printf("%s\n  {\"threads\": %ld, \"keys\": %zu, \"hit_ns\": %.1f, \"hash_ns\": %.1f}", comma, n,
           n_keys, hit, hash);
    comma = ",";
  }
  printf("\n ],\n");
  free_texts(&asked);
  tdt__memory_destroy(memory);
}

/* One access after another, each to a line of memory that the last one names. */
static double cold_access(size_t size_bytes, bool huge) {
  enum { LINE = 64 };
  size_t n = size_bytes / LINE;
  char *lines = checked(aligned_alloc((size_t)2 << 20, size_bytes));
  (void)madvise(lines, size_bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  uint32_t *order = make_order(n, true);
  for (size_t i = 0; i < n; i++) {
    memcpy(lines + (size_t)order[i] * LINE, &order[(i + 1) % n], sizeof *order);
  }
  free(order);
  enum { STEPS = 1000000 };
  uint32_t at = 0;
  uint64_t start = now_ns();
  for (size_t i = 0; i < STEPS; i++) {
    memcpy(&at, lines + (size_t)at * LINE, sizeof at);
  }
  uint64_t spent = now_ns() - start;
  volatile uint32_t end = at;
  (void)end;
  free(lines);
  return (double)spent / STEPS;
}

int main(int argc, char **argv) {
  size_t most = argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : 1000000;
  const char *comma = "";
  printf("{\"hits\": [");
  for (size_t n = 1; n <= most; n *= 10) {
    printf("%s\n", comma);
    print_keys(n);
    comma = ",";
  }
  printf("\n ],\n");
  print_threads(most < 10000 ? most : 10000);
  printf(" \"cold_access_ns\": %.1f,\n", cold_access((size_t)128 << 20, false));
  printf(" \"cold_access_huge_pages_ns\": %.1f}\n", cold_access((size_t)128 << 20, true));
  return 0;
}
