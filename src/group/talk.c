/* SPDX-License-Identifier: MIT */
#include "group/talk.h"

#include <stdlib.h>

#include "base/error.h"
#include "group/names.h"
#include "group/note.h"
#include "group/rounds.h"

void tdt__talk_begin(tdt__talk *talk, const tdt_group *group) {
  *talk = (tdt__talk){
      .group = group,
      .who = "",
      .n_failed = tdt__rounds_n_failed(group->rounds),
  };
}

bool tdt__talk_stands(const tdt__talk *talk) {
  return !talk->over && tdt__rounds_n_failed(talk->group->rounds) == talk->n_failed;
}

tdt_status tdt__talk_check(tdt__talk *talk, tdt_error *error) {
  if (talk->over) {
    return tdt__fail(error, TDT_EGROUP, "%s: the ranks no longer talk", talk->who);
  }
  if (tdt__rounds_n_failed(talk->group->rounds) != talk->n_failed) {
    talk->over = true; /* as on every other rank */
    return tdt__fail(error, TDT_EGROUP,
                     "%s: the ranks could not agree in a tuning inside of this one, and so this "
                     "one ends as well",
                     talk->who);
  }
  return TDT_OK;
}

tdt_status tdt__talk_fail(tdt__talk *talk, const char *text, tdt_error *error) {
  talk->over = true;
  tdt__rounds_fail(talk->group->rounds);
  return tdt__fail(error, TDT_EGROUP, "%s", text);
}

/* The rank's message of that round is a note. */
static tdt_status post_note(const tdt_group *group, uint64_t round, const char *who,
                            const char *reason, tdt_error *error) {
  const uint64_t first = tdt__rounds_first(group->rounds);
  char plain[TDT__NOTE_PLAIN_SIZE];
  char *note = tdt__note_write(who, reason, first);
  if (note == NULL) {
    tdt__note_write_plain(plain, first);
  }
  tdt_status status = tdt__note_post(group, round, note != NULL ? note : plain, error);
  free(note);
  if (status != TDT_OK) {
    *tdt__rounds_owed(group->rounds) = (tdt__owed){round, first};
  }
  return status;
}

tdt_status tdt__talk_pay(const tdt_group *group, tdt_error *error) {
  tdt__owed *owed = tdt__rounds_owed(group->rounds);
  if (owed->round == 0) {
    return TDT_OK;
  }
  char note[TDT__NOTE_PLAIN_SIZE];
  tdt__note_write_late(note, owed->first);
  tdt_status status = tdt__note_post(group, owed->round, note, error);
  if (status == TDT_ENOMEM) {
    return status;
  }
  *owed = (tdt__owed){0}; /* what fails for another reason may have arrived after all */
  return TDT_OK;
}

void tdt__talk_leave(tdt__talk *talk, const char *reason) {
  /* Where a tuning inside of this one failed the others go as well, without another round. */
  if (!tdt__talk_stands(talk)) {
    talk->over = true;
    return;
  }
  const tdt_group *group = talk->group;
  talk->over = true;
  tdt__rounds_fail(group->rounds);
  if (tdt__talk_pay(group, NULL) != TDT_OK) {
    return; /* one debt at a time */
  }
  const uint64_t round = talk->round != 0 ? talk->round : tdt__rounds_next(group->rounds);
  /* Where even this fails the others find out by waiting. */
  (void)post_note(group, round, talk->who, reason, NULL);
}

tdt_status tdt_group_withdraw(const tdt_group *group, const char *reason, tdt_error *error) {
  if (group->n_ranks == 1 || !tdt__rounds_enter(group->rounds, 0.0)) {
    return TDT_OK;
  }
  tdt_status status = tdt__talk_pay(group, error);
  if (status == TDT_OK) {
    const uint64_t round = tdt__rounds_next(group->rounds);
    tdt__rounds_fail(group->rounds);
    status = post_note(group, round, "", reason, error);
  }
  tdt__rounds_leave(group->rounds);
  return status;
}

tdt_status tdt__talk_lost(const tdt__talk *talk, const char *what, unsigned with, tdt_status status,
                          const tdt_error *told, tdt_error *error) {
  const char *reason = told->code != TDT_OK ? tdt_error_text(told) : tdt_status_text(status);
  if (status != TDT_EGROUP) {
    return tdt__fail(error, status, "%s", reason);
  }
  const unsigned me = talk->group->rank;
  const unsigned numbers[] = {tdt__rank_number(talk->group, me),
                              tdt__rank_number(talk->group, with)};
  return with == me ? tdt__fail(error, status, "%s: %s: rank %u lost touch with the others: %s",
                                talk->who, what, numbers[0], reason)
                    : tdt__fail(error, status, "%s: %s: rank %u lost touch with rank %u: %s",
                                talk->who, what, numbers[0], numbers[1], reason);
}
