/* SPDX-License-Identifier: MIT */
#ifndef TDT_GROUP_NOTE_H
#define TDT_GROUP_NOTE_H

#include <stdbool.h>

#include <jansson.h>

#include "group/talk.h"

/* The note of a rank that leaves; see talk.h. */

/* `first` is the round with which the tuning began that the rank leaves. NULL: out of memory.
 * free() it. */
char *tdt__note_write(const char *who, const char *reason, uint64_t first);

/* One that needs no memory, for a rank that has none. */
enum { TDT__NOTE_PLAIN_SIZE = 128 };
void tdt__note_write_plain(char note[TDT__NOTE_PLAIN_SIZE], uint64_t first);

tdt_status tdt__note_post(const tdt_group *group, uint64_t round, const char *note,
                          tdt_error *error);

/* One that comes too late to tell why. */
void tdt__note_write_late(char note[TDT__NOTE_PLAIN_SIZE], uint64_t first);

/* Whether a message is one. */
bool tdt__note_is(const json_t *message);

/* Whether it was written a short while ago, by the clocks of the machines, and leaves the tuning
 * that is under way or one inside of it, not an earlier one. */
bool tdt__note_counts(const json_t *note, const tdt_group *group);

/* What to tell of the note of that rank. NULL: out of memory. free() it. */
char *tdt__note_text(const json_t *note, const tdt_group *group, unsigned rank);

#endif
