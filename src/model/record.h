/* SPDX-License-Identifier: MIT */
#ifndef TDT_MODEL_RECORD_H
#define TDT_MODEL_RECORD_H

#include <stdbool.h>

#include <tdtune/plan.h>
#include <tdtune/record.h>

#include "base/clock.h"
#include "model/timing.h"

typedef struct tdt__entry {
  char *config; /* owned, canonical JSON text */
  tdt__timing timing;
} tdt__entry;

/* Owns everything in it. Changed only by whoever makes it, before anybody else sees it. */
struct tdt_record {
  tdt_identity identity; /* an owning copy */
  char *dependencies;    /* canonical JSON text of an object */
  char *clock;
  char *prune_rule; /* "" where there is none */
  unsigned n_ranks;
  char *plan_name;
  unsigned n_warmup;
  unsigned n_repeat;
  tdt_statistic statistic;
  tdt__entry *entries;
  size_t n_entries;
  size_t best; /* index into entries or TDT_NONE */
  bool complete;
  char created[TDT__DATE_SIZE];
};

/* An empty record with room for `n_entries` entries, every text "", {} or NULL (config). */
tdt_status tdt__record_create(size_t n_entries, tdt_record **record, tdt_error *error);

/* *text (free() it) names the fields that differ, with both values: "torch 2.12.0, now 2.13.0";
 * a field that only one side has, or that is "unknown", differs. *same tells if none does. */
tdt_status tdt__dependencies_compare(const char *recorded, const char *current, bool *same,
                                     char **text, tdt_error *error);

#endif
