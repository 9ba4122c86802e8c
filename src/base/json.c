/* SPDX-License-Identifier: MIT */
#include "base/json.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"

/* NUL characters (as \u0000) are legal in strings of a configuration; two fields of one name are
 * not, as nobody could say which of them counts. */
enum { READ_FLAGS = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL };
enum { WRITE_FLAGS = JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY };

tdt_status tdt__json_object(const char *text, size_t size, const char *what, json_t **object,
                            tdt_error *error) {
  json_error_t cause;
  json_t *value = json_loadb(text, size, READ_FLAGS, &cause);
  if (value == NULL) {
    if (json_error_code(&cause) == json_error_out_of_memory) {
      return tdt__fail_memory(error);
    }
    return tdt__fail(error, TDT_EINVAL, "%s is no JSON object: %s, at line %d, column %d", what,
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
  if (json_dump_callback(value, add_piece, &text, WRITE_FLAGS) != 0) {
    tdt__text_free(&text);
    return NULL;
  }
  return tdt__text_take(&text);
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
