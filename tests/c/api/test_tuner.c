/* SPDX-License-Identifier: MIT */
/* L01: the promises through public headers alone, and every status that a caller can meet. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "scratch.h"

#include <tdtune/tdtune.h>

/* A user of the library: four candidates, of which the script says how they fare. */
typedef struct world {
  char root[256];
  tdt_context *context;
  tdt_space *space;
  tdt_tuner *tuner;
  tdt_store *store;
  tdt_settings settings;
  tdt_device device;
  tdt_request request;
  bool seen[32]; /* which statuses came back */
  tdt_status launch_status;
  tdt_status synchronize_status;
  bool prunes;
  double now_ms;
  double marks_ms[64];
} world;

static tdt_status reserve(void *self, size_t n_marks, tdt_error *error) {
  (void)self;
  (void)error;
  return n_marks <= 64 ? TDT_OK : TDT_ENOMEM;
}

static tdt_status mark(void *self, size_t index, tdt_error *error) {
  world *w = self;
  (void)error;
  w->marks_ms[index] = w->now_ms;
  return TDT_OK;
}

static tdt_status elapsed_ms(void *self, size_t start, size_t stop, double *ms, tdt_error *error) {
  world *w = self;
  (void)error;
  *ms = w->marks_ms[stop] - w->marks_ms[start];
  return TDT_OK;
}

static tdt_status synchronize(void *self, tdt_error *error) {
  world *w = self;
  (void)error;
  return w->synchronize_status;
}

static const tdt_device_table device_table = {
    TDT_DEVICE_ABI, sizeof device_table, "scripted", reserve, mark, elapsed_ms, synchronize, NULL};

static tdt_status launch(void *user, size_t candidate, tdt_error *error) {
  world *w = user;
  w->now_ms += 4.0 - (double)candidate;
  return w->launch_status == TDT_OK ? TDT_OK : tdt_error_set(error, w->launch_status, "scripted");
}

static tdt_status prune(void *user, size_t candidate, bool *keep, tdt_error *error) {
  world *w = user;
  (void)candidate;
  (void)error;
  *keep = !w->prunes;
  return TDT_OK;
}

static int setup(void **state) {
  const char *const configs[] = {"{\"t\": 1}", "{\"t\": 2}", "{\"t\": 4}", "{\"t\": 8}"};
  const tdt_function function = {.name = "gemm"};
  world *w = calloc(1, sizeof *w);
  if (w == NULL) {
    return -1;
  }
  if (!scratch_make(w->root, sizeof w->root) || tdt_context_create(&w->context, NULL) != TDT_OK ||
      tdt_space_create(configs, 4, &w->space, NULL) != TDT_OK ||
      tdt_tuner_create(w->context, &function, w->space, NULL, &w->tuner, NULL) != TDT_OK ||
      tdt_store_open(w->root, &w->store, NULL) != TDT_OK) {
    return -1;
  }
  w->settings = tdt_settings_default();
  w->device = (tdt_device){&device_table, w, "scripted", "scripted:0"};
  tdt_request_init(&w->request);
  w->request.key = "k";
  w->request.settings = &w->settings;
  w->request.device = &w->device;
  w->request.store = w->store;
  w->request.user = w;
  w->request.launch = launch;
  w->request.prune = prune;
  *state = w;
  return 0;
}

static int teardown(void **state) {
  world *w = *state;
  tdt_tuner_destroy(w->tuner);
  tdt_space_destroy(w->space);
  tdt_store_close(w->store);
  tdt_context_destroy(w->context);
  (void)scratch_clear(w->root);
  free(w);
  return 0;
}

static void expect(world *w, const char *key, tdt_status expected) {
  const tdt_choice untouched = {77, TDT_ORIGIN_FIRST, false};
  tdt_choice choice = untouched;
  tdt_error error = TDT_ERROR_INIT;
  w->request.key = key;
  tdt_status status = tdt_tuner_resolve(w->tuner, &w->request, &choice, &error);
  assert_string_equal(tdt_status_name(status), tdt_status_name(expected));
  assert_int_equal(error.code, expected);
  assert_true((expected == TDT_OK) == (tdt_error_text(&error)[0] == '\0'));
  if (expected != TDT_OK) {
    assert_int_equal(choice.candidate, untouched.candidate);
    assert_int_equal(choice.origin, untouched.origin);
  }
  w->seen[status] = true;
  tdt_error_clear(&error);
  choice = untouched;
  assert_int_equal(tdt_tuner_resolve(w->tuner, &w->request, &choice, NULL),
                   expected); /* no error
                                   object */
}

static void test_L01_a_whole_use(void **state) {
  world *w = *state;
  size_t candidate;
  tdt_choice choice;
  tdt_device host;
  assert_int_equal(tdt_device_host_create(&host, NULL), TDT_OK);
  assert_false(tdt_tuner_lookup(w->tuner, "k", 1, &candidate));
  w->request.device = NULL; /* the host's clock */
  assert_int_equal(tdt_tuner_resolve(w->tuner, &w->request, &choice, NULL), TDT_OK);
  assert_int_equal(choice.origin, TDT_ORIGIN_TUNED);
  assert_true(tdt_tuner_lookup(w->tuner, "k", 1, &candidate));
  assert_int_equal(candidate, choice.candidate);
  tdt_device_host_destroy(&host);

  const tdt_identity identity = {.function = {.name = "gemm"}, .key = "k"};
  char *path, *table;
  tdt_record *record;
  assert_int_equal(tdt_store_path(w->store, &identity, &path, NULL), TDT_OK);
  assert_int_equal(tdt_record_load(path, &record, NULL), TDT_OK);
  assert_int_equal(tdt_record_best(record), candidate);
  assert_int_equal(tdt_record_n_candidates(record), 4);
  assert_int_equal(tdt_record_table(record, &table, NULL), TDT_OK);
  tdt_text_free(table);
  tdt_text_free(path);
  tdt_record_destroy(record);
}

static void see_resolve_fail(world *w) {
  expect(w, "ok", TDT_OK);
  w->request.launch = NULL;
  expect(w, "einval", TDT_EINVAL);
  w->request.launch = launch;
  w->settings.on_miss = TDT_ON_MISS_ERROR;
  expect(w, "emiss", TDT_EMISS);
  w->settings.on_miss = TDT_ON_MISS_TUNE;
  w->prunes = true;
  expect(w, "epruned", TDT_EPRUNED);
  w->prunes = false;
  w->launch_status = TDT_ELAUNCH;
  expect(w, "efailed", TDT_EFAILED);
  w->synchronize_status = TDT_EDEVICE;
  expect(w, "edevice", TDT_EDEVICE);
  w->synchronize_status = TDT_OK;
  w->launch_status = TDT_ESTOPPED;
  expect(w, "estopped", TDT_ESTOPPED);
  w->launch_status = TDT_OK;
}

/* Whichever is asked first. */
static tdt_status broken_post(void *self, uint64_t round, const void *bytes, size_t size,
                              tdt_error *error) {
  (void)self;
  (void)round;
  (void)bytes;
  (void)size;
  return tdt_error_set(error, TDT_EGROUP, "nobody answers");
}

static tdt_status broken_take(void *self, uint64_t round, unsigned from, double slice_s,
                              tdt_message *message, tdt_error *error) {
  (void)self;
  (void)round;
  (void)from;
  (void)slice_s;
  (void)message;
  return tdt_error_set(error, TDT_EGROUP, "nobody answers");
}

static tdt_status broken_max(void *self, const double *values, size_t n, tdt_error *error) {
  (void)self;
  (void)values;
  (void)n;
  return tdt_error_set(error, TDT_EGROUP, "nobody answers");
}

static void see_group_fail(world *w) {
  tdt_group_table table = *tdt_group_self().table;
  table.post = broken_post;
  table.take = broken_take;
  table.start_max = broken_max;
  tdt_group_rounds *rounds;
  assert_int_equal(tdt_group_rounds_create(&rounds, NULL), TDT_OK);
  const tdt_group group = {&table, NULL, 0, 2, rounds, NULL};
  w->request.group = &group;
  expect(w, "egroup", TDT_EGROUP);
  w->request.group = NULL;
  tdt_group_rounds_destroy(rounds);
}

static void see_memory_fail(world *w) {
  tdt_device host;
  tdt_error error = TDT_ERROR_INIT;
  assert_int_equal(tdt_device_host_create(&host, NULL), TDT_OK);
  w->seen[host.table->reserve(host.self, SIZE_MAX, &error)] = true;
  assert_int_equal(error.code, TDT_ENOMEM);
  tdt_device_host_destroy(&host);
  tdt_error_clear(&error);
}

static void see_files_fail(world *w) {
  char path[300];
  tdt_record *record;
  tdt_error error = TDT_ERROR_INIT;
  (void)snprintf(path, sizeof path, "%s/nothing.json", w->root);
  w->seen[tdt_record_load(path, &record, &error)] = true;
  assert_int_equal(error.code, TDT_ENOENT);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs("no record", file) >= 0);
  assert_int_equal(fclose(file), 0);
  w->seen[tdt_record_load(path, &record, &error)] = true;
  assert_int_equal(error.code, TDT_EFORMAT);
  assert_contains(tdt_error_text(&error), path);

  tdt_store *store; /* its root is that file */
  const tdt_identity identity = {.function = {.name = "gemm"}, .key = "ok"};
  assert_int_equal(tdt_store_load(w->store, &identity, &record, NULL), TDT_OK);
  assert_int_equal(tdt_store_open(path, &store, NULL), TDT_OK);
  w->seen[tdt_store_save(store, record, &error)] = true;
  assert_int_equal(error.code, TDT_EIO);
  tdt_store_close(store);
  tdt_record_destroy(record);
  tdt_error_clear(&error);
}

/* A candidate's own code: what a launch says reaches the record, and is no failure of resolve. */
static void see_launch_fail(world *w) {
  tdt_error error = TDT_ERROR_INIT;
  w->launch_status = TDT_ELAUNCH;
  w->seen[launch(w, 0, &error)] = true;
  w->launch_status = TDT_OK;
  tdt_error_clear(&error);
}

static void test_every_status_can_be_met(void **state) {
  world *w = *state;
  see_resolve_fail(w);
  see_group_fail(w);
  see_memory_fail(w);
  see_files_fail(w);
  see_launch_fail(w);
#define ASSERT_SEEN(number, name, text)                                                            \
  if ((number) != TDT_ESTALLED && !w->seen[number]) {                                              \
    fail_msg("TDT_%s was not met", #name);                                                         \
  }
  TDT_STATUS_LIST(ASSERT_SEEN) /* stalled is what a session may be, see its tests */
#undef ASSERT_SEEN
}

static void refuse(world *w, const char *named) {
  tdt_choice choice;
  tdt_error error = TDT_ERROR_INIT;
  assert_int_equal(tdt_tuner_resolve(w->tuner, &w->request, &choice, &error), TDT_EINVAL);
  assert_contains(tdt_error_text(&error), named);
  tdt_error_clear(&error);
}

#define REFUSE(field, value, named)                                                                \
  do {                                                                                             \
    __typeof__(w->field) kept_ = w->field;                                                         \
    w->field = (value);                                                                            \
    refuse(w, named);                                                                              \
    w->field = kept_;                                                                              \
  } while (0)

static void test_L01_requests_that_are_refused(void **state) {
  world *w = *state;
  tdt_device_table table = device_table;
  w->device.table = &table;
  REFUSE(request.size, 0, "tdt_request_init");
  REFUSE(request.key, NULL, "key");
  REFUSE(request.launch, NULL, "launch");
  REFUSE(request.hardware, "[1]", "hardware");
  REFUSE(request.hardware, "{\"a\":", "hardware");
  REFUSE(request.dependencies, "7", "dependencies");
  REFUSE(settings.size, 1, "settings");
  REFUSE(settings.on_miss, (tdt_on_miss)9, "on_miss");
  REFUSE(settings.lock_timeout_s, -1.0, "lock_timeout_s");
  REFUSE(settings.lock_timeout_s, (double)NAN, "lock_timeout_s");
  REFUSE(device.table, NULL, "device");
  REFUSE(device.id, NULL, "device");
  REFUSE(device.clock, NULL, "device");
  w->device.table = &table;
  table.abi = TDT_DEVICE_ABI + 1;
  refuse(w, "abi");
  table = device_table;
  table.size = 8;
  refuse(w, "device");
  table = device_table;
  table.mark = NULL;
  refuse(w, "device");
  table = device_table;

  tdt_group group = tdt_group_self();
  w->request.group = &group;
  group.rank = 1;
  refuse(w, "rank 1");
  group.n_ranks = 0;
  refuse(w, "group");
  group = tdt_group_self();
  group.table = NULL;
  refuse(w, "group");
  w->request.group = NULL;
  tdt_choice choice;
  assert_int_equal(tdt_tuner_resolve(w->tuner, NULL, &choice, NULL), TDT_EINVAL);
  assert_int_equal(tdt_tuner_resolve(NULL, &w->request, &choice, NULL), TDT_EINVAL);
  assert_int_equal(tdt_tuner_resolve(w->tuner, &w->request, NULL, NULL), TDT_EINVAL);
  assert_int_equal(tdt_tuner_resolve(w->tuner, &w->request, &choice, NULL), TDT_OK);
}

static void refuse_plan(world *w, const tdt_plan *plan, const char *named) {
  const tdt_function function = {.name = "gemm"};
  tdt_tuner *tuner = NULL;
  tdt_error error = TDT_ERROR_INIT;
  assert_int_equal(tdt_tuner_create(w->context, &function, w->space, plan, &tuner, &error),
                   TDT_EINVAL);
  assert_contains(tdt_error_text(&error), named);
  assert_null(tuner);
  tdt_error_clear(&error);
}

static void test_L01_plans_out_of_bounds(void **state) {
  world *w = *state;
  tdt_plan plan = tdt_plan_documented();
  plan.n_repeat = 0;
  refuse_plan(w, &plan, "n_repeat");
  plan.n_repeat = 100001;
  refuse_plan(w, &plan, "100001");
  plan = tdt_plan_documented();
  plan.n_warmup = 100001;
  refuse_plan(w, &plan, "n_warmup");
  plan = tdt_plan_documented();
  plan.size = 0;
  refuse_plan(w, &plan, "size");
  plan = tdt_plan_documented();
  plan.name = NULL;
  refuse_plan(w, &plan, "name");
  plan = tdt_plan_documented();
  plan.statistic = (tdt_statistic)7;
  refuse_plan(w, &plan, "statistic");
}

static void test_L01_tuners_that_are_refused(void **state) {
  world *w = *state;
  const tdt_function nameless = {.name = NULL}, empty = {.name = ""}, good = {.name = "f"};
  tdt_tuner *tuner = NULL;
  assert_int_equal(tdt_tuner_create(w->context, &nameless, w->space, NULL, &tuner, NULL),
                   TDT_EINVAL);
  assert_int_equal(tdt_tuner_create(w->context, &empty, w->space, NULL, &tuner, NULL), TDT_EINVAL);
  assert_int_equal(tdt_tuner_create(NULL, &good, w->space, NULL, &tuner, NULL), TDT_EINVAL);
  assert_int_equal(tdt_tuner_create(w->context, NULL, w->space, NULL, &tuner, NULL), TDT_EINVAL);
  assert_int_equal(tdt_tuner_create(w->context, &good, NULL, NULL, &tuner, NULL), TDT_EINVAL);
  assert_null(tuner);
  tdt_tuner_destroy(NULL);
  tdt_context_destroy(NULL);
}

static void test_L01_what_is_copied(void **state) {
  world *w = *state;
  char name[] = "gemm", plan_name[] = "mine";
  tdt_function function = {.name = name};
  tdt_plan plan = tdt_plan_documented();
  tdt_tuner *tuner;
  tdt_choice choice;
  plan.name = plan_name;
  plan.n_warmup = 0;
  plan.n_repeat = 1;
  assert_int_equal(tdt_tuner_create(w->context, &function, w->space, &plan, &tuner, NULL), TDT_OK);
  memset(name, 'x', strlen(name));
  memset(plan_name, 'x', strlen(plan_name));
  plan.n_repeat = 7;
  assert_int_equal(tdt_tuner_resolve(tuner, &w->request, &choice, NULL), TDT_OK);
  assert_int_equal(choice.candidate, 3);
  const tdt_identity identity = {.function = {.name = "gemm"}, .key = "k"};
  tdt_record *record;
  char *text;
  assert_int_equal(tdt_store_load(w->store, &identity, &record, NULL), TDT_OK);
  assert_int_equal(tdt_record_json(record, &text, NULL), TDT_OK);
  assert_contains(text, "\"name\": \"mine\", \"warmup\": 0, \"repeat\": 1,");
  tdt_text_free(text);
  tdt_record_destroy(record);
  tdt_tuner_destroy(tuner);
}

#define WORLD_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      WORLD_TEST(test_L01_a_whole_use),
      WORLD_TEST(test_every_status_can_be_met),
      WORLD_TEST(test_L01_requests_that_are_refused),
      WORLD_TEST(test_L01_plans_out_of_bounds),
      WORLD_TEST(test_L01_tuners_that_are_refused),
      WORLD_TEST(test_L01_what_is_copied),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
