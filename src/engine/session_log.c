/* SPDX-License-Identifier: MIT */
#include "engine/session_log.h"

#include <ctype.h>
#include <stdlib.h>

#include "base/logger.h"
#include "base/text.h"

/* A line of name=value fields. */
typedef struct line {
  const tdt_log *log;
  bool wanted;
  tdt__text text;
} line;

static line begin(const tdt_session *session, const char *event) {
  const tdt_log *log = &session->log;
  line made = {log, log->write != NULL && log->least <= TDT_LOG_INFO, TDT__TEXT_INIT};
  if (made.wanted) {
    tdt__text_format(&made.text, "event=%s", event);
  }
  return made;
}

static void end(line *made) {
  if (made->wanted) {
    char *text = tdt__text_take(&made->text);
    tdt__log(made->log, TDT_LOG_INFO, "%s", text != NULL ? text : "event=lost error=memory");
    free(text);
  }
}

static bool is_plain(const char *value) {
  if (*value == '\0') {
    return false;
  }
  for (const char *at = value; *at != '\0'; at++) {
    if (*at == '"' || *at == '=' || *at == '\\' || isspace((unsigned char)*at)) {
      return false;
    }
  }
  return true;
}

/* In quotes unless it is one plain word, so that a line can be taken apart again. */
static void add_text(line *made, const char *name, const char *value) {
  if (!made->wanted) {
    return;
  }
  tdt__text_format(&made->text, " %s=", name);
  if (is_plain(value)) {
    tdt__text_add(&made->text, value);
    return;
  }
  tdt__text_add(&made->text, "\"");
  for (const char *at = value; *at != '\0'; at++) {
    if (*at == '\n') {
      tdt__text_add(&made->text, "\\n");
      continue;
    }
    if (*at == '"' || *at == '\\') {
      tdt__text_add(&made->text, "\\");
    }
    tdt__text_add_bytes(&made->text, at, 1);
  }
  tdt__text_add(&made->text, "\"");
}

static void add_count(line *made, const char *name, size_t count) {
  if (made->wanted) {
    tdt__text_format(&made->text, " %s=%zu", name, count);
  }
}

static void add_ms(line *made, const char *name, double ms) {
  if (made->wanted) {
    tdt__text_format(&made->text, " %s=%.6g", name, ms);
  }
}

static void add_site(line *made, const tdt__site *site) {
  add_text(made, "kernel", site->kernel);
  add_text(made, "key", site->key);
}

static const char *statistic_name(const tdt_session *session) {
  return session->plan.statistic == TDT_STATISTIC_MEDIAN ? "median_ms" : "mean_ms";
}

static const char *round_name(tdt__step_kind kind) {
  switch (kind) {
  case TDT__STEP_WARMUP:
    return "warmup";
  case TDT__STEP_TIMED:
    return "timed";
  default:
    return "spare";
  }
}

void tdt__session_log_found(const tdt_session *session, const tdt__site *site) {
  line made = begin(session, "found");
  add_site(&made, site);
  add_count(&made, "candidates", site->n_trials);
  end(&made);
}

void tdt__session_log_run(const tdt_session *session, const tdt__run *run) {
  static const char *const events[] = {
      [TDT__RUN_DONE] = "run",
      [TDT__RUN_FAILED] = "failed",
      [TDT__RUN_STAND_IN] = "stand-in",
  };
  line made = begin(session, events[run->kind]);
  add_site(&made, run->site);
  add_count(&made, "config", run->candidate);
  if (run->slot.candidate != run->candidate) {
    add_count(&made, "instead_of", run->slot.candidate);
  }
  add_text(&made, "round", round_name(run->slot.kind));
  add_count(&made, "run", run->slot.run);
  if (run->ms >= 0.0) {
    add_ms(&made, "ms", run->ms);
  }
  const char *reason = run->site->trials[run->candidate].timing.error;
  if (run->kind == TDT__RUN_FAILED && reason != NULL) {
    add_text(&made, "error", reason);
  }
  end(&made);
}

void tdt__session_log_dropped(const tdt_session *session, const tdt__site *site, size_t candidate,
                              const char *reason) {
  line made = begin(session, "dropped");
  add_site(&made, site);
  add_count(&made, "config", candidate);
  add_text(&made, "error", reason);
  end(&made);
}

void tdt__session_log_mean(const tdt_session *session, const tdt__site *site, size_t candidate) {
  const tdt__timing *timing = &site->trials[candidate].timing;
  line made = begin(session, "mean");
  add_site(&made, site);
  add_count(&made, "config", candidate);
  if (timing->outcome == TDT_OUTCOME_TIMED) {
    add_ms(&made, statistic_name(session), timing->time_ms);
  }
  add_count(&made, "runs", timing->n_samples);
  end(&made);
}

void tdt__session_log_best(const tdt_session *session, const tdt__site *site) {
  const tdt__trial *best = &site->trials[site->winner];
  size_t n_failed = 0;
  for (size_t i = 0; i < site->n_trials; i++) {
    n_failed += site->trials[i].dropped ? 1 : 0;
  }
  line made = begin(session, "best");
  add_site(&made, site);
  add_count(&made, "config", site->winner);
  add_ms(&made, statistic_name(session), best->timing.time_ms);
  add_count(&made, "candidates", site->n_trials);
  add_count(&made, "failed", n_failed);
  add_text(&made, "description", best->config);
  end(&made);
}

void tdt__session_log_pass(const tdt_session *session, tdt_status status, const tdt_error *error) {
  line made = begin(session, "pass");
  add_count(&made, "pass", session->n_passes);
  add_count(&made, "open", tdt__sites_count_open(&session->sites));
  add_text(&made, "status", tdt_status_name(status));
  if (status != TDT_OK) {
    add_text(&made, "error", tdt_error_text(error));
  }
  end(&made);
}
