/* SPDX-License-Identifier: MIT */
#include "group/lead.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "group/message.h"
#include "group/names.h"
#include "group/note.h"
#include "group/patience.h"
#include "group/rounds.h"

enum { MOST_SWEPT = 64 }; /* ranks that are looked at between two slices */

tdt_status tdt__lead_open(tdt__lead *lead, tdt__talk *talk, const tdt__round *round, json_t *mine,
                          tdt_error *error) {
  const unsigned n = talk->group->n_ranks;
  *lead = (tdt__lead){.talk = talk, .round = round, .n_missing = n - 1};
  lead->messages = calloc(n, sizeof(json_t *));
  lead->missing = calloc(n, sizeof *lead->missing);
  if (lead->messages == NULL || lead->missing == NULL) {
    tdt__lead_close(lead);
    return tdt__fail_memory(error);
  }
  memset(lead->missing, true, n * sizeof *lead->missing);
  lead->missing[0] = false;
  lead->messages[0] = json_incref(mine);
  return TDT_OK;
}

void tdt__lead_close(tdt__lead *lead) {
  for (unsigned rank = 0; lead->messages != NULL && rank < lead->talk->group->n_ranks; rank++) {
    json_decref(lead->messages[rank]);
  }
  free((void *)lead->messages);
  free(lead->missing);
  free(lead->failure);
  json_decref(lead->answer);
}

/* -- collecting ----------------------------------------------------------------------------------
 */

static bool is_settled(const tdt__lead *lead) {
  return lead->failure != NULL || lead->skip;
}

/* The text is the failure of all ranks. */
static tdt_status settle_failed(tdt__lead *lead, char *text, tdt_error *error) {
  if (text == NULL) {
    return tdt__fail_memory(error);
  }
  lead->failure = text;
  return TDT_OK;
}

static tdt_status keep(tdt__lead *lead, unsigned rank, json_t *message, tdt_error *error) {
  lead->messages[rank] = message;
  lead->missing[rank] = false;
  lead->n_missing--;
  if (!tdt__note_is(message)) {
    return TDT_OK;
  }
  if (!tdt__note_counts(message, lead->talk->group)) {
    lead->skip = true;
    return TDT_OK;
  }
  return settle_failed(lead, tdt__note_text(message, lead->talk->group, rank), error);
}

/* Looks for the message of one rank, for at most `slice_s`. */
static tdt_status fetch(tdt__lead *lead, unsigned rank, double slice_s, tdt_error *error) {
  const tdt_group *group = lead->talk->group;
  tdt_message message = {0};
  tdt_error told = TDT_ERROR_INIT;
  json_t *object = NULL;
  tdt_status status =
      group->table->take(group->self, lead->talk->round, rank, slice_s, &message, &told);
  if (status != TDT_OK) {
    status = tdt__talk_lost(lead->talk, lead->round->what, rank, status, &told, error);
  }
  tdt_error_clear(&told);
  if (status == TDT_OK && message.bytes != NULL) {
    status = tdt__message_read(&message, tdt__rank_number(group, rank), &object, error);
    if (status == TDT_OK) {
      status = keep(lead, rank, object, error);
    }
  }
  tdt__message_clear(&message);
  return status;
}

/* One that is not first in the line may have come, with bad news perhaps. */
static tdt_status sweep(tdt__lead *lead, tdt_error *error) {
  const unsigned n = lead->talk->group->n_ranks;
  tdt_status status = TDT_OK;
  for (unsigned i = 0; i < n && i < MOST_SWEPT && status == TDT_OK && !is_settled(lead); i++) {
    lead->swept = (lead->swept + 1) % n;
    if (lead->missing[lead->swept]) {
      status = fetch(lead, lead->swept, 0.0, error);
    }
  }
  return status;
}

/* The ranks that are missing. NULL: out of memory. */
static char *name_missing(const tdt__lead *lead) {
  tdt__text names = TDT__TEXT_INIT;
  tdt__ranks_add(&names, lead->talk->group, lead->missing);
  return tdt__text_take(&names);
}

/* Those who wait as well may want to say whom for. Nothing hangs on it. */
static void give_hint(tdt__lead *lead, const char *names) {
  const tdt_group *group = lead->talk->group;
  lead->hinted = true;
  (void)group->table->post(group->self, lead->talk->round | TDT__HINT_ROUND, names, strlen(names),
                           NULL);
}

/* Nobody waits any longer. */
static tdt_status settle_absent(tdt__lead *lead, const char *names, tdt_error *error) {
  const tdt_group *group = lead->talk->group;
  bool *there = calloc(group->n_ranks, sizeof *there);
  if (there == NULL) {
    return tdt__fail_memory(error);
  }
  for (unsigned rank = 0; rank < group->n_ranks; rank++) {
    there[rank] = !lead->missing[rank];
  }
  tdt__text text = TDT__TEXT_INIT;
  tdt__text_format(&text, "waited %g s in vain for ", lead->talk->timeout_s);
  tdt__text_add(&text, names);
  tdt__text_add(&text, "; ");
  tdt_status status = tdt__facts_add_places(&text, group, lead->messages, there, error);
  free(there);
  char *made = tdt__text_take(&text);
  if (status != TDT_OK) {
    free(made);
    return status;
  }
  return settle_failed(lead, made, error);
}

/* A slice has passed and somebody is still missing. */
static tdt_status be_patient(tdt__lead *lead, tdt__patience *patience, tdt_error *error) {
  const bool hints = !lead->hinted && tdt__patience_waited_s(patience) >= TDT__HINT_S;
  const bool tells = tdt__patience_wants_notice(patience);
  const bool gives_up = tdt__patience_is_over(patience);
  tdt_status status = TDT_OK;
  if (hints || tells || gives_up) {
    char *names = name_missing(lead);
    if (names == NULL) {
      return tdt__fail_memory(error);
    }
    if (hints) {
      give_hint(lead, names);
    }
    if (tells) {
      tdt__patience_notice(patience, names);
    }
    if (gives_up) {
      status = settle_absent(lead, names, error);
    }
    free(names);
  }
  return status == TDT_OK ? tdt__patience_poll(patience, error) : status;
}

static tdt_status collect(tdt__lead *lead, tdt_error *error) {
  tdt__patience patience;
  tdt_status status = TDT_OK;
  unsigned next = 1;
  tdt__patience_begin(&patience, lead->talk, lead->round->what);
  while (status == TDT_OK && lead->n_missing > 0 && !is_settled(lead)) {
    while (!lead->missing[next]) {
      next++;
    }
    status = fetch(lead, next, TDT__SLICE_S, error);
    if (status == TDT_OK && lead->missing[next]) {
      status = sweep(lead, error);
      if (status == TDT_OK && lead->n_missing > 0 && !is_settled(lead)) {
        status = be_patient(lead, &patience, error);
      }
    }
  }
  return status;
}

/* -- judging -------------------------------------------------------------------------------------
 */

static tdt_status judge(tdt__lead *lead, tdt_error *error) {
  const tdt_group *group = lead->talk->group;
  const tdt__round *round = lead->round;
  if (round->judge == NULL) {
    lead->answer = json_object();
    return lead->answer != NULL ? TDT_OK : tdt__fail_memory(error);
  }
  const json_t **data = calloc(group->n_ranks, sizeof *data);
  if (data == NULL) {
    return tdt__fail_memory(error);
  }
  for (unsigned rank = 0; rank < group->n_ranks; rank++) {
    data[rank] = json_object_get(lead->messages[rank], "data");
  }
  tdt_status status = round->judge(round->user, group, data, &lead->answer, error);
  free((void *)data);
  return status;
}

tdt_status tdt__lead_find(tdt__lead *lead, tdt_error *error) {
  tdt_status status = collect(lead, error);
  if (status != TDT_OK || is_settled(lead)) {
    return status;
  }
  status = tdt__facts_compare(lead->talk->group, lead->messages, &lead->failure, error);
  if (status != TDT_OK || is_settled(lead)) {
    return status;
  }
  return judge(lead, error);
}
