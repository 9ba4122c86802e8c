/* SPDX-License-Identifier: MIT */
/*
 * Ranks of an MPI program find together how long the pieces of a pipeline should be: a field is
 * computed piece by piece, and while the next is computed the last is summed over all ranks. Short
 * pieces overlap better, long ones are summed with less effort; which is best depends on machine,
 * network and size, and it must be the same on every rank.
 *
 *   mpirun -n 2 ranks [--size N]     N: numbers in the field, at least 65536; 1048576 if not given
 *
 * Run it twice: the second run finds its answer on disk. To tune over ranks differs in one thing
 * from tuning alone: a group is made and named in the request.
 */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

#include <tdtune/tdtune.h>

/* Part of what a stored result belongs to: change it whenever run() changes. */
static const char pipeline_version[] = "1";

static const size_t pieces[] = {1024, 4096, 16384, 65536, 262144, 1048576};

enum { N_PIECES = sizeof(pieces) / sizeof(pieces[0]) };

struct field {
  size_t n;
  int rank;
  int n_ranks;
  double *own; /* this rank's part of each number */
  double *sum; /* over all ranks */
  char key[64];
};

/* What is asked, and what asking needs. */
struct setup {
  tdt_settings settings;
  tdt_group group;
  tdt_context *context;
  tdt_space *space;
  tdt_store *store;
  tdt_tuner *tuner;
  char *hardware;
};

static size_t smaller(size_t left, size_t right) {
  return left < right ? left : right;
}

/* -- the pipeline ------------------------------------------------------------------------------ */

static double value_at(size_t i) {
  return 1.0 + 0.5 * sin((double)i * 1e-3);
}

static void compute(const struct field *field, size_t first, size_t count) {
  for (size_t i = first; i < first + count; i++) {
    field->own[i] = value_at(i) * (double)(field->rank + 1);
  }
}

static void run(const struct field *field, size_t piece) {
  MPI_Request request = MPI_REQUEST_NULL;
  for (size_t first = 0; first < field->n; first += piece) {
    const size_t count = smaller(piece, field->n - first);
    compute(field, first, count);
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* of the piece before */
    MPI_Iallreduce(field->own + first, field->sum + first, (int)count, MPI_DOUBLE, MPI_SUM,
                   MPI_COMM_WORLD, &request);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* All are positive, so that no sum cancels: it is within one rounding error for each addition and
 * multiplication of the exact one. */
static tdt_status check(const struct field *field, tdt_error *error) {
  const double ranks = (double)field->n_ranks;
  for (size_t i = 0; i < field->n; i++) {
    const double expected = value_at(i) * ranks * (ranks + 1.0) / 2.0;
    const double difference = fabs(field->sum[i] - expected) / expected;
    if (!(difference <= (ranks + 3.0) * DBL_EPSILON)) { /* also true for NaN */
      return tdt_error_set(error, TDT_ELAUNCH, "wrong result: number %zu is off by %.1e", i,
                           difference);
    }
  }
  return TDT_OK;
}

/* -- tuning it --------------------------------------------------------------------------------- */

/* All ranks are here at the same time, with the same candidate: what it does together cannot get
 * out of step. */
static tdt_status launch(void *user, size_t candidate, tdt_error *error) {
  (void)error; /* MPI ends the program where it fails */
  run(user, pieces[candidate]);
  return TDT_OK;
}

static void show_log(void *user, tdt_log_level level, const char *message) {
  const struct field *field = user;
  fprintf(stderr, "rank %d: %s%s\n", field->rank, level == TDT_LOG_WARNING ? "warning: " : "",
          message);
}

static tdt_status resolve(const struct setup *setup, struct field *field, tdt_choice *choice,
                          tdt_error *error) {
  tdt_request request;
  tdt_request_init(&request);
  request.key = field->key;
  request.hardware = setup->hardware;
  request.settings = &setup->settings;
  request.group = &setup->group; /* this is all */
  request.store = setup->store;
  request.log = (tdt_log){show_log, field, TDT_LOG_INFO};
  request.user = field;
  request.launch = launch;
  return tdt_tuner_resolve(setup->tuner, &request, choice, error);
}

/* -- making it --------------------------------------------------------------------------------- */

static tdt_status make_space(tdt_space **space, tdt_error *error) {
  enum { CONFIG_SIZE = 32 };
  char texts[N_PIECES][CONFIG_SIZE];
  const char *configs[N_PIECES];
  for (size_t i = 0; i < N_PIECES; i++) {
    snprintf(texts[i], CONFIG_SIZE, "{\"piece\":%zu}", pieces[i]);
    configs[i] = texts[i];
  }
  return tdt_space_create(configs, N_PIECES, space, error);
}

static tdt_function describe_function(char source[TDT_DIGEST_SIZE]) {
  tdt_digest(pipeline_version, strlen(pipeline_version), source);
  return (tdt_function){.name = "ranks", .module = "examples", .source = source};
}

static tdt_status make_tuner(struct setup *setup, tdt_error *error) {
  char source[TDT_DIGEST_SIZE];
  const tdt_function function = describe_function(source);
  tdt_status status = tdt_context_create(&setup->context, error);
  if (status == TDT_OK) {
    status = make_space(&setup->space, error);
  }
  if (status == TDT_OK) {
    status = tdt_tuner_create(setup->context, &function, setup->space, NULL, &setup->tuner, error);
  }
  return status;
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
  tdt_status status = tdt_group_mpi_create(NULL, &setup->group, error); /* all ranks call it */
  if (status == TDT_OK) {
    status = tdt_settings_from_environment(&setup->settings, error);
  }
  if (status == TDT_OK) {
    status = tdt_host_hardware(&setup->hardware, error);
  }
  if (status == TDT_OK) {
    status = open_store(&setup->store, error);
  }
  return status == TDT_OK ? make_tuner(setup, error) : status;
}

static void close_setup(struct setup *setup) {
  tdt_tuner_destroy(setup->tuner);
  tdt_store_close(setup->store);
  tdt_text_free(setup->hardware);
  tdt_space_destroy(setup->space);
  tdt_context_destroy(setup->context);
  tdt_group_mpi_destroy(&setup->group); /* before MPI_Finalize() */
}

static tdt_status open_field(struct field *field, size_t n, tdt_error *error) {
  *field = (struct field){.n = n};
  MPI_Comm_rank(MPI_COMM_WORLD, &field->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &field->n_ranks);
  /* Whatever changes which candidate is the fastest belongs into the key. */
  snprintf(field->key, sizeof(field->key), "(%zu, %d)", n, field->n_ranks);
  field->own = malloc(n * sizeof(double));
  field->sum = malloc(n * sizeof(double));
  if (field->own == NULL || field->sum == NULL) {
    return tdt_error_set(error, TDT_ENOMEM, "no memory for %zu numbers", n);
  }
  return TDT_OK;
}

static void close_field(struct field *field) {
  free(field->own);
  free(field->sum);
}

/* -- display ----------------------------------------------------------------------------------- */

/* The table that is stored: each candidate's time on its slowest rank. */
static void show_table(const struct setup *setup, const struct field *field) {
  char source[TDT_DIGEST_SIZE];
  const tdt_identity identity = {
      .function = describe_function(source), .hardware = setup->hardware, .key = field->key};
  tdt_record *record = NULL;
  char *text = NULL;
  if (tdt_store_load(setup->store, &identity, &record, NULL) == TDT_OK &&
      tdt_record_table(record, &text, NULL) == TDT_OK) {
    printf("%s", text);
  }
  tdt_text_free(text);
  tdt_record_destroy(record);
}

/* Runs the winner once more and shows each rank's time and the slowest, which is what counts. */
static void show_ranks(const struct field *field, size_t winner, double *times_ms) {
  double slowest_ms = 0.0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start_s = MPI_Wtime();
  run(field, pieces[winner]);
  const double time_ms = (MPI_Wtime() - start_s) * 1e3;
  MPI_Gather(&time_ms, 1, MPI_DOUBLE, times_ms, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (field->rank == 0) {
    for (int rank = 0; rank < field->n_ranks; rank++) {
      printf("  rank %d: %.3f ms\n", rank, times_ms[rank]);
      slowest_ms = fmax(slowest_ms, times_ms[rank]);
    }
    printf("  slowest: %.3f ms\n", slowest_ms);
  }
}

static tdt_status show(const struct setup *setup, const struct field *field,
                       const tdt_choice *choice, tdt_error *error) {
  double *times_ms = malloc((size_t)field->n_ranks * sizeof(double));
  if (times_ms == NULL) {
    return tdt_error_set(error, TDT_ENOMEM, "no memory for %d times", field->n_ranks);
  }
  if (field->rank == 0) {
    show_table(setup, field);
    printf("winner over %d ranks: %s (%s)\n", field->n_ranks,
           tdt_space_config(setup->space, choice->candidate),
           choice->origin == TDT_ORIGIN_TUNED ? "tuned" : "remembered");
  }
  show_ranks(field, choice->candidate, times_ms);
  free(times_ms);
  return TDT_OK;
}

/* -- the program ------------------------------------------------------------------------------- */

static tdt_status tune(struct field *field, tdt_error *error) {
  struct setup setup;
  tdt_choice choice;
  tdt_status status = open_setup(&setup, error);
  if (status != TDT_OK && setup.group.table != NULL) { /* the others may be about to begin */
    (void)tdt_group_withdraw(&setup.group, tdt_error_text(error), NULL);
  }
  if (status == TDT_OK) {
    status = resolve(&setup, field, &choice, error);
  }
  if (status == TDT_OK) {
    status = show(&setup, field, &choice, error);
  }
  if (status == TDT_OK) {
    status = check(field, error);
  }
  close_setup(&setup);
  return status;
}

/* The value of --size, or 0 where the command line is not as it should be. */
static size_t parse_size(int argc, char **argv) {
  if (argc == 1) {
    return 1048576;
  }
  if (argc != 3 || strcmp(argv[1], "--size") != 0) {
    return 0;
  }
  char *end = NULL;
  const long size = strtol(argv[2], &end, 10);
  return *end == '\0' && size >= 65536 && size <= 268435456 ? (size_t)size : 0;
}

int main(int argc, char **argv) {
  struct field field;
  tdt_error error = TDT_ERROR_INIT;
  MPI_Init(&argc, &argv);
  const size_t n = parse_size(argc, argv);
  if (n == 0) {
    fprintf(stderr, "usage: ranks [--size N]   (N from 65536 to 268435456)\n");
    MPI_Finalize();
    return 2;
  }
  tdt_status status = open_field(&field, n, &error);
  if (status == TDT_OK) {
    status = tune(&field, &error);
  }
  close_field(&field);
  if (status != TDT_OK) {
    fprintf(stderr, "ranks: rank %d: %s (%s)\n", field.rank, tdt_error_text(&error),
            tdt_status_name(status));
  }
  tdt_error_clear(&error);
  MPI_Finalize();
  return status == TDT_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
