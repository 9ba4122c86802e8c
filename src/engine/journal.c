/* SPDX-License-Identifier: MIT */
#include "engine/journal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/logger.h"
#include "base/stats.h"
#include "engine/lookup.h"
#include "engine/plan.h"
#include "group/names.h"
#include "store/directory.h"

void tdt__journal_open(tdt__journal *journal, const tdt__call *call) {
  *journal = (tdt__journal){.call = call, .text = TDT__TEXT_INIT};
}

/* A line for the text alone. */
__attribute__((format(printf, 2, 3))) static void note(tdt__journal *journal, const char *format,
                                                       ...) {
  if (journal->call->request.store == NULL) {
    return;
  }
  char date[TDT__DATE_SIZE];
  char small[512];
  va_list args;
  va_start(args, format);
  char *line = tdt__text_vformat(small, sizeof small, format, args);
  va_end(args);
  tdt__clock_date(date);
  tdt__text_format(&journal->text, "%s %s\n", date, line);
  if (line != small) {
    free(line);
  }
}

/* A line for the text and the log. */
__attribute__((format(printf, 3, 4))) static void tell(tdt__journal *journal, tdt_log_level level,
                                                       const char *format, ...) {
  char small[512];
  va_list args;
  va_start(args, format);
  char *line = tdt__text_vformat(small, sizeof small, format, args);
  va_end(args);
  note(journal, "%s", line);
  tdt__log(&journal->call->request.log, level, "%s", line);
  if (line != small) {
    free(line);
  }
}

void tdt__journal_begin(tdt__journal *journal, const tdt__slate *slate) {
  const tdt__call *call = journal->call;
  const tdt_plan *plan = &call->tuner->plan;
  char later[64] = "";
  if (tdt__plan_decides(plan)) {
    (void)snprintf(later, sizeof later, ", then at most %u of those that could win", plan->n_most);
  }
  tell(journal, TDT_LOG_INFO,
       "%s, key %s: tuning begins: %zu candidates, %zu pruned, %zu to measure; plan "
       "%s, %u warm-ups and %u timed runs%s; clock %s",
       call->identity.function.name, call->shown_key, slate->n,
       slate->n - tdt__slate_count_kept(slate), slate->n_queued, plan->name, plan->n_warmup,
       plan->n_first, later, call->device.clock);
  note(journal, "function %s.%s, source %s", call->identity.function.module,
       call->identity.function.qualname, call->identity.function.source);
  note(journal, "hardware %s", call->identity.hardware);
  note(journal, "dependencies %s", call->dependencies);
  note(journal, "device %s, rank %u of %u", call->device.id, call->group.rank, call->group.n_ranks);
  for (size_t i = 0; i < slate->n; i++) {
    if (!slate->kept[i]) {
      note(journal, "[%zu] %s: pruned", i, tdt_space_config(slate->space, i));
    }
  }
}

static void note_samples(tdt__journal *journal, const tdt__timing *timing) {
  tdt__text samples = TDT__TEXT_INIT;
  for (size_t i = 0; i < timing->n_samples; i++) {
    tdt__text_format(&samples, " %.6g", timing->samples_ms[i]);
  }
  char *text = tdt__text_take(&samples);
  if (text != NULL) {
    note(journal, "    samples in ms:%s", text);
  }
  free(text);
}

void tdt__journal_timing(tdt__journal *journal, size_t candidate, const tdt__timing *timing) {
  const tdt__call *call = journal->call;
  const char *config = tdt_space_config(call->tuner->space, candidate);
  const char *name = call->identity.function.name;
  if (timing->outcome == TDT_OUTCOME_TIMED) {
    tell(journal, TDT_LOG_INFO, "%s: [%zu] %s: %.6g ms, spread %.1f %%, %zu runs", name, candidate,
         config, timing->time_ms, 100.0 * tdt__spread(timing->samples_ms, timing->n_samples),
         timing->n_samples);
    note_samples(journal, timing);
  } else {
    tell(journal, TDT_LOG_INFO, "%s: [%zu] %s: failed: %s", name, candidate, config,
         timing->error != NULL ? timing->error : "");
  }
}

static size_t first_that_ran(const tdt__slate *slate) {
  for (size_t i = 0; i < slate->n; i++) {
    if (slate->kept[i] && tdt__slate_known(slate, i)->outcome == TDT_OUTCOME_TIMED) {
      return i;
    }
  }
  return TDT_NONE;
}

void tdt__journal_winner(tdt__journal *journal, const tdt__slate *slate, size_t winner) {
  const tdt__call *call = journal->call;
  double winner_ms = tdt__slate_known(slate, winner)->time_ms;
  size_t first = first_that_ran(slate);
  double first_ms = tdt__slate_known(slate, first)->time_ms;
  char gain[64] = "";
  if (first != winner && winner_ms > 0.0) {
    (void)snprintf(gain, sizeof gain, ", %.2f times as fast as [%zu]", first_ms / winner_ms, first);
  }
  tell(journal, TDT_LOG_INFO, "%s, key %s: winner [%zu] %s: %.6g ms%s",
       call->identity.function.name, call->shown_key, winner,
       tdt_space_config(slate->space, winner), winner_ms, gain);
}

void tdt__journal_failure(tdt__journal *journal, const tdt_error *error) {
  const tdt__call *call = journal->call;
  tell(journal, TDT_LOG_INFO, "%s, key %s: the tuning ended without a winner: %s",
       call->identity.function.name, call->shown_key, tdt_error_text(error));
}

static void make_suffix(const tdt__call *call, char *suffix, size_t size) {
  char stamp[TDT__DATE_SIZE];
  tdt__clock_stamp(stamp);
  if (call->group.n_ranks > 1) {
    (void)snprintf(suffix, size, "log-%s-rank%u", stamp,
                   tdt__rank_number(&call->group, call->group.rank));
  } else {
    (void)snprintf(suffix, size, "log-%s", stamp);
  }
}

static tdt_status save(tdt__journal *journal, tdt_error *reason) {
  const tdt__call *call = journal->call;
  char suffix[TDT__DATE_SIZE + 32];
  char *text = tdt__text_take(&journal->text);
  if (text == NULL) {
    return tdt__fail_memory(reason);
  }
  make_suffix(call, suffix, sizeof suffix);
  tdt_status status =
      tdt__store_save_beside(call->request.store, &call->identity, suffix, text, reason);
  free(text);
  return status;
}

void tdt__journal_close(tdt__journal *journal) {
  const tdt__call *call = journal->call;
  if (call->request.store == NULL) {
    return;
  }
  tdt_error reason = TDT_ERROR_INIT;
  tdt_status status = save(journal, &reason);
  if (status == TDT_ENOMEM) {
    tdt__log(&call->request.log, TDT_LOG_WARNING, "%s: the log of a tuning is lost: %s",
             call->identity.function.name, tdt_error_text(&reason));
  } else if (status != TDT_OK) {
    tdt__warn_store(call, &reason);
  }
  tdt_error_clear(&reason);
}
