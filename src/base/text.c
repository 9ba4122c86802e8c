/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tdtune/identity.h>

#include "base/c_locale.h"
#include "base/utf8.h"

enum { FIRST_CAPACITY = 64 };

/* Room for `more` bytes and the NUL after them. */
static bool reserve(tdt__text *text, size_t more) {
  if (text->failed) {
    return false;
  }
  size_t capacity = text->capacity > 0 ? text->capacity : FIRST_CAPACITY;
  while (capacity - text->size <= more) {
    if (capacity > SIZE_MAX / 2) {
      text->failed = true;
      return false;
    }
    capacity *= 2;
  }
  if (capacity == text->capacity) {
    return true;
  }
  char *data = realloc(text->data, capacity);
  if (data == NULL) {
    text->failed = true;
    return false;
  }
  text->data = data;
  text->capacity = capacity;
  return true;
}

void tdt__text_add_bytes(tdt__text *text, const void *bytes, size_t size) {
  if (!reserve(text, size)) {
    return;
  }
  if (size > 0) {
    memcpy(text->data + text->size, bytes, size);
  }
  text->size += size;
  text->data[text->size] = '\0';
}

void tdt__text_add(tdt__text *text, const char *piece) {
  tdt__text_add_bytes(text, piece, strlen(piece));
}

/* vsnprintf(), with a point in figures: what is printed here goes to files, logs and programs. */
static int print(char *out, size_t size, const char *format, va_list args) {
  tdt__c_locale locale;
  bool entered = tdt__c_locale_enter(&locale);
  int printed = vsnprintf(out, size, format, args);
  if (entered) {
    tdt__c_locale_leave(&locale);
  }
  return printed;
}

void tdt__text_format(tdt__text *text, const char *format, ...) {
  char small[256];
  va_list args;
  va_start(args, format);
  int size = print(small, sizeof small, format, args);
  va_end(args);
  if (size < 0) {
    text->failed = true;
    return;
  }
  if ((size_t)size < sizeof small) {
    tdt__text_add_bytes(text, small, (size_t)size);
    return;
  }
  if (!reserve(text, (size_t)size)) {
    return;
  }
  va_start(args, format);
  (void)print(text->data + text->size, (size_t)size + 1, format, args);
  va_end(args);
  text->size += (size_t)size;
}

char *tdt__text_take(tdt__text *text) {
  tdt__text_add(text, "");
  char *data = text->data;
  if (text->failed) {
    free(data);
    data = NULL;
  }
  *text = (tdt__text)TDT__TEXT_INIT;
  return data;
}

void tdt__text_free(tdt__text *text) {
  free(text->data);
  *text = (tdt__text)TDT__TEXT_INIT;
}

/* Ends a sentence that filled `small` to the brim so that it shows, between two characters. */
static void cut_short(char *small, size_t small_size) {
  static const char dots[] = "...";
  if (small_size < sizeof dots) {
    return;
  }
  size_t kept = tdt__utf8_prefix(small, small_size - sizeof dots);
  memcpy(small + kept, dots, sizeof dots);
}

char *tdt__text_vformat(char *small, size_t small_size, const char *format, va_list args) {
  va_list again;
  va_copy(again, args);
  int size = print(small, small_size, format, args);
  char *sentence = small;
  if (size < 0) {
    small[0] = '\0';
  } else if ((size_t)size >= small_size) {
    sentence = malloc((size_t)size + 1);
    if (sentence != NULL) {
      (void)print(sentence, (size_t)size + 1, format, again);
    } else {
      cut_short(small, small_size);
      sentence = small;
    }
  }
  va_end(again);
  return sentence;
}

void tdt_text_free(char *text) {
  free(text);
}
