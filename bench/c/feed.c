/* SPDX-License-Identifier: MIT */
/*
 * What it costs to feed threads that prepare candidates. The compiler is a script: it sleeps for as
 * long as it is told, so that any number of threads compile at the same time on any machine, and
 * whatever a tuning takes beyond (candidates / threads) compilations is the engine's own. Prints a
 * JSON object.
 *
 * usage: feed [N_WORKERS [N_CANDIDATES [COMPILE_MS]]]
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <tdtune/tdtune.h>

enum { MOST = 4096, ROUNDS = 20 };

typedef struct compiler {
  long compile_ns;
  atomic_uint n_done;
} compiler;

static double now_ms(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static tdt_status launch(void *user, size_t candidate, tdt_error *error) {
  (void)user;
  (void)candidate;
  (void)error;
  return TDT_OK;
}

static tdt_status compile(void *user, size_t candidate, tdt_error *error) {
  compiler *c = user;
  const struct timespec time = {c->compile_ns / 1000000000, c->compile_ns % 1000000000};
  (void)candidate;
  (void)error;
  if (c->compile_ns > 0) {
    (void)nanosleep(&time, NULL);
  }
  atomic_fetch_add(&c->n_done, 1);
  return TDT_OK;
}

/* Milliseconds of one tuning; NULL `prepare`: without. */
static double tune(tdt_context *context, const tdt_space *space, compiler *c, unsigned n_workers,
                   tdt_status (*prepare)(void *, size_t, tdt_error *)) {
  const tdt_function function = {.name = "scale", .module = "bench", .source = "none"};
  tdt_settings settings = tdt_settings_default();
  tdt_request request;
  tdt_tuner *tuner;
  tdt_choice choice;
  settings.n_workers = n_workers;
  tdt_request_init(&request);
  request.key = "k";
  request.settings = &settings;
  request.user = c;
  request.launch = launch;
  request.prepare = prepare;
  if (tdt_tuner_create(context, &function, space, NULL, &tuner, NULL) != TDT_OK) {
    exit(1);
  }
  const double start = now_ms();
  if (tdt_tuner_resolve(tuner, &request, &choice, NULL) != TDT_OK) {
    exit(1);
  }
  const double took = now_ms() - start;
  tdt_tuner_destroy(tuner);
  return took;
}

static double least(tdt_context *context, const tdt_space *space, compiler *c, unsigned n_workers,
                    tdt_status (*prepare)(void *, size_t, tdt_error *)) {
  double best = 1e300;
  for (int round = 0; round < ROUNDS; round++) {
    const double took = tune(context, space, c, n_workers, prepare);
    best = took < best ? took : best;
  }
  return best;
}

static long argument(int argc, char **argv, int i, long otherwise, long most) {
  const long value = argc > i ? strtol(argv[i], NULL, 10) : otherwise;
  return value < 0 ? 0 : value > most ? most : value;
}

int main(int argc, char **argv) {
  static char texts[MOST][32];
  static const char *configs[MOST];
  const unsigned n_workers = (unsigned)argument(argc, argv, 1, 16, 1024);
  const size_t n = (size_t)argument(argc, argv, 2, 32, MOST);
  const long compile_ms = argument(argc, argv, 3, 20, 10000);
  tdt_context *context;
  tdt_space *space;
  compiler c = {0};
  for (size_t i = 0; i < n; i++) {
    (void)snprintf(texts[i], sizeof texts[i], "{\"c\":%zu}", i);
    configs[i] = texts[i];
  }
  if (n == 0 || n_workers == 0 || tdt_context_create(&context, NULL) != TDT_OK ||
      tdt_space_create(configs, n, &space, NULL) != TDT_OK) {
    return 1;
  }
  const double without = least(context, space, &c, n_workers, NULL);
  const double nothing = least(context, space, &c, n_workers, compile);
  c.compile_ns = compile_ms * 1000000;
  const double whole = least(context, space, &c, n_workers, compile);
  const double ideal = (double)((n + n_workers - 1) / n_workers) * (double)compile_ms;
  (void)printf("{\"n_workers\": %u, \"n_candidates\": %zu, \"compile_ms\": %ld, "
               "\"without_ms\": %.3f, \"nothing_to_compile_ms\": %.3f, \"ideal_ms\": %.3f, "
               "\"prepared_ms\": %.3f}\n",
               n_workers, n, compile_ms, without, nothing, ideal, whole - without);
  tdt_space_destroy(space);
  tdt_context_destroy(context);
  return 0;
}
