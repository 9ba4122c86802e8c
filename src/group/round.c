/* SPDX-License-Identifier: MIT */
#include "group/round.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "group/lead.h"
#include "group/message.h"
#include "group/names.h"
#include "group/note.h"
#include "group/patience.h"
#include "group/rounds.h"

enum { MOST_FACTS = 16 };

/* This rank's message. NULL: out of memory. */
static json_t *write_message(const tdt__talk *talk, const tdt__round *round) {
  tdt__fact facts[MOST_FACTS] = {{"step", round->what}};
  tdt__text at = TDT__TEXT_INIT;
  tdt__text_format(&at, "%s: %s", talk->who, round->what);
  char *where = tdt__text_take(&at);
  size_t n = 1;
  for (size_t i = 0; i < round->facts.n && n < MOST_FACTS; i++) {
    facts[n++] = round->facts.list[i];
  }
  json_t *message = where == NULL ? NULL : tdt__facts_message(where, facts, n, round->data);
  free(where);
  return message;
}

static tdt_status post(tdt__talk *talk, const char *what, const json_t *message, tdt_error *error) {
  const tdt_group *group = talk->group;
  tdt_error told = TDT_ERROR_INIT;
  char *text = tdt__json_text(message);
  if (text == NULL) {
    return tdt__fail_memory(error);
  }
  tdt_status status = group->table->post(group->self, talk->round, text, strlen(text), &told);
  if (status != TDT_OK) {
    status = tdt__talk_lost(talk, what, 0, status, &told, error);
  }
  tdt_error_clear(&told);
  free(text);
  return status;
}

/* -- a rank other than 0 -------------------------------------------------------------------------
 */

/* Whom rank 0 waits for, if it has said so; else rank 0. NULL: out of memory. */
static char *whom(const tdt__talk *talk, uint64_t number) {
  const tdt_group *group = talk->group;
  tdt_message hint = {0};
  tdt__text text = TDT__TEXT_INIT;
  (void)group->table->take(group->self, number | TDT__HINT_ROUND, 0, 0.0, &hint, NULL);
  if (hint.bytes != NULL) {
    tdt__text_add(&text, hint.bytes);
  } else {
    tdt__text_format(&text, "rank %u", tdt__rank_number(group, 0));
  }
  tdt__message_clear(&hint);
  return tdt__text_take(&text);
}

/* Nothing came in a slice. */
static tdt_status be_patient(tdt__patience *patience, uint64_t number, tdt_error *error) {
  if (!tdt__patience_is_over(patience) && !tdt__patience_wants_notice(patience)) {
    return tdt__patience_poll(patience, error);
  }
  char *names = whom(patience->talk, number);
  if (names == NULL) {
    return tdt__fail_memory(error);
  }
  tdt_status status = TDT_OK;
  if (tdt__patience_is_over(patience)) {
    status = tdt__patience_give_up(patience, names, error);
  } else {
    tdt__patience_notice(patience, names);
  }
  free(names);
  return status == TDT_OK ? tdt__patience_poll(patience, error) : status;
}

/* Waits for rank 0's answer. It may itself be waiting, and its word is better than ours: so it
 * gets a little longer. */
static tdt_status hear(tdt__talk *talk, const char *what, uint64_t number, tdt_message *message,
                       tdt_error *error) {
  const tdt_group *group = talk->group;
  tdt__patience patience;
  tdt__patience_begin(&patience, talk, what);
  patience.timeout_s += TDT__SLICE_S + (talk->timeout_s < 50.0 ? 0.1 * talk->timeout_s : 5.0);
  for (;;) {
    tdt_error told = TDT_ERROR_INIT;
    tdt_status status = group->table->take(group->self, number, 0, TDT__SLICE_S, message, &told);
    if (status != TDT_OK) {
      status = tdt__talk_lost(talk, what, 0, status, &told, error);
    }
    tdt_error_clear(&told);
    if (status != TDT_OK || message->bytes != NULL) {
      return status;
    }
    status = be_patient(&patience, number, error);
    if (status != TDT_OK) {
      return status;
    }
  }
}

static tdt_status take_note(tdt__talk *talk, const json_t *note, tdt_error *error) {
  char *text = tdt__note_text(note, talk->group, 0);
  if (text == NULL) {
    return tdt__fail_memory(error);
  }
  tdt_status status = tdt__talk_fail(talk, text, error);
  free(text);
  return status;
}

/* *answer stays NULL where the round is to be skipped. */
static tdt_status read_answer(tdt__talk *talk, const json_t *message, json_t **answer,
                              tdt_error *error) {
  const char *failed = json_string_value(json_object_get(message, "failed"));
  json_t *ok = json_object_get(message, "ok");
  if (failed != NULL) {
    return tdt__talk_fail(talk, failed, error);
  }
  if (tdt__note_is(message) && tdt__note_counts(message, talk->group)) {
    return take_note(talk, message, error);
  }
  *answer = ok != NULL ? json_incref(ok) : NULL;
  return TDT_OK;
}

static tdt_status follow_once(tdt__talk *talk, const char *what, const json_t *mine,
                              json_t **answer, tdt_error *error) {
  const uint64_t number = tdt__rounds_next(talk->group->rounds);
  tdt_message message = {0};
  json_t *heard = NULL;
  talk->round = number;
  tdt_status status = post(talk, what, mine, error);
  if (status != TDT_OK) {
    return status;
  }
  talk->round = 0;
  status = hear(talk, what, number, &message, error);
  if (status == TDT_OK) {
    status = tdt__message_read(&message, tdt__rank_number(talk->group, 0), &heard, error);
  }
  if (status == TDT_OK) {
    status = read_answer(talk, heard, answer, error);
  }
  json_decref(heard);
  tdt__message_clear(&message);
  return status;
}

/* -- rank 0 --------------------------------------------------------------------------------------
 */

/* What was found goes to all, and with it the talk goes on or ends. */
static tdt_status announce(tdt__talk *talk, const tdt__lead *lead, tdt_error *error) {
  json_t *message = lead->skip ? json_pack("{s:b}", "skip", 1)
                    : lead->failure != NULL
                        ? json_pack("{s:o}", "failed", tdt__json_string(lead->failure))
                        : json_pack("{s:O}", "ok", lead->answer);
  if (message == NULL) {
    return tdt__fail_memory(error);
  }
  tdt_status status = post(talk, lead->round->what, message, error);
  json_decref(message);
  return status;
}

static tdt_status lead_once(tdt__talk *talk, const tdt__round *round, json_t *mine, json_t **answer,
                            tdt_error *error) {
  tdt__lead lead;
  talk->round = tdt__rounds_next(talk->group->rounds);
  tdt_status status = tdt__lead_open(&lead, talk, round, mine, error);
  if (status != TDT_OK) {
    return status;
  }
  status = tdt__lead_find(&lead, error);
  if (status == TDT_OK) {
    status = announce(talk, &lead, error);
  }
  if (status == TDT_OK) {
    talk->round = 0;
    if (lead.failure != NULL) {
      status = tdt__talk_fail(talk, lead.failure, error);
    } else if (!lead.skip) {
      *answer = json_incref(lead.answer);
    }
  }
  tdt__lead_close(&lead);
  return status;
}

/* -- both ----------------------------------------------------------------------------------------
 */

tdt_status tdt__round_hold(tdt__talk *talk, const tdt__round *round, json_t **answer,
                           tdt_error *error) {
  tdt_status status = tdt__talk_check(talk, error);
  if (status != TDT_OK) {
    return status;
  }
  status = tdt__talk_pay(talk->group, error);
  if (status != TDT_OK) {
    return status;
  }
  json_t *mine = write_message(talk, round);
  json_t *found = NULL;
  if (mine == NULL) {
    return tdt__fail_memory(error);
  }
  while (status == TDT_OK && found == NULL) { /* more than once where a round is skipped */
    status = talk->group->rank == 0 ? lead_once(talk, round, mine, &found, error)
                                    : follow_once(talk, round->what, mine, &found, error);
  }
  json_decref(mine);
  if (status == TDT_OK && answer != NULL) {
    *answer = found;
  } else {
    json_decref(found);
  }
  return status;
}
