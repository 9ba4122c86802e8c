/* SPDX-License-Identifier: MIT */
#include "base/table.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

bool tdt__table_create(tdt__table *table, size_t n_rows, size_t n_columns) {
  if (n_rows == 0 || n_columns == 0 || n_rows > SIZE_MAX / n_columns) {
    return false;
  }
  *table = (tdt__table){calloc(n_rows * n_columns, sizeof(char *)), n_rows, n_columns};
  return table->cells != NULL;
}

void tdt__table_clear(tdt__table *table) {
  for (size_t i = 0; i < table->n_rows * table->n_columns; i++) {
    free(table->cells[i]);
  }
  free(table->cells);
  *table = (tdt__table){0};
}

char **tdt__table_row(const tdt__table *table, size_t row) {
  return &table->cells[row * table->n_columns];
}

char *tdt__cell(const char *format, ...) {
  char small[512];
  va_list args;
  va_start(args, format);
  char *made = tdt__text_vformat(small, sizeof small, format, args);
  va_end(args);
  char *cell = made == small ? strdup(made) : made;
  for (char *at = cell; at != NULL && *at != '\0'; at++) {
    if ((unsigned char)*at < ' ') {
      *at = ' ';
    }
  }
  return cell;
}

bool tdt__cells_complete(char *const *cells, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (cells[i] == NULL) {
      return false;
    }
  }
  return true;
}

static size_t column_width(const tdt__table *table, size_t column) {
  size_t widest = 0;
  for (size_t row = 0; row < table->n_rows; row++) {
    size_t width = tdt__utf8_length(tdt__table_row(table, row)[column]);
    widest = width > widest ? width : widest;
  }
  return widest;
}

static void write_row(char *const *cells, const size_t *widths, size_t n_columns,
                      const bool *aligned_right, tdt__text *text) {
  size_t pending = 0; /* spaces that are only written if something follows them */
  for (size_t column = 0; column < n_columns; column++) {
    const char *cell = cells[column];
    size_t padding = widths[column] - tdt__utf8_length(cell);
    pending += (column > 0 ? 2 : 0) + (aligned_right[column] ? padding : 0);
    if (cell[0] != '\0') {
      tdt__text_format(text, "%*s%s", (int)pending, "", cell);
      pending = 0;
    }
    pending += aligned_right[column] ? 0 : padding;
  }
  tdt__text_add(text, "\n");
}

void tdt__table_write(const tdt__table *table, const bool *aligned_right, tdt__text *text) {
  size_t *widths = calloc(table->n_columns, sizeof *widths);
  if (widths == NULL) {
    text->failed = true;
    return;
  }
  for (size_t column = 0; column < table->n_columns; column++) {
    widths[column] = column_width(table, column);
  }
  for (size_t row = 0; row < table->n_rows; row++) {
    write_row(tdt__table_row(table, row), widths, table->n_columns, aligned_right, text);
  }
  free(widths);
}
