/* SPDX-License-Identifier: MIT */
#include "store/record_scope.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"

tdt_status tdt__scope_wrong(const tdt__scope *in, const char *name, const char *why) {
  (void)tdt__fail(in->error, TDT_EFORMAT, "%s: %s%s: %s", in->source, in->place, name, why);
  return TDT_EFORMAT; /* in so many words, for analysers */
}

const json_t *tdt__scope_field(const tdt__scope *in, const char *name) {
  return json_object_get(in->object, name);
}

tdt_status tdt__scope_text(const tdt__scope *in, const char *name, const char **text) {
  const json_t *value = tdt__scope_field(in, name);
  if (!json_is_string(value)) {
    return tdt__scope_wrong(in, name, "a text is expected");
  }
  const char *found = json_string_value(value);
  if (strlen(found) != json_string_length(value)) {
    return tdt__scope_wrong(in, name, "a NUL character stands in the text");
  }
  *text = found;
  return TDT_OK;
}

tdt_status tdt__scope_owned(const tdt__scope *in, const char *name, char **owned) {
  const char *text = NULL;
  tdt_status status = tdt__scope_text(in, name, &text);
  if (status != TDT_OK) {
    return status;
  }
  char *copy = strdup(text);
  if (copy == NULL) {
    return tdt__fail_memory(in->error);
  }
  free(*owned);
  *owned = copy;
  return TDT_OK;
}

tdt_status tdt__scope_count(const tdt__scope *in, const char *name, unsigned least,
                            unsigned *count) {
  const json_t *value = tdt__scope_field(in, name);
  json_int_t number = json_integer_value(value);
  if (!json_is_integer(value) || number < (json_int_t)least || number > (json_int_t)UINT_MAX) {
    return tdt__scope_wrong(in, name,
                            least == 0 ? "a count is expected" : "a count from 1 on is expected");
  }
  *count = (unsigned)number;
  return TDT_OK;
}

tdt_status tdt__scope_object(const tdt__scope *in, const char *name, tdt__scope *inner) {
  const json_t *value = tdt__scope_field(in, name);
  if (!json_is_object(value)) {
    return tdt__scope_wrong(in, name, "an object is expected");
  }
  *inner = (tdt__scope){in->source, in->error, value, {0}};
  (void)snprintf(inner->place, sizeof inner->place, "%s.", name);
  return TDT_OK;
}

tdt_status tdt__scope_canonical(const tdt__scope *in, const char *name, char **owned) {
  tdt__scope inner;
  tdt_status status = tdt__scope_object(in, name, &inner);
  if (status != TDT_OK) {
    return status;
  }
  char *text = tdt__json_text(inner.object);
  if (text == NULL) {
    return tdt__fail_memory(in->error);
  }
  free(*owned);
  *owned = text;
  return TDT_OK;
}
