/* SPDX-License-Identifier: MIT */
#ifndef TDT_BASE_TEXT_H
#define TDT_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * A text that grows. A failed allocation sticks: later additions do nothing and tdt__text_take()
 * returns NULL, so a caller checks once, at the end.
 */
typedef struct tdt__text {
  char *data; /* NUL-terminated once anything was added; NULL before */
  size_t size;
  size_t capacity;
  bool failed;
} tdt__text;

#define TDT__TEXT_INIT                                                                             \
  { NULL, 0, 0, false }

void tdt__text_add(tdt__text *text, const char *piece);
void tdt__text_add_bytes(tdt__text *text, const void *bytes, size_t size);
void tdt__text_format(tdt__text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Hands the text over (free() it; "" if nothing was added) and empties the buffer; NULL if any
 * addition failed. */
char *tdt__text_take(tdt__text *text);

void tdt__text_free(tdt__text *text);

/*
 * One sentence: in `small` if it fits, else in a new allocation; where there is no memory for that,
 * in `small`, cut short. Returns where it is: free() it if that is not `small`.
 */
char *tdt__text_vformat(char *small, size_t small_size, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

#endif
