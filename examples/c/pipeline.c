/* SPDX-License-Identifier: MIT */
/*
 * Tunes two kernels in place, inside the function that launches them: a copy that turns a matrix,
 * and a blocked product that reads what the copy wrote. Neither could be tuned alone: the product
 * finds in its caches what the copy left there.
 *
 *   pipeline [--size N] [--log]     N: rows and columns, 64 to 2048; 256 if not given
 *                                   --log: every event on standard error
 *
 * The three steps: create a session, launch kernels through tdt_session_launch(), let
 * tdt_session_run() call the function that does so. The rest of the file is kernels and display.
 */
#define _POSIX_C_SOURCE 200809L

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tdtune/tdtune.h>

/* A limit as an accelerator's on-chip memory would set it. One candidate of the copy asks for more
 * and fails; another one takes its place, and the pass goes on. */
enum { SCRATCH_SIZE = 64 * 1024 };

struct pipeline {
  size_t n;
  const float *a, *b;    /* n x n, by rows */
  float *turned;         /* B with rows and columns exchanged: the copy writes, the product reads */
  float *c;              /* A B */
  const float *expected; /* the same by plain loops */
  float *scratch;
  tdt_session *session;
  tdt_space *copies, *products; /* the candidates */
  char key[32];
  unsigned n_passes;
};

static size_t smaller(size_t left, size_t right) {
  return left < right ? left : right;
}

/* -- the copy ---------------------------------------------------------------------------------- */

static const size_t copy_blocks[] = {1, 4, 8, 16, 32, 64, 256};

enum { N_COPIES = sizeof(copy_blocks) / sizeof(copy_blocks[0]) };

/* Reads a block by rows into scratch memory, writes it by columns. */
static void turn_block(const struct pipeline *p, size_t row, size_t column, size_t block) {
  const size_t height = smaller(block, p->n - row);
  const size_t width = smaller(block, p->n - column);
  for (size_t i = 0; i < height; i++) {
    memcpy(p->scratch + i * block, p->b + (row + i) * p->n + column, width * sizeof(float));
  }
  for (size_t j = 0; j < width; j++) {
    for (size_t i = 0; i < height; i++) {
      p->turned[(column + j) * p->n + row + i] = p->scratch[i * block + j];
    }
  }
}

static tdt_status run_copy(void *user, size_t candidate, tdt_error *error) {
  const struct pipeline *p = user;
  const size_t block = copy_blocks[candidate];
  if (block * block * sizeof(float) > SCRATCH_SIZE) {
    return tdt_error_set(error, TDT_ELAUNCH, "needs %zu bytes of scratch memory, there are %d",
                         block * block * sizeof(float), SCRATCH_SIZE);
  }
  for (size_t row = 0; row < p->n; row += block) {
    for (size_t column = 0; column < p->n; column += block) {
      turn_block(p, row, column, block);
    }
  }
  return TDT_OK;
}

/* -- the product ------------------------------------------------------------------------------- */

/* `block` columns of the result are worked on for all rows before the next; `at_once` of them share
 * one walk along the row of A. */
static const struct product {
  size_t block, at_once;
} products[] = {{16, 1}, {64, 1}, {16, 4}, {64, 4}, {256, 4}, {64, 8}};

enum { N_PRODUCTS = sizeof(products) / sizeof(products[0]) };

#define DEFINE_DOT(at_once)                                                                        \
  static void dot_##at_once(size_t n, const float *row, const float *columns, float *sums) {       \
    float acc[at_once] = {0};                                                                      \
    for (size_t k = 0; k < n; k++) {                                                               \
      for (size_t j = 0; j < (at_once); j++) {                                                     \
        acc[j] += row[k] * columns[j * n + k];                                                     \
      }                                                                                            \
    }                                                                                              \
    memcpy(sums, acc, sizeof(acc));                                                                \
  }
DEFINE_DOT(1)
DEFINE_DOT(4)
DEFINE_DOT(8)

/* `count` neighbouring elements of one row of the result. */
static void dot(const struct pipeline *p, size_t row, size_t column, size_t count) {
  const float *a = p->a + row * p->n;
  const float *columns = p->turned + column * p->n;
  float *sums = p->c + row * p->n + column;
  if (count == 8) {
    dot_8(p->n, a, columns, sums);
  } else if (count == 4) {
    dot_4(p->n, a, columns, sums);
  } else {
    for (size_t j = 0; j < count; j++) {
      dot_1(p->n, a, columns + j * p->n, sums + j);
    }
  }
}

static tdt_status run_product(void *user, size_t candidate, tdt_error *error) {
  const struct pipeline *p = user;
  const struct product *how = &products[candidate];
  (void)error; /* it cannot fail */
  for (size_t first = 0; first < p->n; first += how->block) {
    const size_t end = smaller(first + how->block, p->n);
    for (size_t row = 0; row < p->n; row++) {
      for (size_t column = first; column < end; column += how->at_once) {
        dot(p, row, column, smaller(how->at_once, end - column));
      }
    }
  }
  return TDT_OK;
}

/* -- the outer function ------------------------------------------------------------------------ */

/* All entries are positive, so each element of a correct product is within n rounding errors of the
 * exact one, relative to its own size. */
static tdt_status check(const struct pipeline *p, tdt_error *error) {
  const double bound = (double)p->n * FLT_EPSILON;
  for (size_t i = 0; i < p->n * p->n; i++) {
    const double expected = p->expected[i];
    const double difference = fabs((double)p->c[i] - expected) / expected;
    if (!(difference <= bound)) { /* also true for NaN */
      return tdt_error_set(error, TDT_EINVAL,
                           "pass %u: row %zu, column %zu is off by %.1e, allowed are %.1e",
                           p->n_passes, i / p->n, i % p->n, difference, bound);
    }
  }
  return TDT_OK;
}

static tdt_status launch(struct pipeline *p, const char *kernel, const tdt_space *space,
                         tdt_status (*run)(void *, size_t, tdt_error *), tdt_error *error) {
  const tdt_launch how = {
      .size = sizeof(how),
      .kernel = kernel,
      .key = p->key,
      .space = space,
      .user = p,
      .launch = run,
  };
  return tdt_session_launch(p->session, &how, error);
}

/* One pass. Its result is right in every pass, whichever candidates ran: it is compared each time.
 * What lies between the launches is not part of anybody's time. */
static tdt_status multiply(void *user, tdt_error *error) {
  struct pipeline *p = user;
  p->n_passes++;
  memset(p->turned, 0, p->n * p->n * sizeof(float)); /* nothing is left from the pass before */
  memset(p->c, 0, p->n * p->n * sizeof(float));
  tdt_status status = launch(p, "turn", p->copies, run_copy, error);
  if (status == TDT_OK) {
    status = launch(p, "product", p->products, run_product, error);
  }
  return status == TDT_OK ? check(p, error) : status;
}

/* -- display ----------------------------------------------------------------------------------- */

static void show_candidate(const tdt_candidate *candidate, bool wins) {
  if (candidate->outcome == TDT_OUTCOME_FAILED) {
    printf("    %-26s failed: %s\n", candidate->config, candidate->error);
    return;
  }
  double least_ms = candidate->time_ms;
  double most_ms = candidate->time_ms;
  for (size_t i = 0; i < candidate->n_samples; i++) {
    least_ms = fmin(least_ms, candidate->samples_ms[i]);
    most_ms = fmax(most_ms, candidate->samples_ms[i]);
  }
  printf("    %-26s %8.3f ms   (%.3f to %.3f)%s\n", candidate->config, candidate->time_ms, least_ms,
         most_ms, wins ? "   <- winner" : "");
}

/* The session tells as soon as a kernel is decided, while others are still being tuned. */
static void show_decided(void *user, const tdt_session_tuning *tuning) {
  const struct pipeline *p = user;
  size_t first = 0;
  while (tuning->candidates[first].outcome != TDT_OUTCOME_TIMED) {
    first++;
  }
  printf("  %s, key %s: decided after pass %u\n", tuning->kernel, tuning->key, p->n_passes);
  for (size_t i = 0; i < tuning->n_candidates; i++) {
    show_candidate(&tuning->candidates[i], i == tuning->winner);
  }
  printf("    gain over the first that ran: %.2f x\n",
         tuning->candidates[first].time_ms / tuning->candidates[tuning->winner].time_ms);
}

static void show_log(void *user, tdt_log_level level, const char *message) {
  (void)user;
  (void)level;
  fprintf(stderr, "%s\n", message);
}

/* -- making it --------------------------------------------------------------------------------- */

static tdt_status make_spaces(struct pipeline *p, tdt_error *error) {
  enum { CONFIG_SIZE = 48 };
  char texts[N_COPIES + N_PRODUCTS][CONFIG_SIZE];
  const char *configs[N_COPIES + N_PRODUCTS];
  for (size_t i = 0; i < N_COPIES; i++) {
    snprintf(texts[i], CONFIG_SIZE, "{\"block\":%zu}", copy_blocks[i]);
    configs[i] = texts[i];
  }
  for (size_t i = 0; i < N_PRODUCTS; i++) {
    snprintf(texts[N_COPIES + i], CONFIG_SIZE, "{\"block\":%zu,\"at_once\":%zu}", products[i].block,
             products[i].at_once);
    configs[N_COPIES + i] = texts[N_COPIES + i];
  }
  tdt_status status = tdt_space_create(configs, N_COPIES, &p->copies, error);
  if (status == TDT_OK) {
    status = tdt_space_create(configs + N_COPIES, N_PRODUCTS, &p->products, error);
  }
  return status;
}

static tdt_status make_session(struct pipeline *p, bool log, tdt_error *error) {
  tdt_session_options options;
  tdt_session_options_init(&options); /* 3 warm-ups, 5 timed runs, the host's clock */
  options.user = p;
  options.decided = show_decided;
  options.log = (tdt_log){log ? show_log : NULL, NULL, TDT_LOG_INFO};
  return tdt_session_create(&options, &p->session, error);
}

static float *positive_matrix(size_t n, unsigned *seed) {
  float *values = malloc(n * n * sizeof(float));
  for (size_t i = 0; values != NULL && i < n * n; i++) {
    *seed = *seed * 1664525U + 1013904223U;
    values[i] = (float)((*seed >> 8) + 1U) / 16777216.0F;
  }
  return values;
}

static float *plain_product(size_t n, const float *a, const float *b) {
  float *c = malloc(n * n * sizeof(float));
  for (size_t at = 0; c != NULL && at < n * n; at++) {
    double sum = 0;
    for (size_t k = 0; k < n; k++) {
      sum += (double)a[at / n * n + k] * (double)b[k * n + at % n];
    }
    c[at] = (float)sum;
  }
  return c;
}

/* Fills `p`, also on failure as far as it got: close it in any case. */
static tdt_status open_pipeline(struct pipeline *p, size_t n, bool log, tdt_error *error) {
  unsigned seed = 1;
  *p = (struct pipeline){.n = n};
  p->a = positive_matrix(n, &seed);
  p->b = positive_matrix(n, &seed);
  p->turned = malloc(n * n * sizeof(float));
  p->c = malloc(n * n * sizeof(float));
  p->scratch = malloc(SCRATCH_SIZE);
  if (p->a != NULL && p->b != NULL) {
    p->expected = plain_product(n, p->a, p->b);
  }
  if (p->turned == NULL || p->c == NULL || p->scratch == NULL || p->expected == NULL) {
    return tdt_error_set(error, TDT_ENOMEM, "no memory for matrices of %zu x %zu", n, n);
  }
  snprintf(p->key, sizeof(p->key), "(%zu, %zu)", n, n);
  tdt_status status = make_spaces(p, error);
  return status == TDT_OK ? make_session(p, log, error) : status;
}

static void close_pipeline(struct pipeline *p) {
  tdt_session_destroy(p->session);
  tdt_space_destroy(p->copies);
  tdt_space_destroy(p->products);
  free((void *)p->a);
  free((void *)p->b);
  free((void *)p->expected);
  free(p->turned);
  free(p->c);
  free(p->scratch);
}

/* -- the program ------------------------------------------------------------------------------- */

static tdt_status run_twice(struct pipeline *p, tdt_error *error) {
  printf("turn and product, %zu x %zu, tuned while they run\n", p->n, p->n);
  tdt_status status = tdt_session_run(p->session, multiply, p, error);
  if (status != TDT_OK) {
    return status;
  }
  printf("  first call: %u passes, the results of each compared\n", p->n_passes);
  p->n_passes = 0;
  status = tdt_session_run(p->session, multiply, p, error);
  if (status == TDT_OK) {
    printf("  second call: %u pass, with both winners\n", p->n_passes);
  }
  return status;
}

/* False where the command line is not as it should be. */
static bool parse(int argc, char **argv, size_t *n, bool *log) {
  *n = 256;
  *log = false;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--log") == 0) {
      *log = true;
    } else if (strcmp(argv[i], "--size") == 0 && i + 1 < argc) {
      char *end = NULL;
      const long size = strtol(argv[++i], &end, 10);
      if (*end != '\0' || size < 64 || size > 2048) {
        return false;
      }
      *n = (size_t)size;
    } else {
      return false;
    }
  }
  return true;
}

int main(int argc, char **argv) {
  size_t n;
  bool log;
  if (!parse(argc, argv, &n, &log)) {
    fprintf(stderr, "usage: pipeline [--size N] [--log]   (N from 64 to 2048)\n");
    return 2;
  }
  struct pipeline p;
  tdt_error error = TDT_ERROR_INIT;
  tdt_status status = open_pipeline(&p, n, log, &error);
  if (status == TDT_OK) {
    status = run_twice(&p, &error);
  }
  close_pipeline(&p);
  if (status != TDT_OK) {
    fprintf(stderr, "pipeline: %s (%s)\n", tdt_error_text(&error), tdt_status_name(status));
  }
  tdt_error_clear(&error);
  return status == TDT_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
