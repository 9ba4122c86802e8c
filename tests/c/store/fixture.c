/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scratch.h"

#include "model/identity.h"

static char folder[4096];

int make_folder(void **state) {
  (void)state;
  return scratch_make(folder, sizeof folder) ? 0 : -1;
}

int remove_folder(void **state) {
  (void)state;
  return scratch_clear(folder) ? 0 : -1;
}

const char *in_folder(const char *format, ...) {
  static char paths[8][9000];
  static unsigned next;
  char *path = paths[next++ % 8];
  int size = snprintf(path, sizeof paths[0], "%s/", folder);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(path + size, sizeof paths[0] - (size_t)size, format, arguments);
  va_end(arguments);
  return path;
}

void write_file(const char *path, const void *data, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

char *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  char *data = calloc(1, 1U << 20);
  assert_non_null(data);
  *size = fread(data, 1, (1U << 20) - 1, file);
  (void)fclose(file);
  return data;
}

bool exists(const char *path) {
  struct stat status;
  return lstat(path, &status) == 0;
}

tdt_identity identity_of(const char *name, const char *key) {
  return (tdt_identity){
      .function = {.name = name, .module = "ops", .qualname = name, .source = "9f2c"},
      .hardware = "{\"device\": \"a CPU\", \"cores\": 2}",
      .key = key,
  };
}

static void set_text(char **text, const char *value) {
  free(*text);
  *text = strdup(value);
}

static void fill_entries(tdt_record *record, unsigned seed) {
  static const char *const configs[] = {"{\"tile\":16}", "{\"tile\":32}", "{\"tile\":64}",
                                        "{\"tile\":128}", "{\"tile\":256}"};
  for (size_t i = 0; i < record->n_entries; i++) {
    record->entries[i].config = strdup(configs[i]);
  }
  double slow[] = {seed + 0.1, seed + 0.3};
  double fast[] = {seed / 7.0, seed / 7.0, seed / 7.0};
  tdt__timing_set_samples(&record->entries[0].timing, slow, 2, TDT_STATISTIC_MEAN, NULL);
  tdt__timing_set_samples(&record->entries[1].timing, fast, 3, TDT_STATISTIC_MEAN, NULL);
  tdt__timing_set_samples(&record->entries[2].timing, slow, 1, TDT_STATISTIC_MEAN, NULL);
  tdt__timing_set_failed(&record->entries[2].timing, "OutOfMemory: \"Größe\"\n\ttoo large", NULL);
  tdt__timing_set_pruned(&record->entries[3].timing);
}

tdt_record *make_record(const tdt_identity *identity, unsigned seed) {
  tdt_record *record = NULL;
  assert_int_equal(tdt__record_create(5, &record, NULL), TDT_OK);
  tdt_identity copy;
  assert_int_equal(tdt__identity_copy(identity, &copy, NULL), TDT_OK);
  tdt__identity_clear(&record->identity);
  record->identity = copy;
  set_text(&record->dependencies, "{\"tdtune\":\"0.1.0\"}");
  set_text(&record->clock, "host");
  set_text(&record->plan_name, "documented");
  set_text(&record->prune_rule, "77aa");
  record->n_ranks = 4;
  record->n_warmup = seed;
  record->n_repeat = 10;
  record->statistic = TDT_STATISTIC_MEAN;
  fill_entries(record, seed);
  record->best = 1;
  record->complete = true;
  strcpy(record->created, "2026-11-29T12:00:00Z");
  return record;
}

static bool same_times(const tdt__timing *timing, double time_ms, size_t n) {
  return timing->outcome == TDT_OUTCOME_TIMED && timing->time_ms == time_ms &&
         timing->n_samples == n;
}

unsigned seed_of(const tdt_record *record) {
  unsigned seed = record->n_warmup;
  if (record->n_entries != 5 || record->best != 1 || !record->complete) {
    return 0;
  }
  const tdt__timing *fast = &record->entries[1].timing;
  bool same = fast->n_samples == 3;
  for (size_t i = 0; same && i < 3; i++) {
    same = fast->samples_ms[i] == seed / 7.0;
  }
  return same && same_times(&record->entries[0].timing, (seed + 0.1 + (seed + 0.3)) / 2.0, 2) ? seed
                                                                                              : 0;
}

void assert_record(const tdt_record *record, unsigned seed) {
  assert_int_equal(seed_of(record), seed);
  assert_int_equal(record->entries[2].timing.outcome, TDT_OUTCOME_FAILED);
  assert_int_equal(record->entries[2].timing.n_samples, 1);
  assert_string_equal(record->entries[2].timing.error, "OutOfMemory: \"Größe\"\n\ttoo large");
  assert_int_equal(record->entries[3].timing.outcome, TDT_OUTCOME_PRUNED);
  assert_int_equal(record->entries[4].timing.outcome, TDT_OUTCOME_UNKNOWN);
  assert_string_equal(record->entries[4].config, "{\"tile\":256}");
  assert_string_equal(record->dependencies, "{\"tdtune\":\"0.1.0\"}");
  assert_string_equal(record->clock, "host");
  assert_string_equal(record->plan_name, "documented");
  assert_string_equal(record->prune_rule, "77aa");
  assert_string_equal(record->created, "2026-11-29T12:00:00Z");
  assert_int_equal(record->n_ranks, 4);
  assert_int_equal(record->n_repeat, 10);
}

tdt_store *open_store(const char *root) {
  tdt_store *store = NULL;
  assert_int_equal(tdt_store_open(root, &store, NULL), TDT_OK);
  return store;
}

void save_record(tdt_store *store, const tdt_identity *identity, unsigned seed) {
  tdt_record *record = make_record(identity, seed);
  assert_int_equal(tdt_store_save(store, record, NULL), TDT_OK);
  tdt_record_destroy(record);
}

char *path_of(const tdt_store *store, const tdt_identity *identity) {
  char *path = NULL;
  assert_int_equal(tdt_store_path(store, identity, &path, NULL), TDT_OK);
  return path;
}

pid_t start_child(bool (*body)(void *argument), void *argument) {
  (void)fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    if (body(argument)) {
      (void)raise(SIGKILL);
    }
    _exit(1);
  }
  return child;
}

bool came_back(pid_t child) {
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
         WTERMSIG(status) == SIGKILL;
}

bool in_child(bool (*body)(void *argument), void *argument) {
  return came_back(start_child(body, argument));
}
