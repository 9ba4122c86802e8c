/* SPDX-License-Identifier: MIT */
#include "model/config_text.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"

/* One level of objects in an object is spelled out; what lies deeper stays JSON. */

/* A word needs no quotes to be read as one. */
static bool is_word(const json_t *value) {
  const char *word = json_string_value(value);
  return word != NULL && word[0] != '\0' && strlen(word) == json_string_length(value) &&
         strpbrk(word, " \t\r\n\"\\=") == NULL;
}

static void add_value(tdt__text *text, const json_t *value) {
  if (is_word(value)) {
    tdt__text_add(text, json_string_value(value));
    return;
  }
  char *json = tdt__json_text(value);
  if (json == NULL) {
    text->failed = true;
    return;
  }
  tdt__text_add(text, json);
  free(json);
}

static void add_field(tdt__text *text, const char *outer, const char *name, const json_t *value) {
  if (text->size > 0) {
    tdt__text_add(text, " ");
  }
  if (outer != NULL) {
    tdt__text_format(text, "%s.", outer);
  }
  tdt__text_format(text, "%s=", name);
  add_value(text, value);
}

static void add_fields(tdt__text *text, json_t *object) {
  const char *name;
  json_t *value;
  json_object_foreach(object, name, value) {
    if (!json_is_object(value) || json_object_size(value) == 0) {
      add_field(text, NULL, name, value);
      continue;
    }
    const char *inner_name;
    json_t *inner;
    json_object_foreach(value, inner_name, inner) {
      add_field(text, name, inner_name, inner);
    }
  }
}

/* Drops what is beyond `most` characters, and says so in the last three of them. */
static void cut(char *text, size_t most) {
  static const char dots[] = "...";
  if (tdt__utf8_length(text) <= most || most < strlen(dots)) {
    return;
  }
  memcpy(text + tdt__utf8_offset(text, most - strlen(dots)), dots, sizeof dots);
}

char *tdt__config_text(const char *config, size_t most) {
  tdt__text text = TDT__TEXT_INIT;
  json_t *object = NULL;
  tdt_status status = tdt__json_object(config, strlen(config), "", &object, NULL);
  if (status == TDT_ENOMEM) {
    return NULL;
  }
  if (status == TDT_OK && json_object_size(object) > 0) {
    add_fields(&text, object);
  } else {
    tdt__text_add(&text, config);
  }
  if (status == TDT_OK) {
    json_decref(object);
  }
  char *made = tdt__text_take(&text);
  if (made != NULL) {
    cut(made, most);
  }
  return made;
}
