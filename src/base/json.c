/* SPDX-License-Identifier: MIT */
#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"

/* NUL characters (as \u0000) are legal in strings of a configuration; two fields of one name are
 * not, as nobody could say which of them counts. */
enum { READ_FLAGS = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL };
enum { WRITE_FLAGS = JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY };

/*
 * jansson's lexer does not look whether the buffer for a token of 16 bytes or more could grow, and
 * goes on with a damaged token if not. So memory that it may need for that is asked for beforehand.
 */
static bool has_memory_for(size_t size) {
  if (size > SIZE_MAX / 8) {
    return false;
  }
  void *volatile probe = malloc(4 * size + 4096); /* volatile: or compilers leave it out */
  bool enough = probe != NULL;
  free(probe);
  return enough;
}

/* Out of memory while it makes a value, jansson fails without saying why. */
static bool lacked_memory(const json_error_t *cause) {
  return json_error_code(cause) == json_error_out_of_memory || cause->text[0] == '\0';
}

/*
 * Nor does it tell a string that it had no memory for from bad syntax. So a text that it calls bad
 * is read again: if it really is, the answer is the same, and was memory short, it now either says
 * so at once or finds nothing wrong.
 */
static bool is_bad(const char *text, size_t size, const json_error_t *cause) {
  if (lacked_memory(cause)) {
    return false;
  }
  json_error_t again = {0};
  json_t *value = json_loadb(text, size, READ_FLAGS, &again);
  json_decref(value);
  return value == NULL && !lacked_memory(&again);
}

static tdt_status parse(const char *text, size_t size, json_t **value, json_error_t *cause) {
  if (!has_memory_for(size)) {
    return TDT_ENOMEM;
  }
  json_t *made = json_loadb(text, size, READ_FLAGS, cause);
  if (made == NULL) {
    return is_bad(text, size, cause) ? TDT_EINVAL : TDT_ENOMEM;
  }
  *value = made;
  return TDT_OK;
}

tdt_status tdt__json_parse(const char *text, size_t size, json_t **value, json_error_t *cause) {
  tdt__c_locale locale;
  if (!tdt__c_locale_enter(&locale)) {
    return TDT_ENOMEM;
  }
  *cause = (json_error_t){0}; /* jansson sets what it uses, not the rest */
  tdt_status status = parse(size > 0 ? text : "", size, value, cause);
  tdt__c_locale_leave(&locale);
  return status;
}

tdt_status tdt__json_object(const char *text, size_t size, const char *what, json_t **object,
                            tdt_error *error) {
  json_error_t cause;
  json_t *value = NULL;
  tdt_status status = tdt__json_parse(text, size, &value, &cause);
  if (status == TDT_ENOMEM) {
    return tdt__fail_memory(error);
  }
  if (status != TDT_OK) {
    return tdt__fail(error, status, "%s is no JSON object: %s, at line %d, column %d", what,
                     cause.text, cause.line, cause.column);
  }
  if (!json_is_object(value)) {
    json_decref(value);
    return tdt__fail(error, TDT_EINVAL, "%s is no JSON object but an array", what);
  }
  *object = value;
  return TDT_OK;
}

static int add_piece(const char *piece, size_t size, void *text) {
  tdt__text_add_bytes(text, piece, size);
  return ((tdt__text *)text)->failed ? -1 : 0;
}

char *tdt__json_text(const json_t *value) {
  /* Not json_dumps(): what that returns may belong to an allocator of the program's choice. */
  tdt__text text = TDT__TEXT_INIT;
  tdt__c_locale locale;
  if (!tdt__c_locale_enter(&locale)) {
    return NULL;
  }
  int failed = json_dump_callback(value, add_piece, &text, WRITE_FLAGS);
  tdt__c_locale_leave(&locale);
  if (failed) {
    tdt__text_free(&text);
    return NULL;
  }
  return tdt__text_take(&text);
}

json_t *tdt__json_string(const char *text) {
  char *valid = tdt__utf8_copy(text);
  json_t *string = valid == NULL ? NULL : json_string_nocheck(valid);
  free(valid);
  return string;
}

void tdt__json_add(tdt__text *text, const json_t *value) {
  char *json = tdt__json_text(value);
  if (json == NULL) {
    text->failed = true;
    return;
  }
  tdt__text_add(text, json);
  free(json);
}

tdt_status tdt__json_canonical(const char *text, const char *what, char **canonical,
                               tdt_error *error) {
  const char *given = text != NULL ? text : "{}";
  json_t *object = NULL;
  tdt_status status = tdt__json_object(given, strlen(given), what, &object, error);
  if (status != TDT_OK) {
    return status;
  }
  char *made = tdt__json_text(object);
  json_decref(object);
  if (made == NULL) {
    return tdt__fail_memory(error);
  }
  *canonical = made;
  return TDT_OK;
}
