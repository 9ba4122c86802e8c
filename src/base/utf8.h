/* SPDX-License-Identifier: MIT */
#ifndef TDT_BASE_UTF8_H
#define TDT_BASE_UTF8_H

#include <stddef.h>

/* How many of the first `size` bytes are whole, valid UTF-8 characters before the first that is
 * not. Equal to `size`: all are. */
size_t tdt__utf8_prefix(const char *text, size_t size);

/* Number of characters (code points) in valid UTF-8. */
size_t tdt__utf8_length(const char *text);

/* Where character number `n` of a text with at least as many starts, in bytes. */
size_t tdt__utf8_offset(const char *text, size_t n);

/* A copy in which every byte that is no UTF-8 is a "?". NULL: out of memory. free() it. */
char *tdt__utf8_copy(const char *text);

#endif
