/* SPDX-License-Identifier: MIT */
/*
 * Finds the fastest of 25 ways to multiply two matrices, for three shapes, through the C interface
 * of tdtune. Run it twice: the second run finds its answers on disk.
 *
 *   gemm [--size N]     N: size of the square shape, at least 128; 256 if not given
 *
 * The five steps: describe the candidates (make_space), say how to run one (launch), which to leave
 * out (prune), fill in a request, call tdt_tuner_resolve(). The rest of the file is display.
 */
#define _POSIX_C_SOURCE 200809L

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <tdtune/tdtune.h>

#include "gemm_kernel.h"

/* Part of what a stored result belongs to: change it whenever gemm_kernel.c changes. */
static const char kernel_version[] = "1";

/* A limit as an accelerator's on-chip memory would set it. One candidate asks for more and fails;
 * the tuning notes why and goes on. */
enum { SCRATCH_SIZE = 96 * 1024 };

/* One product to compute, and what the callbacks need to know about it. */
struct job {
  struct gemm_problem problem;
  float *expected; /* by the plain loops */
  float *scratch;
  bool *checked; /* per candidate: whether its result was compared already */
  size_t n_launches;
  char key[64];
};

/* What all products share. */
struct setup {
  tdt_settings settings;
  tdt_context *context;
  tdt_space *space;
  tdt_store *store;
  char *hardware;
  char dependencies[160];
};

/* -- the candidates ---------------------------------------------------------------------------- */

enum { MAX_CONFIGS = 64, CONFIG_SIZE = 64 };

static tdt_status make_space(tdt_space **space, tdt_error *error) {
  char texts[MAX_CONFIGS][CONFIG_SIZE];
  const char *configs[MAX_CONFIGS];
  const size_t n = gemm_n_variants() < MAX_CONFIGS ? gemm_n_variants() : MAX_CONFIGS;
  for (size_t i = 0; i < n; i++) {
    const struct gemm_variant *variant = gemm_variant_at(i);
    snprintf(texts[i], CONFIG_SIZE, "{\"bm\":%zu,\"bn\":%zu,\"bk\":%zu,\"unroll\":%zu}",
             variant->bm, variant->bn, variant->bk, variant->unroll);
    configs[i] = texts[i];
  }
  return tdt_space_create(configs, n, space, error);
}

/* -- the callbacks ----------------------------------------------------------------------------- */

/*
 * All entries of A and B are positive, so no sum cancels and each element of a correct product is
 * within k rounding errors of the exact one, relative to its own size.
 */
static tdt_status check(const struct job *job, tdt_error *error) {
  const struct gemm_problem *problem = &job->problem;
  const double bound = (double)problem->k * FLT_EPSILON;
  for (size_t i = 0; i < problem->m * problem->n; i++) {
    const double expected = job->expected[i];
    const double difference = fabs((double)problem->c[i] - expected) / expected;
    if (!(difference <= bound)) { /* also true for NaN */
      return tdt_error_set(error, TDT_ELAUNCH,
                           "wrong result: row %zu, column %zu is off by %.1e, allowed are %.1e",
                           i / problem->n, i % problem->n, difference, bound);
    }
  }
  return TDT_OK;
}

/* Runs a candidate once. Its first run, a warm-up that is not timed, is also compared with the
 * plain loops, so that a wrong candidate can never win. */
static tdt_status launch(void *user, size_t candidate, tdt_error *error) {
  struct job *job = user;
  const struct gemm_variant *variant = gemm_variant_at(candidate);
  if (gemm_scratch_size(variant) > SCRATCH_SIZE) {
    return tdt_error_set(error, TDT_ELAUNCH, "needs %zu bytes of scratch memory, there are %d",
                         gemm_scratch_size(variant), SCRATCH_SIZE);
  }
  gemm_run(variant, &job->problem, job->scratch);
  job->n_launches++;
  if (job->checked[candidate]) {
    return TDT_OK;
  }
  job->checked[candidate] = true;
  return check(job, error);
}

/* A block larger than the matrix would mostly multiply zeros. */
static tdt_status prune(void *user, size_t candidate, bool *keep, tdt_error *error) {
  const struct gemm_problem *problem = &((const struct job *)user)->problem;
  const struct gemm_variant *variant = gemm_variant_at(candidate);
  (void)error; /* it cannot fail */
  *keep = variant->bm <= problem->m && variant->bn <= problem->n && variant->bk <= problem->k;
  return TDT_OK;
}

/* On a terminal one line that is written over; elsewhere a line for each quarter. */
static void show_progress(void *user, const tdt_progress *progress) {
  const size_t n = progress->n_candidates;
  const size_t done = progress->n_done;
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  (void)user;
  if (progress->candidate == TDT_NONE || (!terminal && done * 4 / n == (done - 1) * 4 / n)) {
    return;
  }
  printf("%s  %zu of %zu candidates done", terminal ? "\r" : "", done, n);
  if (progress->best != TDT_NONE) {
    printf(", best so far %.3f ms", progress->best_ms);
  }
  printf("%s", terminal && done < n ? "\033[K" : "\n");
  fflush(stdout);
}

static void show_log(void *user, tdt_log_level level, const char *message) {
  (void)user;
  fprintf(stderr, "gemm: %s%s\n", level == TDT_LOG_WARNING ? "warning: " : "", message);
}

/* -- asking for the winner --------------------------------------------------------------------- */

static void fill_request(tdt_request *request, const struct setup *setup, struct job *job) {
  tdt_request_init(request);
  request->key = job->key;
  request->hardware = setup->hardware;
  request->dependencies = setup->dependencies;
  request->prune_rule = "block <= matrix";
  request->settings = &setup->settings;
  request->store = setup->store;
  request->log.write = show_log;
  request->log.least = TDT_LOG_WARNING;
  request->user = job;
  request->launch = launch;
  request->prune = prune;
  request->progress = show_progress;
}

static tdt_function describe_function(char source[TDT_DIGEST_SIZE]) {
  tdt_digest(kernel_version, strlen(kernel_version), source);
  return (tdt_function){.name = "gemm", .module = "examples", .source = source};
}

static tdt_status make_tuner(const struct setup *setup, tdt_tuner **tuner, tdt_error *error) {
  char source[TDT_DIGEST_SIZE];
  const tdt_function function = describe_function(source);
  return tdt_tuner_create(setup->context, &function, setup->space, NULL, tuner, error);
}

static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

/* Asks a new tuner, which remembers nothing yet. *elapsed_us is the time of the answer alone. */
static tdt_status ask(const struct setup *setup, const tdt_request *request, tdt_choice *choice,
                      double *elapsed_us, tdt_error *error) {
  tdt_tuner *tuner = NULL;
  tdt_status status = make_tuner(setup, &tuner, error);
  if (status != TDT_OK) {
    return status;
  }
  const double start_us = now_us();
  status = tdt_tuner_resolve(tuner, request, choice, error);
  *elapsed_us = now_us() - start_us;
  tdt_tuner_destroy(tuner);
  return status;
}

/* -- display ----------------------------------------------------------------------------------- */

static const char *origin_text(tdt_origin origin) {
  switch (origin) {
  case TDT_ORIGIN_STORED:
    return "answered from disk";
  case TDT_ORIGIN_TUNED:
    return "tuned";
  case TDT_ORIGIN_FIRST:
    return "took the first candidate, as the environment asks for";
  default:
    return "answered from memory";
  }
}

static void show_answer(const char *who, const struct job *job, const tdt_choice *choice,
                        double elapsed_us) {
  printf("  %s: %s in ", who, origin_text(choice->origin));
  if (job->n_launches == 0) {
    printf("%.0f us, nothing measured\n", elapsed_us);
  } else {
    printf("%.2f s, %zu runs\n", elapsed_us * 1e-6, job->n_launches);
  }
}

/* Prints what is stored about the request's key. */
static tdt_status show_table(const struct setup *setup, const struct job *job, tdt_error *error) {
  char source[TDT_DIGEST_SIZE];
  const tdt_identity identity = {
      .function = describe_function(source), .hardware = setup->hardware, .key = job->key};
  tdt_record *record = NULL;
  char *text = NULL;
  tdt_status status = tdt_store_load(setup->store, &identity, &record, error);
  if (status == TDT_OK) {
    status = tdt_record_table(record, &text, error);
  }
  if (status == TDT_OK) {
    printf("%s", text);
  }
  tdt_text_free(text);
  tdt_record_destroy(record);
  return status;
}

/* -- one product ------------------------------------------------------------------------------- */

static void close_job(struct job *job) {
  free((void *)job->problem.a);
  free((void *)job->problem.b);
  free(job->problem.c);
  free(job->expected);
  free(job->scratch);
  free(job->checked);
}

static float *positive_matrix(size_t n, unsigned *seed) {
  float *values = malloc(n * sizeof(float));
  for (size_t i = 0; values != NULL && i < n; i++) {
    *seed = *seed * 1664525U + 1013904223U;
    values[i] = (float)((*seed >> 8) + 1U) / 16777216.0F;
  }
  return values;
}

/* Fills `job`, also on failure as far as it got: close it in any case. */
static tdt_status open_job(struct job *job, size_t m, size_t n, size_t k, tdt_error *error) {
  unsigned seed = 1;
  *job = (struct job){.problem = {.m = m, .n = n, .k = k}};
  job->problem.a = positive_matrix(m * k, &seed);
  job->problem.b = positive_matrix(k * n, &seed);
  job->problem.c = malloc(m * n * sizeof(float));
  job->expected = malloc(m * n * sizeof(float));
  job->scratch = malloc(SCRATCH_SIZE);
  job->checked = calloc(gemm_n_variants(), sizeof(bool));
  if (job->problem.a == NULL || job->problem.b == NULL || job->problem.c == NULL ||
      job->expected == NULL || job->scratch == NULL || job->checked == NULL) {
    return tdt_error_set(error, TDT_ENOMEM, "no memory for matrices of %zu x %zu x %zu", m, n, k);
  }
  /* Whatever changes which candidate is the fastest belongs into the key: here the shape. */
  snprintf(job->key, sizeof(job->key), "(%zu, %zu, %zu)", m, n, k);
  struct gemm_problem plain = job->problem;
  plain.c = job->expected;
  gemm_plain(&plain);
  return TDT_OK;
}

/* Asks once more as the next process will: with a new tuner, and forbidden to measure. */
static tdt_status ask_again(const struct setup *setup, struct job *job, tdt_error *error) {
  tdt_settings settings = tdt_settings_default();
  settings.on_miss = TDT_ON_MISS_ERROR;
  tdt_request request;
  fill_request(&request, setup, job);
  request.settings = &settings;
  tdt_choice choice;
  double elapsed_us = 0;
  job->n_launches = 0;
  const tdt_status status = ask(setup, &request, &choice, &elapsed_us, error);
  if (status == TDT_OK) {
    show_answer("asked again", job, &choice, elapsed_us);
  }
  return status;
}

static tdt_status tune_job(const struct setup *setup, struct job *job, tdt_error *error) {
  tdt_request request;
  fill_request(&request, setup, job);
  tdt_choice choice;
  double elapsed_us = 0;
  tdt_status status = ask(setup, &request, &choice, &elapsed_us, error);
  if (status != TDT_OK) {
    return status;
  }
  show_answer("first asked", job, &choice, elapsed_us);
  if (choice.origin == TDT_ORIGIN_FIRST) { /* nothing was measured, so there is no table */
    return TDT_OK;
  }
  status = show_table(setup, job, error);
  if (status == TDT_OK) {
    status = ask_again(setup, job, error);
  } else if (status == TDT_ENOENT || status == TDT_EIO) { /* a warning said why */
    tdt_error_clear(error);
    printf("  nothing was stored; the winner is %s\n",
           tdt_space_config(setup->space, choice.candidate));
    status = TDT_OK;
  }
  if (status == TDT_OK) { /* the point of it all: the product, computed by the winner */
    status = launch(job, choice.candidate, error);
  }
  return status == TDT_OK ? check(job, error) : status;
}

static tdt_status tune_shape(const struct setup *setup, const size_t shape[3], tdt_error *error) {
  struct job job;
  tdt_status status = open_job(&job, shape[0], shape[1], shape[2], error);
  if (status == TDT_OK) {
    printf("\ngemm, M=%zu N=%zu K=%zu\n", shape[0], shape[1], shape[2]);
    status = tune_job(setup, &job, error);
  }
  close_job(&job);
  return status;
}

/* -- the program ------------------------------------------------------------------------------- */

static void close_setup(struct setup *setup) {
  tdt_text_free(setup->hardware);
  tdt_store_close(setup->store);
  tdt_space_destroy(setup->space);
  tdt_context_destroy(setup->context);
}

static tdt_status open_store(tdt_store **store, tdt_error *error) {
  char *root = NULL;
  tdt_status status = tdt_store_default_root(&root, error);
  if (status == TDT_OK) {
    status = tdt_store_open(root, store, error);
  }
  tdt_text_free(root);
  return status;
}

/* Fills `setup`, also on failure as far as it got: close it in any case. */
static tdt_status open_setup(struct setup *setup, tdt_error *error) {
  *setup = (struct setup){0};
  /* Times made with another compiler are used with a warning. */
  snprintf(setup->dependencies, sizeof(setup->dependencies),
           "{\"compiler\":\"%s\",\"tdtune\":\"%s\"}", __VERSION__, tdt_version());
  tdt_status status = tdt_settings_from_environment(&setup->settings, error);
  if (status == TDT_OK) {
    status = tdt_host_hardware(&setup->hardware, error);
  }
  if (status == TDT_OK) {
    status = open_store(&setup->store, error);
  }
  if (status == TDT_OK) {
    status = make_space(&setup->space, error);
  }
  if (status == TDT_OK) {
    status = tdt_context_create(&setup->context, error);
  }
  return status;
}

static tdt_status tune_all(size_t size, tdt_error *error) {
  const size_t shapes[][3] = {
      {size, size, size}, {size / 4, 2 * size, 2 * size}, {2 * size, 2 * size, size / 4}};
  struct setup setup;
  tdt_status status = open_setup(&setup, error);
  if (status == TDT_OK) {
    printf("records are kept in %s\n", tdt_store_root(setup.store));
  }
  for (size_t i = 0; status == TDT_OK && i < sizeof(shapes) / sizeof(shapes[0]); i++) {
    status = tune_shape(&setup, shapes[i], error);
  }
  close_setup(&setup);
  return status;
}

/* The value of --size, or 0 where the command line is not as it should be. */
static size_t parse_size(int argc, char **argv) {
  if (argc == 1) {
    return 256;
  }
  if (argc != 3 || strcmp(argv[1], "--size") != 0) {
    return 0;
  }
  char *end = NULL;
  const long size = strtol(argv[2], &end, 10);
  return *end == '\0' && size >= 128 && size <= 4096 ? (size_t)size : 0;
}

int main(int argc, char **argv) {
  const size_t size = parse_size(argc, argv);
  if (size == 0) {
    fprintf(stderr, "usage: gemm [--size N]   (N from 128 to 4096)\n");
    return 2;
  }
  tdt_error error = TDT_ERROR_INIT;
  const tdt_status status = tune_all(size, &error);
  if (status != TDT_OK) {
    fprintf(stderr, "gemm: %s (%s)\n", tdt_error_text(&error), tdt_status_name(status));
  }
  tdt_error_clear(&error);
  return status == TDT_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
