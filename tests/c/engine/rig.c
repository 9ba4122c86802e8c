/* SPDX-License-Identifier: MIT */
#include "rig.h"

#include <stdio.h>
#include <stdlib.h>

#include "scratch.h"

static tdt_status reserve(void *self, size_t n_marks, tdt_error *error) {
  rig *r = self;
  r->calls.reserve++;
  return n_marks <= N_OF(r->marks_ms) ? TDT_OK : tdt_error_set(error, TDT_ENOMEM, "too many marks");
}

static tdt_status mark(void *self, size_t index, tdt_error *error) {
  rig *r = self;
  r->calls.mark++;
  if (r->mark_fails != NULL) {
    return tdt_error_set(error, TDT_ELAUNCH, "%s", r->mark_fails);
  }
  assert_true(index < N_OF(r->marks_ms));
  r->marks_ms[index] = r->now_ms;
  return TDT_OK;
}

static void waited(rig *r) {
  if (r->n_queued > r->n_max_queued) {
    r->n_max_queued = r->n_queued;
  }
  r->n_queued = 0;
}

static tdt_status elapsed_ms(void *self, size_t start, size_t stop, double *ms, tdt_error *error) {
  rig *r = self;
  r->calls.elapsed++;
  waited(r);
  if (r->elapsed_fails != NULL) {
    return tdt_error_set(error, TDT_ELAUNCH, "%s", r->elapsed_fails);
  }
  *ms = r->marks_ms[stop] - r->marks_ms[start];
  return TDT_OK;
}

static tdt_status synchronize(void *self, tdt_error *error) {
  rig *r = self;
  r->calls.synchronize++;
  waited(r);
  if (r->ruined) {
    return tdt_error_set(error, TDT_EDEVICE, "illegal address was met");
  }
  if (r->synchronize_fails_once) {
    r->synchronize_fails_once = false;
    return tdt_error_set(error, TDT_ELAUNCH, "late failure");
  }
  return TDT_OK;
}

static tdt_status capturing(void *self, bool *is_capturing, tdt_error *error) {
  rig *r = self;
  (void)error;
  r->calls.capturing++;
  *is_capturing = r->is_capturing;
  return TDT_OK;
}

static tdt_status delay(void *self, double ms, tdt_error *error) {
  rig *r = self;
  r->calls.delay++;
  r->delay_ms = ms;
  if (r->delay_fails != NULL) {
    return tdt_error_set(error, TDT_EIO, "%s", r->delay_fails);
  }
  return TDT_OK;
}

tdt_status rig_launch(rig *r, size_t candidate, tdt_error *error) {
  rig_candidate *c = &r->candidates[candidate];
  assert_true(r->n_launched < N_OF(r->order));
  r->order[r->n_launched++] = candidate;
  r->n_queued++;
  c->n_launched++;
  if (r->n_launched == r->stop_at) {
    return tdt_error_set(error, TDT_ESTOPPED, "the user pressed a key");
  }
  r->now_ms += c->cost_ms;
  if (c->fails != NULL && c->n_launched >= c->from_run) {
    r->ruined = c->ruins;
    tdt_status status = c->status != TDT_OK ? c->status : TDT_ELAUNCH;
    return c->fails[0] != '\0' ? tdt_error_set(error, status, "%s", c->fails) : status;
  }
  return TDT_OK;
}

static tdt_status launch(void *user, size_t candidate, tdt_error *error) {
  return rig_launch(user, candidate, error);
}

static tdt_status prune(void *user, size_t candidate, bool *keep, tdt_error *error) {
  rig *r = user;
  (void)error;
  assert_int_equal(r->n_launched, 0);
  r->candidates[candidate].n_prune_asked++;
  *keep = !r->candidates[candidate].pruned;
  return TDT_OK;
}

static void discard(void *user, size_t candidate) {
  rig *r = user;
  r->candidates[candidate].n_discarded++;
}

static void progress(void *user, const tdt_progress *news) {
  rig *r = user;
  r->n_progress++;
  r->last_progress = *news;
}

static void write_log(void *user, tdt_log_level level, const char *message) {
  rig *r = user;
  size_t size = strlen(message);
  r->log = realloc(r->log, r->log_size + size + 4);
  assert_non_null(r->log);
  r->log_size += (size_t)sprintf(r->log + r->log_size, "%c %s\n", "DIW"[level], message);
  r->n_warnings += level == TDT_LOG_WARNING ? 1 : 0;
}

static void make_request(rig *r) {
  tdt_request_init(&r->request);
  r->request.store = r->store;
  r->request.settings = &r->settings;
  r->request.device = &r->device;
  r->request.user = r;
  r->request.launch = launch;
  r->request.prune = prune;
  r->request.discard = discard;
  r->request.progress = progress;
  r->request.log = (tdt_log){.write = write_log, .user = r, .least = TDT_LOG_DEBUG};
}

int rig_setup(void **state) {
  rig *r = calloc(1, sizeof *r);
  if (r == NULL) {
    return -1;
  }
  if (!scratch_make(r->root, sizeof r->root) || tdt_context_create(&r->context, NULL) != TDT_OK ||
      tdt_store_open(r->root, &r->store, NULL) != TDT_OK) {
    return -1;
  }
  r->settings = tdt_settings_default();
  r->table = (tdt_device_table){TDT_DEVICE_ABI, sizeof r->table, "scripted", reserve, mark,
                                elapsed_ms,     synchronize,     capturing,  delay};
  r->device = (tdt_device){&r->table, r, "scripted", "scripted:0"};
  make_request(r);
  rig_offer(r, 3, (const int[]){3, 1, 2});
  *state = r;
  return 0;
}

int rig_teardown(void **state) {
  rig *r = *state;
  tdt_tuner_destroy(r->tuner);
  tdt_space_destroy(r->space);
  tdt_store_close(r->store);
  tdt_context_destroy(r->context);
  (void)scratch_clear(r->root);
  free(r->log);
  free(r);
  (void)rig_fail(NULL, NULL, TDT_OK);
  return 0;
}

static void make_tuner(rig *r) {
  const tdt_function function = {.name = "scale", .module = "ops", .source = "abc"};
  tdt_tuner_destroy(r->tuner);
  r->tuner = NULL;
  assert_int_equal(tdt_tuner_create(r->context, &function, r->space, r->plan, &r->tuner, NULL),
                   TDT_OK);
}

void rig_offer(rig *r, size_t n, const int *values) {
  char texts[RIG_MOST][32];
  const char *configs[RIG_MOST];
  memset(r->candidates, 0, sizeof r->candidates);
  r->n_candidates = n;
  for (size_t i = 0; i < n; i++) {
    (void)snprintf(texts[i], sizeof texts[i], "{\"c\":%d}", values[i]);
    configs[i] = texts[i];
    r->candidates[i].cost_ms = values[i];
  }
  tdt_tuner_destroy(r->tuner);
  r->tuner = NULL;
  tdt_space_destroy(r->space);
  r->space = NULL;
  assert_int_equal(tdt_space_create(configs, n, &r->space, NULL), TDT_OK);
  make_tuner(r);
}

void rig_restart(rig *r) {
  make_tuner(r);
  rig_reset_counters(r);
}

void rig_reset_counters(rig *r) {
  for (size_t i = 0; i < r->n_candidates; i++) {
    r->candidates[i].n_launched = 0;
    r->candidates[i].n_discarded = 0;
    r->candidates[i].n_prune_asked = 0;
  }
  r->n_launched = 0;
  r->calls = (rig_calls){0};
  r->n_max_queued = 0;
  r->n_queued = 0;
  r->n_warnings = 0;
  r->n_progress = 0;
  free(r->log);
  r->log = NULL;
  r->log_size = 0;
}

tdt_choice rig_resolve(rig *r, const char *key) {
  tdt_choice choice = {0};
  tdt_error error = TDT_ERROR_INIT;
  rig_reset_counters(r);
  r->request.key = key;
  tdt_status status = tdt_tuner_resolve(r->tuner, &r->request, &choice, &error);
  if (status != TDT_OK) {
    fail_msg("%s: %s", tdt_status_name(status), tdt_error_text(&error));
  }
  assert_string_equal(tdt_error_text(&error), "");
  return choice;
}

const char *rig_fail(rig *r, const char *key, tdt_status expected) {
  static tdt_error error = TDT_ERROR_INIT;
  tdt_error_clear(&error);
  if (r == NULL) {
    return NULL;
  }
  const tdt_choice untouched = {77, TDT_ORIGIN_FIRST, true};
  tdt_choice choice = untouched;
  size_t candidate;
  rig_reset_counters(r);
  r->request.key = key;
  tdt_status status = tdt_tuner_resolve(r->tuner, &r->request, &choice, &error);
  assert_string_equal(tdt_status_name(status), tdt_status_name(expected));
  assert_int_equal(error.code, expected);
  assert_int_equal(choice.candidate, untouched.candidate);
  assert_false(tdt_tuner_lookup(r->tuner, key, strlen(key), &candidate));
  return tdt_error_text(&error);
}

tdt_identity rig_identity(const rig *r, const char *key) {
  (void)r;
  return (tdt_identity){
      .function = {.name = "scale", .module = "ops", .source = "abc"},
      .key = key,
  };
}

tdt_record *rig_record(rig *r, const char *key) {
  tdt_identity identity = rig_identity(r, key);
  tdt_record *record = NULL;
  tdt_status status = tdt_store_load(r->store, &identity, &record, NULL);
  assert_true(status == TDT_OK || status == TDT_ENOENT);
  return record;
}

size_t rig_count_files(const rig *r, const char *part) {
  char path[512];
  (void)snprintf(path, sizeof path, "%s/scale", r->root);
  return scratch_count(path, part);
}
