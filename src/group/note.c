/* SPDX-License-Identifier: MIT */
#include "group/note.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/utf8.h"
#include "group/names.h"
#include "group/rounds.h"

char *tdt__note_write(const char *who, const char *reason, uint64_t first) {
  char *whose = tdt__utf8_copy(who);
  char *why = tdt__utf8_copy(reason);
  json_t *note = NULL;
  char *text = NULL;
  if (whose != NULL && why != NULL) {
    note = json_pack("{s:s, s:s, s:I, s:I}", "note", why, "who", whose, "time",
                     (json_int_t)time(NULL), "first", (json_int_t)first);
  }
  if (note != NULL) {
    text = tdt__json_text(note);
  }
  json_decref(note);
  free(why);
  free(whose);
  return text;
}

static void write_short(char note[TDT__NOTE_PLAIN_SIZE], const char *reason, uint64_t first) {
  (void)snprintf(note, TDT__NOTE_PLAIN_SIZE, "{\"note\":\"%s\",\"time\":%lld,\"first\":%llu}",
                 reason, (long long)time(NULL), (unsigned long long)first);
}

void tdt__note_write_plain(char note[TDT__NOTE_PLAIN_SIZE], uint64_t first) {
  write_short(note, "out of memory", first);
}

void tdt__note_write_late(char note[TDT__NOTE_PLAIN_SIZE], uint64_t first) {
  write_short(note, "it could not say why", first);
}

tdt_status tdt__note_post(const tdt_group *group, uint64_t round, const char *note,
                          tdt_error *error) {
  return group->table->post(group->self, round, note, strlen(note), error);
}

bool tdt__note_is(const json_t *message) {
  return json_is_string(json_object_get(message, "note"));
}

bool tdt__note_counts(const json_t *note, const tdt_group *group) {
  const json_int_t age_s = time(NULL) - json_integer_value(json_object_get(note, "time"));
  const json_t *first = json_object_get(note, "first");
  const bool earlier = json_is_integer(first) &&
                       (uint64_t)json_integer_value(first) < tdt__rounds_first(group->rounds);
  return age_s < TDT__NOTE_FRESH_S && !earlier;
}

char *tdt__note_text(const json_t *note, const tdt_group *group, unsigned rank) {
  const char *reason = json_string_value(json_object_get(note, "note"));
  const char *who = json_string_value(json_object_get(note, "who"));
  tdt__text text = TDT__TEXT_INIT;
  tdt__text_format(&text, "rank %u gave up", tdt__rank_number(group, rank));
  if (who != NULL && who[0] != '\0') {
    tdt__text_add(&text, " at ");
    tdt__text_add(&text, who);
  }
  tdt__text_add(&text, ": ");
  tdt__text_add(&text, reason != NULL ? reason : "");
  return tdt__text_take(&text);
}
