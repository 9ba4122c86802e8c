/* SPDX-License-Identifier: MIT */
/* L03: every allocation of a whole resolve fails once, and from some allocation on all fail. */
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"
#include "rig.h"

/* Thousands of records are written: none has to outlive a power cut. */
int __wrap_fsync(int file);
int __wrap_fsync(int file) {
  (void)file;
  return 0;
}

static void ignore_line(void *user, tdt_log_level level, const char *message) {
  (void)user;
  (void)level;
  assert_true(message[0] != '\0');
}

static int setup(void **state) {
  int failed = rig_setup(state);
  if (failed == 0) {
    rig *r = *state;
    r->request.log.write = ignore_line; /* the rig's own log allocates */
  }
  return failed;
}

/* One way through resolve: what the world is before, and how it may end when memory lasts. */
typedef struct road {
  const char *name;
  void (*prepare)(rig *r);
  tdt_status expected;
  size_t winner;
} road;

static void prepare_nothing(rig *r) {
  rig_offer(r, 3, (const int[]){3, 1, 2});
}

static void prepare_stored(rig *r) {
  prepare_nothing(r);
  (void)rig_resolve(r, r->request.key);
  rig_restart(r);
}

static void prepare_update(rig *r) {
  rig_offer(r, 3, (const int[]){5, 2, 3});
  (void)rig_resolve(r, r->request.key);
  rig_offer(r, 3, (const int[]){3, 1, 2});
}

static void prepare_other_rule(rig *r) {
  r->request.prune_rule = "old rule";
  prepare_stored(r);
  r->request.prune_rule = "new rule";
}

static void prepare_failures(rig *r) {
  prepare_nothing(r);
  for (size_t i = 0; i < 3; i++) {
    r->candidates[i].fails = "a reason that is long enough to need memory of its own, so that it "
                             "does not fit into what an error holds by itself. It goes on and on, "
                             "as the messages of compilers do, about registers, shared memory and "
                             "threads, until nobody reads it any more.";
  }
}

static void prepare_first(rig *r) {
  prepare_nothing(r);
  r->settings.on_miss = TDT_ON_MISS_FIRST;
}

static void prepare_stop(rig *r) {
  prepare_nothing(r);
  r->stop_at = 20;
}

static void restore(rig *r) {
  r->settings.on_miss = TDT_ON_MISS_TUNE;
  r->stop_at = 0;
  r->plan = NULL;
  for (size_t i = 0; i < 3; i++) {
    r->candidates[i].fails = NULL;
  }
}

static tdt_plan plan;

static void prepare_race(rig *r) {
  plan = tdt_plan_race();
  r->plan = &plan;
  rig_offer(r, 3, (const int[]){3, 1, 2});
  r->candidates[2].cost_ms = 1.01;
}

static void prepare_careful(rig *r) {
  plan = tdt_plan_careful();
  plan.n_most = 30;
  plan.tie = 0.0;
  r->plan = &plan;
  rig_offer(r, 3, (const int[]){3, 1, 2});
  r->candidates[2].cost_ms = 1.0001;
}

/* Whatever happened, the key can be resolved by whoever comes next. */
static void assert_nothing_lost(rig *r, const char *key) {
  restore(r);
  rig_restart(r);
  assert_int_equal(rig_resolve(r, key).candidate, 1);
  tdt_record *record = rig_record(r, key);
  assert_non_null(record);
  assert_true(tdt_record_complete(record));
  tdt_record_destroy(record);
}

static tdt_status attempt(rig *r, const road *way, long at, bool from_then_on, bool *reached) {
  const tdt_choice untouched = {77, TDT_ORIGIN_FIRST, false};
  tdt_choice choice = untouched;
  tdt_error error = TDT_ERROR_INIT;
  size_t candidate = TDT_NONE;
  rig_reset_counters(r);
  memory_arm(at, from_then_on);
  tdt_status status = tdt_tuner_resolve(r->tuner, &r->request, &choice, &error);
  *reached = memory_disarm();
  bool remembered = tdt_tuner_lookup(r->tuner, r->request.key, strlen(r->request.key), &candidate);
  if (status == TDT_OK) {
    assert_int_equal(choice.candidate, way->winner);
    assert_true(remembered);
    assert_int_equal(candidate, way->winner);
  } else {
    if (status != TDT_ENOMEM && status != way->expected) {
      fail_msg("%s, allocation %ld: %s: %s", way->name, at, tdt_status_name(status),
               tdt_error_text(&error));
    }
    assert_int_equal(error.code, status);
    assert_int_equal(choice.candidate, untouched.candidate);
    assert_int_equal(choice.origin, untouched.origin);
    assert_false(remembered);
  }
  tdt_error_clear(&error);
  return status;
}

static void walk(rig *r, const road *way, bool from_then_on) {
  static unsigned n_keys;
  const long step = from_then_on ? 7 : 1;
  unsigned n_refused = 0;
  tdt_status status = TDT_OK;
  long at = 1 - step;
  bool reached;
  do {
    char key[32];
    at += step;
    (void)snprintf(key, sizeof key, "k%u", n_keys++);
    r->request.key = key;
    way->prepare(r);
    status = attempt(r, way, at, from_then_on, &reached);
    n_refused += status == TDT_ENOMEM ? 1 : 0;
    assert_nothing_lost(r, key);
  } while (reached);
  assert_int_equal(status, way->expected); /* the last one had all it asked for */
  assert_true(n_refused > 0);
}

static void test_L03_resolve(void **state) {
  const road roads[] = {
      {"first tuning", prepare_nothing, TDT_OK, 1},
      {"stored answer", prepare_stored, TDT_OK, 1},
      {"update of a record", prepare_update, TDT_OK, 1},
      {"another pruning rule", prepare_other_rule, TDT_OK, 1},
      {"all fail", prepare_failures, TDT_EFAILED, TDT_NONE},
      {"candidate 0 by settings", prepare_first, TDT_OK, 0},
      {"race", prepare_race, TDT_OK, 1},
      {"careful", prepare_careful, TDT_OK, 1},
      {"stopped", prepare_stop, TDT_ESTOPPED, TDT_NONE},
  };
  rig *r = *state;
  for (size_t i = 0; i < N_OF(roads); i++) {
    walk(r, &roads[i], false);
    walk(r, &roads[i], true);
  }
}

static tdt_status create_all(tdt_error *error) {
  const char *const configs[] = {"{\"c\":0}", "{\"c\":1}"};
  const tdt_function function = {.name = "scale", .module = "ops"};
  tdt_context *context = NULL;
  tdt_space *space = NULL;
  tdt_tuner *tuner = NULL;
  tdt_device device = {0};
  tdt_status status = tdt_context_create(&context, error);
  if (status == TDT_OK) {
    status = tdt_space_create(configs, 2, &space, error);
  }
  if (status == TDT_OK) {
    status = tdt_tuner_create(context, &function, space, NULL, &tuner, error);
  }
  if (status == TDT_OK) {
    status = tdt_device_host_create(&device, error);
  }
  if (status == TDT_OK) {
    status = device.table->reserve(device.self, 8, error);
  }
  tdt_device_host_destroy(&device);
  tdt_tuner_destroy(tuner);
  tdt_space_destroy(space);
  tdt_context_destroy(context);
  return status;
}

static void test_L03_creation(void **state) {
  (void)state;
  long at = 0;
  tdt_status status;
  do {
    tdt_error error = TDT_ERROR_INIT;
    memory_arm(++at, false);
    status = create_all(&error);
    (void)memory_disarm();
    assert_true(status == TDT_OK || status == TDT_ENOMEM);
    assert_int_equal(error.code, status);
    tdt_error_clear(&error);
  } while (status != TDT_OK);
  assert_true(at > 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_L03_resolve, setup, rig_teardown),
      cmocka_unit_test(test_L03_creation),
  };
  memory_give_to_jansson();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
