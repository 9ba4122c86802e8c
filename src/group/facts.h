/* SPDX-License-Identifier: MIT */
#ifndef TDT_GROUP_FACTS_H
#define TDT_GROUP_FACTS_H

#include <stdbool.h>

#include <jansson.h>

#include <tdtune/group.h>

#include "base/text.h"

/* What has to be equal on all ranks before they go on: "key", "(64,)". Borrowed texts. */
typedef struct tdt__fact {
  const char *name;
  const char *value;
} tdt__fact;

typedef struct tdt__facts {
  const tdt__fact *list;
  size_t n;
} tdt__facts;

/* The message of one rank's part in a round: `at` says where it is, to be told to people. `data`
 * (NULL: none) is borrowed. NULL: out of memory. */
json_t *tdt__facts_message(const char *at, const tdt__fact *facts, size_t n_facts,
                           const json_t *data);

/*
 * Compares the messages of all ranks with that of rank 0. *difference is NULL where all facts are
 * equal, else a sentence that says which ranks differ in what; free() it. A different first fact
 * speaks for all others. TDT_ENOMEM.
 */
tdt_status tdt__facts_compare(const tdt_group *group, json_t *const *messages, char **difference,
                              tdt_error *error);

/* Adds where the flagged ranks are: "rank 0 is at scale, key (64,): check-in; rank 1 is at ...".
 * Messages of flagged ranks are there. TDT_ENOMEM. */
tdt_status tdt__facts_add_places(tdt__text *text, const tdt_group *group, json_t *const *messages,
                                 const bool *flags, tdt_error *error);

#endif
