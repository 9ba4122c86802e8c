/* SPDX-License-Identifier: MIT */
#include "group/facts.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "group/names.h"

enum { MOST_VALUES = 4 }; /* that are listed of one fact */

static json_t *make_facts(const tdt__fact *facts, size_t n) {
  json_t *list = json_array();
  for (size_t i = 0; list != NULL && i < n; i++) {
    json_t *pair = json_array();
    if (json_array_append_new(pair, tdt__json_string(facts[i].name)) != 0 ||
        json_array_append_new(pair, tdt__json_string(facts[i].value)) != 0) {
      json_decref(pair);
      pair = NULL;
    }
    if (json_array_append_new(list, pair) != 0) {
      json_decref(list);
      list = NULL;
    }
  }
  return list;
}

json_t *tdt__facts_message(const char *at, const tdt__fact *facts, size_t n_facts,
                           const json_t *data) {
  json_t *message = json_object();
  if (json_object_set_new(message, "at", tdt__json_string(at)) != 0 ||
      json_object_set_new(message, "facts", make_facts(facts, n_facts)) != 0 ||
      (data != NULL && json_object_set_new(message, "data", json_incref((json_t *)data)) != 0)) {
    json_decref(message);
    return NULL;
  }
  return message;
}

static const char *part_of_fact(const json_t *message, size_t index, size_t part) {
  const json_t *fact = json_array_get(json_object_get(message, "facts"), index);
  const char *text = json_string_value(json_array_get(fact, part));
  return text != NULL ? text : "";
}

static const char *name_of(const json_t *message, size_t index) {
  return part_of_fact(message, index, 0);
}

/* A rank that states something else in its place differs. */
static const char *value_of(const json_t *message, size_t index, const char *name) {
  return strcmp(name_of(message, index), name) == 0 ? part_of_fact(message, index, 1) : "nothing";
}

static const char *place_of(const json_t *message) {
  const char *at = json_string_value(json_object_get(message, "at"));
  return at != NULL ? at : "";
}

/* What ranks say of one fact, or where they are; NULL where a rank is left out. */
typedef struct sayings {
  const tdt_group *group;
  const char **texts; /* one for each rank */
  bool *alike;        /* scratch */
} sayings;

static bool sayings_open(sayings *said, const tdt_group *group) {
  said->group = group;
  said->texts = calloc(group->n_ranks, sizeof *said->texts);
  said->alike = calloc(group->n_ranks, sizeof *said->alike);
  return said->texts != NULL && said->alike != NULL;
}

static void sayings_close(sayings *said) {
  free(said->texts);
  free(said->alike);
}

/* Flags those who say what `rank` does, and takes them out. */
static void take_alike(sayings *said, unsigned rank) {
  const char *text = said->texts[rank];
  for (unsigned other = 0; other < said->group->n_ranks; other++) {
    said->alike[other] = said->texts[other] != NULL && strcmp(said->texts[other], text) == 0;
    if (said->alike[other]) {
      said->texts[other] = NULL;
    }
  }
}

/* Every text once, with those who say it; `between` stands between ranks and text, or, where the
 * text comes first, between text and ranks. */
static void add_sayings(tdt__text *text, sayings *said, const char *between, bool text_first) {
  unsigned n_listed = 0;
  for (unsigned rank = 0; rank < said->group->n_ranks; rank++) {
    const char *saying = said->texts[rank];
    if (saying == NULL) {
      continue;
    }
    if (n_listed++ == MOST_VALUES) {
      tdt__text_add(text, "; ...");
      return;
    }
    take_alike(said, rank);
    tdt__text_add(text, n_listed > 1 ? "; " : "");
    if (text_first) {
      tdt__text_add(text, saying);
      tdt__text_add(text, between);
    }
    tdt__ranks_add(text, said->group, said->alike);
    if (!text_first) {
      tdt__text_add(text, between);
      tdt__text_add(text, saying);
    }
  }
}

tdt_status tdt__facts_add_places(tdt__text *text, const tdt_group *group, json_t *const *messages,
                                 const bool *flags, tdt_error *error) {
  sayings said;
  const bool opened = sayings_open(&said, group);
  for (unsigned rank = 0; opened && rank < group->n_ranks; rank++) {
    said.texts[rank] = flags[rank] ? place_of(messages[rank]) : NULL;
  }
  if (opened) {
    add_sayings(text, &said, " at ", false);
  }
  sayings_close(&said);
  return opened ? TDT_OK : tdt__fail_memory(error);
}

static bool differs(const tdt_group *group, json_t *const *messages, size_t index) {
  const char *name = name_of(messages[0], index);
  const char *value = value_of(messages[0], index, name);
  for (unsigned rank = 1; rank < group->n_ranks; rank++) {
    if (strcmp(value_of(messages[rank], index, name), value) != 0) {
      return true;
    }
  }
  return false;
}

static tdt_status add_values(tdt__text *text, const tdt_group *group, json_t *const *messages,
                             size_t index, tdt_error *error) {
  sayings said;
  const bool opened = sayings_open(&said, group);
  const char *name = name_of(messages[0], index);
  for (unsigned rank = 0; opened && rank < group->n_ranks; rank++) {
    said.texts[rank] = value_of(messages[rank], index, name);
  }
  if (opened) {
    tdt__text_format(text, "%s: ", name);
    add_sayings(text, &said, " on ", true);
  }
  sayings_close(&said);
  return opened ? TDT_OK : tdt__fail_memory(error);
}

static tdt_status describe(tdt__text *text, const tdt_group *group, json_t *const *messages,
                           size_t n_facts, tdt_error *error) {
  tdt_status status = TDT_OK;
  const char *separator = "";
  for (size_t i = 0; status == TDT_OK && i < n_facts; i++) {
    if (differs(group, messages, i)) {
      tdt__text_add(text, separator);
      status = add_values(text, group, messages, i, error);
      separator = ". And ";
    }
  }
  return status;
}

static tdt_status describe_places(tdt__text *text, const tdt_group *group, json_t *const *messages,
                                  tdt_error *error) {
  bool *all = calloc(group->n_ranks, sizeof *all);
  if (all == NULL) {
    return tdt__fail_memory(error);
  }
  memset(all, true, group->n_ranks * sizeof *all);
  tdt_status status = tdt__facts_add_places(text, group, messages, all, error);
  free(all);
  return status;
}

static bool any_differs(const tdt_group *group, json_t *const *messages, size_t n_facts) {
  for (size_t i = 0; i < n_facts; i++) {
    if (differs(group, messages, i)) {
      return true;
    }
  }
  return false;
}

tdt_status tdt__facts_compare(const tdt_group *group, json_t *const *messages, char **difference,
                              tdt_error *error) {
  const size_t n_facts = json_array_size(json_object_get(messages[0], "facts"));
  tdt__text text = TDT__TEXT_INIT;
  tdt_status status;
  *difference = NULL;
  if (!any_differs(group, messages, n_facts)) {
    return TDT_OK;
  }
  if (differs(group, messages, 0)) {
    tdt__text_add(&text, "the ranks are in different places: ");
    status = describe_places(&text, group, messages, error);
  } else {
    tdt__text_add(&text, place_of(messages[0]));
    tdt__text_add(&text, ": the ranks are not about to do the same. ");
    status = describe(&text, group, messages, n_facts, error);
  }
  char *made = tdt__text_take(&text);
  if (status != TDT_OK || made == NULL) {
    free(made);
    return status != TDT_OK ? status : tdt__fail_memory(error);
  }
  *difference = made;
  return TDT_OK;
}
