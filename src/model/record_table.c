/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/stats.h"
#include "base/table.h"
#include "base/text.h"
#include "base/utf8.h"
#include "model/config_text.h"
#include "model/record.h"

/*
 *   #  configuration      mean ms  spread  runs  note
 *   0  tile=16 unroll=1    1.2345    1.2%    10
 *   1  tile=32 unroll=4    0.5340    0.8%    10  winner
 *   winner: 1 (tile=32 unroll=4), 2.31 times as fast as the first candidate
 */

enum { INDEX, CONFIG, TIME, SPREAD, RUNS, NOTE, N_COLUMNS };
enum { MOST_CONFIG = 100, MOST_NOTE = 120 };

static const bool aligned_right[N_COLUMNS] = {
    [INDEX] = true, [TIME] = true, [SPREAD] = true, [RUNS] = true};

static bool took_part(const tdt__entry *entry) {
  return entry->timing.outcome == TDT_OUTCOME_TIMED;
}

/* Digits behind the point, so that the shortest time still shows four that mean something. */
static int count_decimals(const tdt_record *record) {
  double shortest = 1.0;
  for (size_t i = 0; i < record->n_entries; i++) {
    const tdt__timing *timing = &record->entries[i].timing;
    if (took_part(&record->entries[i]) && timing->time_ms > 0.0 && timing->time_ms < shortest) {
      shortest = timing->time_ms;
    }
  }
  int decimals = 3;
  while (shortest < 1.0 && decimals < 9) {
    shortest *= 10.0;
    decimals++;
  }
  return decimals;
}

/* The first line of a reason, not longer than a terminal can show. */
static char *failure_note(const char *reason) {
  size_t size = strcspn(reason, "\r\n");
  bool long_one = size > MOST_NOTE;
  size_t kept = tdt__utf8_prefix(reason, long_one ? MOST_NOTE : size);
  return tdt__cell("failed: %.*s%s", (int)kept, reason, long_one ? "..." : "");
}

static char *note(const tdt_record *record, size_t index) {
  const tdt__timing *timing = &record->entries[index].timing;
  switch (timing->outcome) {
  case TDT_OUTCOME_TIMED:
    return tdt__cell("%s", index == record->best ? "winner" : "");
  case TDT_OUTCOME_FAILED:
    return failure_note(timing->error != NULL ? timing->error : "");
  case TDT_OUTCOME_PRUNED:
    return tdt__cell("pruned");
  case TDT_OUTCOME_UNKNOWN:
    break;
  }
  return tdt__cell("not measured");
}

static char *config_cell(const tdt__entry *entry) {
  char *config = tdt__config_text(entry->config != NULL ? entry->config : "{}", MOST_CONFIG);
  if (config == NULL) {
    return NULL;
  }
  char *cell = tdt__cell("%s", config);
  free(config);
  return cell;
}

static bool fill_row(char **cells, const tdt_record *record, size_t index, int decimals) {
  const tdt__entry *entry = &record->entries[index];
  const tdt__timing *timing = &entry->timing;
  bool timed = took_part(entry);
  double spread = timed ? tdt__spread(timing->samples_ms, timing->n_samples) : 0.0;
  cells[INDEX] = tdt__cell("%zu", index);
  cells[CONFIG] = config_cell(entry);
  cells[TIME] = timed ? tdt__cell("%.*f", decimals, timing->time_ms) : tdt__cell("-");
  cells[SPREAD] = timed ? tdt__cell("%.1f%%", 100.0 * spread) : tdt__cell("-");
  cells[RUNS] = tdt__cell("%zu", timing->n_samples);
  cells[NOTE] = note(record, index);
  return tdt__cells_complete(cells, N_COLUMNS);
}

static bool fill_heading(char **cells, const tdt_record *record) {
  bool median = record->statistic == TDT_STATISTIC_MEDIAN;
  cells[INDEX] = tdt__cell("#");
  cells[CONFIG] = tdt__cell("configuration");
  cells[TIME] = tdt__cell("%s", median ? "median ms" : "mean ms");
  cells[SPREAD] = tdt__cell("spread");
  cells[RUNS] = tdt__cell("runs");
  cells[NOTE] = tdt__cell("note");
  return tdt__cells_complete(cells, N_COLUMNS);
}

static bool fill_table(tdt__table *table, const tdt_record *record) {
  int decimals = count_decimals(record);
  bool filled = fill_heading(tdt__table_row(table, 0), record);
  for (size_t i = 0; filled && i < record->n_entries; i++) {
    filled = fill_row(tdt__table_row(table, i + 1), record, i, decimals);
  }
  return filled;
}

/* The first candidate that has a time, TDT_NONE if none has. */
static size_t find_first(const tdt_record *record) {
  for (size_t i = 0; i < record->n_entries; i++) {
    if (took_part(&record->entries[i])) {
      return i;
    }
  }
  return TDT_NONE;
}

static double deviation_ms(const tdt_record *record, size_t index) {
  const tdt__timing *timing = &record->entries[index].timing;
  return tdt__spread(timing->samples_ms, timing->n_samples) * timing->time_ms;
}

static void add_gain(tdt__text *text, const tdt_record *record) {
  size_t first = find_first(record);
  double best_ms = record->entries[record->best].timing.time_ms;
  double first_ms = record->entries[first].timing.time_ms;
  if (first == record->best || !(best_ms > 0.0)) {
    return;
  }
  tdt__text_format(text, ", %.2f times as fast as the first candidate", first_ms / best_ms);
  if (first != 0) {
    tdt__text_format(text, " that ran (%zu)", first);
  }
  if (first_ms - best_ms < deviation_ms(record, first) + deviation_ms(record, record->best)) {
    tdt__text_add(text, "; that is less than their times spread");
  }
}

static void add_summary(tdt__text *text, const tdt_record *record) {
  if (record->best >= record->n_entries || !took_part(&record->entries[record->best])) {
    tdt__text_add(text, record->complete ? "no winner: no candidate could run\n"
                                         : "no winner: the tuning did not get that far\n");
    return;
  }
  char *config = config_cell(&record->entries[record->best]);
  if (config == NULL) {
    text->failed = true;
    return;
  }
  tdt__text_format(text, "winner: %zu (%s)", record->best, config);
  free(config);
  add_gain(text, record);
  tdt__text_add(text, "\n");
}

tdt_status tdt_record_table(const tdt_record *record, char **text, tdt_error *error) {
  tdt__table table;
  if (!tdt__table_create(&table, record->n_entries + 1, N_COLUMNS)) {
    return tdt__fail_memory(error);
  }
  tdt__text lines = TDT__TEXT_INIT;
  if (fill_table(&table, record)) {
    tdt__table_write(&table, aligned_right, &lines);
    add_summary(&lines, record);
  } else {
    lines.failed = true;
  }
  tdt__table_clear(&table);
  char *taken = tdt__text_take(&lines);
  if (taken == NULL) {
    return tdt__fail_memory(error);
  }
  *text = taken;
  return TDT_OK;
}
