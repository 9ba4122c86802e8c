/* SPDX-License-Identifier: MIT */
#ifndef TDT_GROUP_NOTE_H
#define TDT_GROUP_NOTE_H

#include <stdbool.h>

#include <jansson.h>

#include "group/talk.h"

/* The note of a rank that leaves; see talk.h. */

/* `unheard` is the round whose answer the rank waited for in vain; 0: none. NULL: out of memory.
 * free() it. */
char *tdt__note_write(const char *who, const char *reason, uint64_t unheard);

/* One that needs no memory, for a rank that has none. */
enum { TDT__NOTE_PLAIN_SIZE = 96 };
void tdt__note_write_plain(char note[TDT__NOTE_PLAIN_SIZE]);

tdt_status tdt__note_post(const tdt_group *group, uint64_t round, const char *note,
                          tdt_error *error);

/* Whether a message is one. */
bool tdt__note_is(const json_t *message);

/* Whether it was written a short while ago, by the clocks of the machines. */
bool tdt__note_is_fresh(const json_t *note);

/* Whether its rank waited in vain for the answer of a round before `round`. */
bool tdt__note_is_from_before(const json_t *note, uint64_t round);

/* What to tell of the note of that rank. NULL: out of memory. free() it. */
char *tdt__note_text(const json_t *note, const tdt_group *group, unsigned rank);

#endif
