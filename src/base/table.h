/* SPDX-License-Identifier: MIT */
#ifndef TDT_BASE_TABLE_H
#define TDT_BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

/* A table of text: cells are made first and laid out afterwards, when the widths are known. */
typedef struct tdt__table {
  char **cells; /* owned, row by row; NULL until one is put there */
  size_t n_rows;
  size_t n_columns;
} tdt__table;

/* With at least one row and column. False: out of memory, and nothing to clear. */
bool tdt__table_create(tdt__table *table, size_t n_rows, size_t n_columns);
void tdt__table_clear(tdt__table *table);

/* The cells of a row, to be filled by the caller. */
char **tdt__table_row(const tdt__table *table, size_t row);

/* A cell's text; what would break its line becomes a space. NULL: out of memory. */
char *tdt__cell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether none of n cells is missing for want of memory. */
bool tdt__cells_complete(char *const *cells, size_t n);

/* A line for each row, its columns two spaces apart and aligned, without spaces at the end. Every
 * cell must be there. */
void tdt__table_write(const tdt__table *table, const bool *aligned_right, tdt__text *text);

#endif
