/* SPDX-License-Identifier: MIT */
#include "session_stage.h"

#include <stdio.h>
#include <stdlib.h>

/* -- the device ----------------------------------------------------------------------------------
 */

static tdt_status reserve(void *self, size_t n_marks, tdt_error *error) {
  stage *s = self;
  if (n_marks > STAGE_MARKS) {
    return tdt_error_set(error, TDT_ENOMEM, "too many marks: %zu", n_marks);
  }
  s->n_reserved = n_marks;
  return TDT_OK;
}

static tdt_status mark(void *self, size_t index, tdt_error *error) {
  stage *s = self;
  if (index >= s->n_reserved || s->ruined) {
    return tdt_error_set(error, TDT_ELAUNCH, "mark %zu cannot be set", index);
  }
  if (++s->n_mark == s->mark_fails) {
    return tdt_error_set(error, TDT_ELAUNCH, "the mark did not hold");
  }
  s->marks_ms[index] = s->now_ms;
  return TDT_OK;
}

static tdt_status elapsed_ms(void *self, size_t start, size_t stop, double *ms, tdt_error *error) {
  stage *s = self;
  s->n_waited_inside += s->in_outer ? 1 : 0;
  *ms = s->marks_ms[stop] - s->marks_ms[start];
  if (++s->n_elapsed == s->elapsed_fails) {
    if (s->elapsed_gives == 0.0) {
      return tdt_error_set(error, TDT_ELAUNCH, "the clock stood still");
    }
    *ms = s->elapsed_gives;
  }
  return TDT_OK;
}

static tdt_status synchronize(void *self, tdt_error *error) {
  stage *s = self;
  s->n_waited_inside += s->in_outer ? 1 : 0;
  return s->ruined ? tdt_error_set(error, TDT_ELAUNCH, "illegal address") : TDT_OK;
}

/* -- the kernels ---------------------------------------------------------------------------------
 */

static tdt_status launch(void *user, size_t candidate, tdt_error *error) {
  stage_act *act = user;
  stage_candidate *c = &act->candidates[candidate];
  c->n_tried++;
  act->on->now_ms += c->cost_ms;
  if (c->fails != NULL && c->n_tried >= c->from_run) {
    act->on->ruined = act->on->ruined || c->ruins;
    return tdt_error_set(error, c->status != TDT_OK ? c->status : TDT_ELAUNCH, "%s", c->fails);
  }
  c->n_ran++;
  act->n_ran++;
  act->last_ran = candidate;
  return TDT_OK;
}

tdt_status stage_launch(stage_act *act, tdt_error *error) {
  const unsigned ran_before = act->n_ran;
  /* On the stack, and gone when this returns: nothing of it may be kept. */
  const tdt_launch borrowed = {
      .size = sizeof borrowed,
      .kernel = act->kernel,
      .key = act->key,
      .space = act->space,
      .user = act,
      .launch = launch,
  };
  tdt_status status = tdt_session_launch(act->on->session, &borrowed, error);
  if (status == TDT_OK && act->n_ran != ran_before + 1) {
    return tdt_error_set(error, TDT_EIO, "a launch of %s ran %u candidates", act->kernel,
                         act->n_ran - ran_before);
  }
  return status;
}

/* -- the outer function --------------------------------------------------------------------------
 */

static bool takes_part(const stage_act *act, unsigned pass) {
  return pass >= act->from_pass && (act->to_pass == 0 || pass <= act->to_pass) &&
         (act->every == 0 || (pass - act->from_pass) % act->every == 0);
}

static tdt_status play(stage *s, stage_act *act, tdt_error *error) {
  for (unsigned i = 0; i < act->per_pass; i++) {
    s->now_ms += 100.0; /* what lies between launches is nobody's time */
    tdt_status status = stage_launch(act, error);
    if (status != TDT_OK) {
      return status;
    }
    s->n_launches++;
  }
  return TDT_OK;
}

static tdt_status play_all(stage *s, tdt_error *error) {
  tdt_status first = TDT_OK;
  for (size_t i = 0; i < s->n_acts; i++) {
    stage_act *act = &s->acts[i];
    tdt_status status = takes_part(act, s->pass) ? play(s, act, error) : TDT_OK;
    if (status != TDT_OK && !s->swallows) {
      return status;
    }
    if (first == TDT_OK) {
      first = status;
    } else {
      s->n_after_failure += status != TDT_OK ? 1 : 100;
    }
    if (s->pass == s->fail_pass) {
      return tdt_error_set(error, TDT_EFORMAT, "the outer function says no");
    }
  }
  return TDT_OK;
}

static tdt_status outer(void *user, tdt_error *error) {
  stage *s = user;
  s->pass++;
  if (s->pass > 10000) {
    return tdt_error_set(error, TDT_EIO, "it never ends");
  }
  s->in_outer = true;
  tdt_status status = play_all(s, error);
  s->in_outer = false;
  return status;
}

/* -- what is told --------------------------------------------------------------------------------
 */

static void keep_line(void *user, tdt_log_level level, const char *message) {
  stage *s = user;
  const size_t size = strlen(message);
  char *log = realloc(s->log, s->log_size + size + 2);
  (void)level;
  if (log == NULL) {
    return;
  }
  memcpy(log + s->log_size, message, size);
  memcpy(log + s->log_size + size, "\n", 2);
  s->log = log;
  s->log_size += size + 1;
}

static void keep_decided(void *user, const tdt_session_tuning *tuning) {
  stage *s = user;
  const size_t at = strlen(s->decided);
  s->n_decided++;
  (void)snprintf(s->decided + at, sizeof s->decided - at, "%s/%s=%zu@%u;", tuning->kernel,
                 tuning->key, tuning->winner, s->pass);
}

unsigned stage_count(const stage *s, const char *one, const char *other) {
  unsigned n = 0;
  const char *line = s->log;
  while (line != NULL && *line != '\0') {
    const char *end = strchr(line, '\n');
    char copy[2048];
    const size_t size = (size_t)(end - line);
    if (size < sizeof copy) {
      memcpy(copy, line, size);
      copy[size] = '\0';
      n += strstr(copy, one) != NULL && strstr(copy, other) != NULL ? 1 : 0;
    }
    line = end + 1;
  }
  return n;
}

void stage_forget_log(stage *s) {
  free(s->log);
  s->log = NULL;
  s->log_size = 0;
}

/* -- opening and running -------------------------------------------------------------------------
 */

int stage_open(stage *s) {
  memset(s, 0, sizeof *s);
  s->plan = tdt_plan_documented();
  s->plan.n_warmup = 3;
  s->plan.n_repeat = 5;
  s->table = (tdt_device_table){
      TDT_DEVICE_ABI, sizeof s->table, "scripted", reserve, mark, elapsed_ms, synchronize, NULL,
  };
  s->device = (tdt_device){&s->table, s, "scripted", "scripted:0"};
  tdt_session_options_init(&s->options);
  s->options.plan = &s->plan;
  s->options.device = &s->device;
  s->options.log = (tdt_log){keep_line, s, TDT_LOG_INFO};
  s->options.user = s;
  s->options.decided = keep_decided;
  return 0;
}

void stage_close(stage *s) {
  tdt_session_destroy(s->session);
  for (size_t i = 0; i < s->n_acts; i++) {
    tdt_space_destroy(s->acts[i].space);
  }
  tdt_error_clear(&s->error);
  free(s->log);
}

int stage_setup(void **state) {
  *state = malloc(sizeof(stage));
  return *state != NULL ? stage_open(*state) : -1;
}

int stage_teardown(void **state) {
  stage_close(*state);
  free(*state);
  return 0;
}

stage_act *stage_add(stage *s, const char *kernel, const char *key, size_t n, const double *costs) {
  stage_act *act = &s->acts[s->n_acts++];
  char texts[STAGE_CANDIDATES][32];
  const char *configs[STAGE_CANDIDATES];
  *act = (stage_act){.on = s, .kernel = kernel, .key = key, .n_candidates = n};
  act->per_pass = 1;
  act->from_pass = 1;
  for (size_t i = 0; i < n; i++) {
    act->candidates[i].cost_ms = costs[i];
    (void)snprintf(texts[i], sizeof texts[i], "{\"c\": %zu}", i);
    configs[i] = texts[i];
  }
  if (tdt_space_create(configs, n, &act->space, NULL) != TDT_OK) {
    abort();
  }
  return act;
}

tdt_status stage_run_with(stage *s, tdt_status (*function)(void *, tdt_error *)) {
  tdt_error_clear(&s->error);
  s->pass = 0;
  s->n_launches = 0;
  s->n_after_failure = 0;
  if (s->session == NULL) {
    tdt_status status = tdt_session_create(&s->options, &s->session, &s->error);
    if (status != TDT_OK) {
      return status;
    }
  }
  return tdt_session_run(s->session, function, s, &s->error);
}

tdt_status stage_run(stage *s) {
  return stage_run_with(s, outer);
}

bool stage_find(const stage *s, const stage_act *act, tdt_session_tuning *tuning) {
  for (size_t i = 0; i < tdt_session_n_tunings(s->session); i++) {
    if (tdt_session_tuning_at(s->session, i, tuning, NULL) == TDT_OK &&
        strcmp(tuning->kernel, act->kernel) == 0 && strcmp(tuning->key, act->key) == 0) {
      return true;
    }
  }
  return false;
}

void assert_run(stage *s) {
  tdt_status status = stage_run(s);
  if (status != TDT_OK) {
    fail_msg("%s: %s", tdt_status_name(status), tdt_error_text(&s->error));
  }
}

void assert_winner(const stage *s, const stage_act *act, size_t winner) {
  tdt_session_tuning tuning;
  assert_true(stage_find(s, act, &tuning));
  assert_int_equal(tuning.n_candidates, act->n_candidates);
  assert_int_equal(tuning.winner, winner);
  assert_int_equal(act->last_ran, winner); /* the last pass ran with it */
}

unsigned stage_passes(size_t n, unsigned runs, unsigned per_pass) {
  return (unsigned)(n * runs + per_pass - 1) / per_pass + 1;
}
