/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "model/record.h"

/* An installation that could not tell a version is the same as no other, not even as itself. */
static bool is_unknown(const json_t *value) {
  return json_is_string(value) && strcmp(json_string_value(value), "unknown") == 0;
}

static bool same_value(const json_t *recorded, const json_t *current) {
  return recorded != NULL && current != NULL && json_equal(recorded, current) &&
         !is_unknown(recorded);
}

/* Texts plain, everything else as JSON. */
static void add_value(tdt__text *text, const json_t *value, const char *if_missing) {
  if (value == NULL) {
    tdt__text_add(text, if_missing);
    return;
  }
  if (json_is_string(value)) {
    tdt__text_add(text, json_string_value(value));
    return;
  }
  tdt__json_add(text, value);
}

static void compare_field(tdt__text *text, const char *name, const json_t *recorded,
                          const json_t *current) {
  if (same_value(recorded, current)) {
    return;
  }
  if (text->size > 0) {
    tdt__text_add(text, "; ");
  }
  tdt__text_format(text, "%s ", name);
  add_value(text, recorded, "not recorded");
  tdt__text_add(text, ", now ");
  add_value(text, current, "missing");
}

static void compare_all(tdt__text *text, json_t *recorded, json_t *current) {
  const char *name;
  json_t *value;
  json_object_foreach(recorded, name, value) {
    compare_field(text, name, value, json_object_get(current, name));
  }
  json_object_foreach(current, name, value) {
    if (json_object_get(recorded, name) == NULL) {
      compare_field(text, name, NULL, value);
    }
  }
}

static tdt_status parse(const char *text, const char *what, json_t **object, tdt_error *error) {
  const char *given = text != NULL ? text : "{}";
  return tdt__json_object(given, strlen(given), what, object, error);
}

tdt_status tdt__dependencies_compare(const char *recorded, const char *current, bool *same,
                                     char **text, tdt_error *error) {
  json_t *before = NULL;
  json_t *now = NULL;
  tdt_status status = parse(recorded, "the list of recorded dependencies", &before, error);
  if (status != TDT_OK) {
    return status;
  }
  status = parse(current, "the list of dependencies", &now, error);
  if (status != TDT_OK) {
    json_decref(before);
    return status;
  }
  tdt__text differences = TDT__TEXT_INIT;
  compare_all(&differences, before, now);
  json_decref(before);
  json_decref(now);

  char *made = tdt__text_take(&differences);
  if (made == NULL) {
    return tdt__fail_memory(error);
  }
  *same = made[0] == '\0';
  *text = made;
  return TDT_OK;
}
