/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Length of the character that `lead` begins, 0 if it can begin none; *low and *high bound its
 * second byte, which is what keeps out overlong forms, surrogates and what lies above U+10FFFF. */
static size_t character_size(uint8_t lead, uint8_t *low, uint8_t *high) {
  *low = 0x80;
  *high = 0xBF;
  if (lead < 0x80) {
    return 1;
  }
  if (lead >= 0xC2 && lead <= 0xDF) {
    return 2;
  }
  if (lead >= 0xE0 && lead <= 0xEF) {
    *low = lead == 0xE0 ? 0xA0 : 0x80;
    *high = lead == 0xED ? 0x9F : 0xBF;
    return 3;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    *low = lead == 0xF0 ? 0x90 : 0x80;
    *high = lead == 0xF4 ? 0x8F : 0xBF;
    return 4;
  }
  return 0;
}

/* Size of the valid character at the start of `bytes`, 0 if there is none. */
static size_t valid_character(const uint8_t *bytes, size_t size) {
  uint8_t low;
  uint8_t high;
  size_t length = character_size(bytes[0], &low, &high);
  if (length > size || (length > 1 && (bytes[1] < low || bytes[1] > high))) {
    return 0;
  }
  for (size_t i = 2; i < length; i++) {
    if ((bytes[i] & 0xC0) != 0x80) {
      return 0;
    }
  }
  return length;
}

size_t tdt__utf8_prefix(const char *text, size_t size) {
  const uint8_t *bytes = (const uint8_t *)text;
  size_t done = 0;
  while (done < size) {
    size_t length = valid_character(bytes + done, size - done);
    if (length == 0) {
      break;
    }
    done += length;
  }
  return done;
}

static bool starts_character(char byte) {
  return ((uint8_t)byte & 0xC0) != 0x80;
}

size_t tdt__utf8_length(const char *text) {
  size_t length = 0;
  for (const char *byte = text; *byte != '\0'; byte++) {
    length += starts_character(*byte);
  }
  return length;
}

size_t tdt__utf8_offset(const char *text, size_t n) {
  size_t offset = 0;
  for (size_t seen = 0; text[offset] != '\0'; offset++) {
    if (starts_character(text[offset]) && seen++ == n) {
      break;
    }
  }
  return offset;
}

char *tdt__utf8_copy(const char *text) {
  size_t size = strlen(text);
  char *copy = malloc(size + 1);
  if (copy == NULL) {
    return NULL;
  }
  memcpy(copy, text, size + 1);
  for (size_t at = tdt__utf8_prefix(copy, size); at < size;
       at += tdt__utf8_prefix(copy + at, size - at)) {
    copy[at] = '?';
  }
  return copy;
}
