/* SPDX-License-Identifier: MIT */
#include "model/config_text.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"

/* A word needs no quotes to be read as one. */
static bool is_word(const json_t *value) {
  const char *word = json_string_value(value);
  return word != NULL && word[0] != '\0' && strlen(word) == json_string_length(value) &&
         strpbrk(word, " \t\r\n\"\\=") == NULL;
}

/* A value somewhere inside; the names are borrowed from the object. */
typedef struct leaf {
  char *path;       /* "cfg.kwargs.BLOCK" */
  const char *name; /* its last part, which usually says enough */
  const json_t *value;
} leaf;

typedef struct leaves {
  leaf *items;
  size_t n;
  bool failed;
} leaves;

static void free_leaves(leaves *all) {
  for (size_t i = 0; i < all->n; i++) {
    free(all->items[i].path);
  }
  free(all->items);
}

static char *join_path(const char *outer, const char *name) {
  tdt__text path = TDT__TEXT_INIT;
  tdt__text_format(&path, "%s%s%s", outer, outer[0] != '\0' ? "." : "", name);
  return tdt__text_take(&path);
}

/* Takes the path over. */
static void add_leaf(leaves *all, char *path, const char *name, const json_t *value) {
  leaf *items = realloc(all->items, (all->n + 1) * sizeof *items);
  if (items == NULL) {
    free(path);
    all->failed = true;
    return;
  }
  all->items = items;
  all->items[all->n++] = (leaf){path, name, value};
}

static bool has_type(const json_t *value) {
  return json_is_string(json_object_get(value, "type"));
}

/* What stands for the value: a tuple, a set and the like are objects that hold their items. */
static const json_t *unwrap(const json_t *value) {
  const json_t *items = has_type(value) ? json_object_get(value, "items") : NULL;
  return items != NULL ? items : value;
}

static void collect(leaves *all, const char *outer, const json_t *object) {
  const char *name;
  json_t *child;
  json_object_foreach((json_t *)object, name, child) {
    if (all->failed || (strcmp(name, "type") == 0 && has_type(object))) {
      continue; /* the type of an object tells candidates apart, but not for people */
    }
    char *path = join_path(outer, name);
    const json_t *value = unwrap(child);
    if (path == NULL) {
      all->failed = true;
    } else if (json_is_object(value) && json_object_size(value) > 0) {
      collect(all, path, value);
      free(path);
    } else {
      add_leaf(all, path, name, value);
    }
  }
}

static bool is_unique(const leaves *all, const char *name) {
  size_t n = 0;
  for (size_t i = 0; i < all->n; i++) {
    n += strcmp(all->items[i].name, name) == 0;
  }
  return n == 1;
}

static void add_value(tdt__text *text, const json_t *value) {
  if (is_word(value)) {
    tdt__text_add(text, json_string_value(value));
    return;
  }
  tdt__json_add(text, value);
}

static void add_fields(tdt__text *text, const json_t *object) {
  leaves all = {NULL, 0, false};
  collect(&all, "", object);
  for (size_t i = 0; i < all.n; i++) {
    const leaf *one = &all.items[i];
    tdt__text_add(text, i > 0 ? " " : "");
    tdt__text_format(text, "%s=", is_unique(&all, one->name) ? one->name : one->path);
    add_value(text, one->value);
  }
  text->failed = text->failed || all.failed;
  free_leaves(&all);
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
