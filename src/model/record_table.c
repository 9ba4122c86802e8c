/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/stats.h"
#include "base/text.h"
#include "base/utf8.h"
#include "model/config_text.h"
#include "model/record.h"

/*
 *   #  configuration      mean ms  spread  runs  note
 *   0  tile=16 unroll=1    1.2345    1.2%    10
 *   1  tile=32 unroll=4    0.5340    0.8%    10  winner
 *
 * A table is text in cells, made first and laid out afterwards, when the widths are known.
 */

enum { INDEX, CONFIG, TIME, SPREAD, RUNS, NOTE, N_COLUMNS };
enum { MOST_CONFIG = 60, MOST_NOTE = 120 };

static const bool aligned_right[N_COLUMNS] = {
    [INDEX] = true, [TIME] = true, [SPREAD] = true, [RUNS] = true};

typedef struct row {
  char *cells[N_COLUMNS];
} row;

typedef struct table {
  row *rows; /* the first one is the heading */
  size_t n_rows;
} table;

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

/* One cell; what would break the line becomes a space. NULL: out of memory. */
static char *make_cell(tdt__text *text) {
  char *cell = tdt__text_take(text);
  for (char *at = cell; at != NULL && *at != '\0'; at++) {
    if ((unsigned char)*at < ' ') {
      *at = ' ';
    }
  }
  return cell;
}

static char *cell_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

static char *cell_text(const char *format, ...) {
  char small[512];
  va_list args;
  va_start(args, format);
  char *made = tdt__text_vformat(small, sizeof small, format, args);
  va_end(args);
  tdt__text text = TDT__TEXT_INIT;
  tdt__text_add(&text, made);
  if (made != small) {
    free(made);
  }
  return make_cell(&text);
}

/* The first line of a reason, not longer than a terminal can show. */
static char *failure_note(const char *reason) {
  size_t size = strcspn(reason, "\r\n");
  bool long_one = size > MOST_NOTE;
  size_t kept = tdt__utf8_prefix(reason, long_one ? MOST_NOTE : size);
  return cell_text("failed: %.*s%s", (int)kept, reason, long_one ? "..." : "");
}

static char *note(const tdt_record *record, size_t index) {
  const tdt__timing *timing = &record->entries[index].timing;
  switch (timing->outcome) {
  case TDT_OUTCOME_TIMED:
    return cell_text("%s", index == record->best ? "winner" : "");
  case TDT_OUTCOME_FAILED:
    return failure_note(timing->error != NULL ? timing->error : "");
  case TDT_OUTCOME_PRUNED:
    return cell_text("pruned");
  case TDT_OUTCOME_UNKNOWN:
    break;
  }
  return cell_text("not measured");
}

static char *config_cell(const tdt__entry *entry) {
  char *config = tdt__config_text(entry->config != NULL ? entry->config : "{}", MOST_CONFIG);
  if (config == NULL) {
    return NULL;
  }
  char *cell = cell_text("%s", config);
  free(config);
  return cell;
}

static bool fill_row(row *cells, const tdt_record *record, size_t index, int decimals) {
  const tdt__entry *entry = &record->entries[index];
  const tdt__timing *timing = &entry->timing;
  bool timed = took_part(entry);
  cells->cells[INDEX] = cell_text("%zu", index);
  cells->cells[CONFIG] = config_cell(entry);
  cells->cells[TIME] = timed ? cell_text("%.*f", decimals, timing->time_ms) : cell_text("-");
  cells->cells[SPREAD] =
      timed ? cell_text("%.1f%%", 100.0 * tdt__spread(timing->samples_ms, timing->n_samples))
            : cell_text("-");
  cells->cells[RUNS] = cell_text("%zu", timing->n_samples);
  cells->cells[NOTE] = note(record, index);
  for (size_t i = 0; i < N_COLUMNS; i++) {
    if (cells->cells[i] == NULL) {
      return false;
    }
  }
  return true;
}

static bool fill_heading(row *heading, const tdt_record *record) {
  const char *const names[N_COLUMNS] = {
      [INDEX] = "#",
      [CONFIG] = "configuration",
      [TIME] = record->statistic == TDT_STATISTIC_MEDIAN ? "median ms" : "mean ms",
      [SPREAD] = "spread",
      [RUNS] = "runs",
      [NOTE] = "note",
  };
  for (size_t i = 0; i < N_COLUMNS; i++) {
    heading->cells[i] = strdup(names[i]);
    if (heading->cells[i] == NULL) {
      return false;
    }
  }
  return true;
}

/* On failure, `made` holds what there is so far. */
static bool fill_table(table *made, const tdt_record *record) {
  made->rows = calloc(record->n_entries + 1, sizeof *made->rows);
  if (made->rows == NULL) {
    return false;
  }
  made->n_rows = record->n_entries + 1;
  int decimals = count_decimals(record);
  bool filled = fill_heading(&made->rows[0], record);
  for (size_t i = 0; filled && i < record->n_entries; i++) {
    filled = fill_row(&made->rows[i + 1], record, i, decimals);
  }
  return filled;
}

static void clear_table(table *made) {
  for (size_t i = 0; i < made->n_rows; i++) {
    for (size_t column = 0; column < N_COLUMNS; column++) {
      free(made->rows[i].cells[column]);
    }
  }
  free(made->rows);
}

static void measure_columns(const table *made, size_t widths[N_COLUMNS]) {
  for (size_t column = 0; column < N_COLUMNS; column++) {
    widths[column] = 0;
    for (size_t i = 0; i < made->n_rows; i++) {
      size_t width = tdt__utf8_length(made->rows[i].cells[column]);
      widths[column] = width > widths[column] ? width : widths[column];
    }
  }
}

static void add_spaces(tdt__text *text, size_t n) {
  tdt__text_format(text, "%*s", (int)n, "");
}

static void add_row(tdt__text *text, const row *cells, const size_t widths[N_COLUMNS]) {
  size_t pending = 0; /* spaces that are only written if something follows them */
  for (size_t column = 0; column < N_COLUMNS; column++) {
    const char *cell = cells->cells[column];
    size_t padding = widths[column] - tdt__utf8_length(cell);
    pending += (column > 0 ? 2 : 0) + (aligned_right[column] ? padding : 0);
    if (cell[0] != '\0') {
      add_spaces(text, pending);
      tdt__text_add(text, cell);
      pending = 0;
    }
    pending += aligned_right[column] ? 0 : padding;
  }
  tdt__text_add(text, "\n");
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

static void add_gain(tdt__text *text, const tdt_record *record) {
  size_t first = find_first(record);
  double best_ms = record->entries[record->best].timing.time_ms;
  double first_ms = record->entries[first].timing.time_ms;
  if (first == record->best || !(best_ms > 0.0)) {
    return;
  }
  tdt__text_format(text, ", %.2fx faster than the first candidate", first_ms / best_ms);
  if (first != 0) {
    tdt__text_format(text, " that ran (%zu)", first);
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
  table made = {0};
  tdt__text lines = TDT__TEXT_INIT;
  if (fill_table(&made, record)) {
    size_t widths[N_COLUMNS];
    measure_columns(&made, widths);
    for (size_t i = 0; i < made.n_rows; i++) {
      add_row(&lines, &made.rows[i], widths);
    }
    add_summary(&lines, record);
  } else {
    lines.failed = true;
  }
  clear_table(&made);
  char *taken = tdt__text_take(&lines);
  if (taken == NULL) {
    return tdt__fail_memory(error);
  }
  *text = taken;
  return TDT_OK;
}
