/* SPDX-License-Identifier: MIT */
#include "engine/tuning.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/text.h"
#include "engine/agree.h"
#include "engine/callback.h"
#include "engine/journal.h"
#include "engine/lookup.h"
#include "engine/measure.h"
#include "engine/prepare.h"
#include "engine/result.h"
#include "engine/select.h"
#include "group/talk.h"

/* How this ends is the same on all ranks: there is nothing to tell them. */
static void end_talk(const tdt__call *call) {
  if (call->talk != NULL) {
    call->talk->over = true;
  }
}

/* Every candidate is asked about before anything is measured. */
static tdt_status prune(const tdt__call *call, tdt__slate *slate, tdt_error *error) {
  for (size_t i = 0; i < slate->n; i++) {
    bool keep = true;
    tdt_status status = tdt__call_prune(call, i, &keep, error);
    if (status != TDT_OK) {
      return status;
    }
    slate->kept[i] = keep;
  }
  return TDT_OK;
}

static tdt_status check_kept(const tdt__call *call, const tdt__slate *slate, tdt_error *error) {
  if (tdt__slate_count_kept(slate) > 0) {
    return TDT_OK;
  }
  end_talk(call);
  return tdt__fail(error, TDT_EPRUNED, "%s: all %zu candidates were pruned for key %s",
                   call->identity.function.name, slate->n, call->shown_key);
}

/* Moves what the schedule found into the slate. What it did not finish stays as it was known. */
static void collect(tdt__schedule *schedule, tdt__slate *slate) {
  for (size_t i = 0; i < slate->n_queued; i++) {
    if (tdt__schedule_timing(schedule, i)->outcome != TDT_OUTCOME_UNKNOWN) {
      slate->level[slate->queue[i]] = tdt__schedule_level(schedule, i);
      tdt__schedule_take(schedule, i, &slate->timings[slate->queue[i]]);
    }
  }
}

static tdt_status measure(tdt__flight *flight, tdt__slate *slate, tdt__journal *journal,
                          tdt_error *error) {
  tdt__schedule *schedule;
  tdt_status status = tdt__prepare(flight->call, slate, error);
  if (status != TDT_OK || slate->n_queued == 0) {
    return status;
  }
  status = tdt__schedule_create(&flight->call->tuner->plan, slate->queue, slate->n_queued,
                                &schedule, error);
  if (status != TDT_OK) {
    return status;
  }
  status = tdt__measure(flight, slate, schedule, journal, error);
  collect(schedule, slate);
  tdt__schedule_destroy(schedule);
  return status;
}

/* One line for each candidate that failed. */
static char *list_failures(const tdt__slate *slate, size_t *n_failed) {
  tdt__text lines = TDT__TEXT_INIT;
  *n_failed = 0;
  for (size_t i = 0; i < slate->n; i++) {
    const tdt__timing *timing = tdt__slate_known(slate, i);
    if (slate->kept[i] && timing->outcome == TDT_OUTCOME_FAILED) {
      *n_failed += 1;
      tdt__text_format(&lines, "\n  [%zu] %s: ", i, tdt_space_config(slate->space, i));
      tdt__text_add(&lines, timing->error != NULL ? timing->error : "");
    }
  }
  return tdt__text_take(&lines);
}

static tdt_status fail_all(const tdt__call *call, const tdt__slate *slate, tdt_error *error) {
  size_t n_failed;
  char *lines = list_failures(slate, &n_failed);
  if (lines == NULL) {
    return tdt__fail_memory(error);
  }
  end_talk(call);
  (void)tdt__fail(error, TDT_EFAILED, "%s for %s, key %s: %zu failed, %zu pruned:%s",
                  tdt_status_text(TDT_EFAILED), call->identity.function.name, call->shown_key,
                  n_failed, slate->n - tdt__slate_count_kept(slate), lines);
  free(lines);
  return TDT_EFAILED;
}

static tdt_status finish(tdt__flight *flight, const tdt__slate *slate, size_t winner,
                         tdt_choice *choice, tdt_error *error) {
  tdt_status status = TDT_OK;
  if (flight->call->talk != NULL) {
    status = tdt__agree_winner(flight->call, slate, winner, error);
  }
  if (status == TDT_OK && flight->writes) {
    status = tdt__result_save(flight->call, slate, winner, true, error);
  }
  if (status == TDT_OK) {
    status = tdt__flight_remember(flight, winner, error);
  }
  if (status == TDT_OK) {
    tdt_origin origin = slate->n_queued > 0 ? TDT_ORIGIN_TUNED : TDT_ORIGIN_STORED;
    *choice = (tdt_choice){winner, origin, true};
  }
  return status;
}

static bool has_news(const tdt__slate *slate) {
  for (size_t i = 0; i < slate->n; i++) {
    if (slate->timings[i].outcome != TDT_OUTCOME_UNKNOWN) {
      return true;
    }
  }
  return false;
}

static bool store_has_whole(const tdt__call *call) {
  tdt_record *record;
  if (call->request.store == NULL ||
      tdt_store_load(call->request.store, &call->identity, &record, NULL) != TDT_OK) {
    return false;
  }
  bool whole = tdt_record_complete(record);
  tdt_record_destroy(record);
  return whole;
}

/*
 * Keeps what was measured before a stop. The winner so far is noted only where it was compared with
 * the recorded one; a first tuning that was cut short has none. Whoever was told to ignore the
 * store does not put half a result in the place of a whole one. Of several ranks each knows only
 * its own times, which are no result of theirs together: nothing is kept.
 */
static void keep_part(const tdt__call *call, const tdt__slate *slate) {
  if (call->talk != NULL || !has_news(slate) ||
      (call->settings.always_tune && store_has_whole(call))) {
    return;
  }
  size_t winner = slate->contested ? tdt__select_winner(slate) : TDT_NONE;
  (void)tdt__result_save(call, slate, winner, false, NULL);
}

static tdt_status measure_and_agree(tdt__flight *flight, tdt__slate *slate, tdt__journal *journal,
                                    tdt_error *error) {
  tdt__journal_begin(journal, slate);
  tdt_status status = measure(flight, slate, journal, error);
  if (status == TDT_OK && flight->call->talk != NULL) {
    status = tdt__agree_times(flight->call, slate, error);
  }
  if (status == TDT_ESTOPPED) {
    keep_part(flight->call, slate);
  }
  return status;
}

static tdt_status tell_and_finish(tdt__flight *flight, const tdt__slate *slate,
                                  tdt__journal *journal, tdt_choice *choice, tdt_error *error) {
  size_t winner = tdt__select_winner(slate);
  if (winner == TDT_NONE) {
    return fail_all(flight->call, slate, error);
  }
  tdt__journal_winner(journal, slate, winner);
  return finish(flight, slate, winner, choice, error);
}

static tdt_status tune_queue(tdt__flight *flight, tdt__slate *slate, tdt_choice *choice,
                             tdt_error *error) {
  tdt__journal journal;
  tdt_error told = TDT_ERROR_INIT;
  tdt__journal_open(&journal, flight->call);
  tdt_status status = measure_and_agree(flight, slate, &journal, &told);
  if (status == TDT_OK) {
    status = tell_and_finish(flight, slate, &journal, choice, &told);
  }
  if (status != TDT_OK) {
    tdt__journal_failure(&journal, &told);
    (void)tdt__pass_on(status, &told, error);
  }
  tdt__journal_close(&journal);
  return status;
}

/* What there is to measure. */
static tdt_status find_queue(const tdt__call *call, tdt__slate *slate, tdt_error *error) {
  tdt_status status = prune(call, slate, error);
  if (status != TDT_OK) {
    return status;
  }
  tdt__select_queue(slate);
  if (call->talk != NULL) {
    status = tdt__agree_candidates(call, slate, error);
  }
  return status == TDT_OK ? check_kept(call, slate, error) : status;
}

/* The record may know all that is left after pruning. */
tdt_status tdt__tuning_measure(tdt__flight *flight, tdt__slate *slate, tdt_choice *choice,
                               tdt_error *error) {
  tdt_status status = find_queue(flight->call, slate, error);
  if (status != TDT_OK) {
    return status;
  }
  if (slate->n_queued == 0) {
    return finish(flight, slate, tdt__select_winner(slate), choice, error);
  }
  return tune_queue(flight, slate, choice, error);
}

tdt_status tdt__tuning_run(tdt__flight *flight, tdt_choice *choice, tdt_error *error) {
  tdt__slate slate;
  tdt_status status = tdt__lookup(flight->call, &slate, error);
  if (status != TDT_OK) {
    return status;
  }
  status = tdt__tuning_measure(flight, &slate, choice, error);
  tdt__slate_clear(&slate);
  return status;
}
