/* SPDX-License-Identifier: MIT */
#include "store/record_json.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/c_locale.h"
#include "base/error.h"
#include "base/json.h"
#include "model/identity.h"

/*
 * A record may come from anywhere, so nothing in it is believed: every field is asked for by name
 * and kind, and what does not fit ends the reading with the place where it stands. Fields that
 * nobody asks for are passed over.
 */

/* Configurations may hold NUL characters; two fields of one name would leave open which counts. */
enum { READ_FLAGS = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL };

/* The object being read and where it stands in the file. */
typedef struct scope {
  const char *source;
  tdt_error *error;
  const json_t *object;
  char place[48]; /* "", "plan.", "candidates[3]." */
} scope;

static tdt_status wrong(const scope *in, const char *name, const char *why) {
  (void)tdt__fail(in->error, TDT_EFORMAT, "%s: %s%s: %s", in->source, in->place, name, why);
  return TDT_EFORMAT; /* in so many words, for analysers */
}

static const json_t *field(const scope *in, const char *name) {
  return json_object_get(in->object, name);
}

static tdt_status read_text(const scope *in, const char *name, const char **text) {
  const json_t *value = field(in, name);
  if (!json_is_string(value)) {
    return wrong(in, name, "a text is expected");
  }
  const char *found = json_string_value(value);
  if (strlen(found) != json_string_length(value)) {
    return wrong(in, name, "a NUL character stands in the text");
  }
  *text = found;
  return TDT_OK;
}

/* Like read_text(), into a text that the record owns. */
static tdt_status read_owned(const scope *in, const char *name, char **owned) {
  const char *text = NULL;
  tdt_status status = read_text(in, name, &text);
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

static tdt_status read_count(const scope *in, const char *name, unsigned least, unsigned *count) {
  const json_t *value = field(in, name);
  json_int_t number = json_integer_value(value);
  if (!json_is_integer(value) || number < (json_int_t)least || number > (json_int_t)UINT_MAX) {
    return wrong(in, name, least == 0 ? "a count is expected" : "a count from 1 on is expected");
  }
  *count = (unsigned)number;
  return TDT_OK;
}

static tdt_status read_object(const scope *in, const char *name, scope *inner) {
  const json_t *value = field(in, name);
  if (!json_is_object(value)) {
    return wrong(in, name, "an object is expected");
  }
  *inner = (scope){in->source, in->error, value, {0}};
  (void)snprintf(inner->place, sizeof inner->place, "%s.", name);
  return TDT_OK;
}

/* The canonical text of an object, into a text that the record owns. */
static tdt_status read_canonical(const scope *in, const char *name, char **owned) {
  scope inner;
  tdt_status status = read_object(in, name, &inner);
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

static tdt_status read_format(const scope *in) {
  const json_t *value = field(in, "format");
  if (!json_is_integer(value)) {
    return wrong(in, "format", "missing, so this is no record");
  }
  if (json_integer_value(value) != TDT__RECORD_FORMAT) {
    return tdt__fail(in->error, TDT_EFORMAT, "%s: format %lld, this version reads %d", in->source,
                     (long long)json_integer_value(value), TDT__RECORD_FORMAT);
  }
  return TDT_OK;
}

static tdt_status read_function(const scope *in, tdt_function *function) {
  scope inner;
  tdt_status status = read_object(in, "function", &inner);
  const struct {
    const char *name;
    const char **text;
  } fields[] = {
      {"name", &function->name},
      {"module", &function->module},
      {"qualname", &function->qualname},
      {"source", &function->source},
  };
  for (size_t i = 0; status == TDT_OK && i < sizeof fields / sizeof fields[0]; i++) {
    status = read_text(&inner, fields[i].name, fields[i].text);
  }
  if (status == TDT_OK && function->name[0] == '\0') {
    status = wrong(&inner, "name", "empty");
  }
  return status;
}

static tdt_status read_identity(const scope *in, tdt_record *record) {
  tdt_identity identity = {0};
  tdt_identity copy = {0};
  char *hardware = NULL;
  tdt_status status = read_function(in, &identity.function);
  if (status == TDT_OK) {
    status = read_text(in, "key", &identity.key);
  }
  if (status == TDT_OK) {
    status = read_canonical(in, "hardware", &hardware);
  }
  if (status == TDT_OK) {
    identity.hardware = hardware;
    status = tdt__identity_copy(&identity, &copy, in->error);
  }
  if (status == TDT_OK) {
    tdt__identity_clear(&record->identity);
    record->identity = copy;
  }
  free(hardware);
  return status;
}

static tdt_status read_statistic(const scope *in, tdt_statistic *statistic) {
  const char *text = NULL;
  tdt_status status = read_text(in, "statistic", &text);
  if (status != TDT_OK) {
    return status;
  }
  if (strcmp(text, "mean") == 0) {
    *statistic = TDT_STATISTIC_MEAN;
  } else if (strcmp(text, "median") == 0) {
    *statistic = TDT_STATISTIC_MEDIAN;
  } else {
    return wrong(in, "statistic", "neither mean nor median");
  }
  return TDT_OK;
}

static tdt_status read_plan(const scope *in, tdt_record *record) {
  scope plan;
  tdt_status status = read_object(in, "plan", &plan);
  if (status == TDT_OK) {
    status = read_owned(&plan, "name", &record->plan_name);
  }
  if (status == TDT_OK) {
    status = read_count(&plan, "warmup", 0, &record->n_warmup);
  }
  if (status == TDT_OK) {
    status = read_count(&plan, "repeat", 1, &record->n_repeat);
  }
  if (status == TDT_OK) {
    status = read_statistic(&plan, &record->statistic);
  }
  return status;
}

static tdt_status read_circumstances(const scope *in, tdt_record *record) {
  tdt_status status = read_canonical(in, "dependencies", &record->dependencies);
  if (status == TDT_OK) {
    status = read_count(in, "ranks", 1, &record->n_ranks);
  }
  if (status == TDT_OK) {
    status = read_owned(in, "clock", &record->clock);
  }
  if (status == TDT_OK) {
    status = read_plan(in, record);
  }
  if (status == TDT_OK && field(in, "prune_rule") != NULL) {
    status = read_owned(in, "prune_rule", &record->prune_rule);
  }
  return status;
}

/* jansson lets neither NaN nor infinity in. */
static bool is_time(const json_t *value) {
  return json_is_number(value) && json_number_value(value) >= 0.0;
}

static tdt_status read_samples(const scope *in, tdt__timing *timing) {
  const json_t *values = field(in, "samples_ms");
  if (!json_is_array(values)) {
    return wrong(in, "samples_ms", "a list of times is expected");
  }
  size_t n = json_array_size(values);
  if (n == 0) {
    return TDT_OK;
  }
  timing->samples_ms = calloc(n, sizeof *timing->samples_ms);
  if (timing->samples_ms == NULL) {
    return tdt__fail_memory(in->error);
  }
  for (size_t i = 0; i < n; i++) {
    const json_t *value = json_array_get(values, i);
    if (!is_time(value)) {
      return wrong(in, "samples_ms", "holds something that is no time");
    }
    timing->samples_ms[i] = json_number_value(value);
  }
  timing->n_samples = n;
  return TDT_OK;
}

/* A time, the reason why there is none, that it was not wanted, or none of them: never two. */
static tdt_status read_outcome(const scope *in, tdt__timing *timing) {
  const json_t *time = field(in, "time_ms");
  const json_t *error = field(in, "error");
  const json_t *pruned = field(in, "pruned");
  if (!json_is_null(time) && !is_time(time)) {
    return wrong(in, "time_ms", "a time or null is expected");
  }
  if (pruned != NULL && !json_is_boolean(pruned)) {
    return wrong(in, "pruned", "true or false is expected");
  }
  if (is_time(time) + (error != NULL) + json_is_true(pruned) > 1) {
    return wrong(in, "time_ms", "more than one outcome");
  }
  if (is_time(time)) {
    timing->outcome = TDT_OUTCOME_TIMED;
    timing->time_ms = json_number_value(time);
  } else if (error != NULL) {
    timing->outcome = TDT_OUTCOME_FAILED;
    return read_owned(in, "error", &timing->error);
  } else if (json_is_true(pruned)) {
    timing->outcome = TDT_OUTCOME_PRUNED;
  }
  return TDT_OK;
}

static tdt_status read_entry(const scope *in, tdt__entry *entry) {
  tdt_status status = read_canonical(in, "config", &entry->config);
  if (status == TDT_OK) {
    status = read_outcome(in, &entry->timing);
  }
  bool samples = entry->timing.outcome == TDT_OUTCOME_TIMED || field(in, "samples_ms") != NULL;
  if (status == TDT_OK && samples) {
    status = read_samples(in, &entry->timing);
  }
  return status;
}

static tdt_status read_entries(const scope *in, tdt_record *record) {
  const json_t *list = field(in, "candidates");
  for (size_t i = 0; i < record->n_entries; i++) {
    scope candidate = {in->source, in->error, json_array_get(list, i), {0}};
    (void)snprintf(candidate.place, sizeof candidate.place, "candidates[%zu].", i);
    if (!json_is_object(candidate.object)) {
      return wrong(&candidate, "config", "a candidate is an object");
    }
    tdt_status status = read_entry(&candidate, &record->entries[i]);
    if (status != TDT_OK) {
      return status;
    }
  }
  return TDT_OK;
}

/* Needs the entries: a winner is a candidate that has a time. */
static tdt_status read_best(const scope *in, tdt_record *record) {
  const json_t *value = field(in, "best");
  record->best = TDT_NONE;
  if (json_is_null(value)) {
    return TDT_OK;
  }
  json_int_t index = json_integer_value(value);
  if (!json_is_integer(value) || index < 0 || (size_t)index >= record->n_entries ||
      record->entries[index].timing.outcome != TDT_OUTCOME_TIMED) {
    return wrong(in, "best", "null or a candidate with a time is expected");
  }
  record->best = (size_t)index;
  return TDT_OK;
}

static tdt_status read_verdict(const scope *in, tdt_record *record) {
  tdt_status status = read_best(in, record);
  if (status != TDT_OK) {
    return status;
  }
  const json_t *complete = field(in, "complete");
  if (!json_is_boolean(complete)) {
    return wrong(in, "complete", "true or false is expected");
  }
  record->complete = json_is_true(complete);
  const char *created = NULL;
  status = read_text(in, "created", &created);
  if (status != TDT_OK) {
    return status;
  }
  if (strlen(created) >= sizeof record->created) {
    return wrong(in, "created", "a date is expected");
  }
  memcpy(record->created, created, strlen(created) + 1);
  return TDT_OK;
}

static tdt_status read_record(const scope *in, tdt_record **record) {
  const json_t *candidates = field(in, "candidates");
  if (!json_is_array(candidates)) {
    return wrong(in, "candidates", "a list is expected");
  }
  tdt_record *made = NULL;
  tdt_status status = tdt__record_create(json_array_size(candidates), &made, in->error);
  if (status == TDT_OK) {
    status = read_identity(in, made);
  }
  if (status == TDT_OK) {
    status = read_circumstances(in, made);
  }
  if (status == TDT_OK) {
    status = read_entries(in, made);
  }
  if (status == TDT_OK) {
    status = read_verdict(in, made);
  }
  if (status != TDT_OK) {
    tdt_record_destroy(made);
    return status;
  }
  *record = made;
  return TDT_OK;
}

/* jansson says nothing at all where it found no memory for a value. */
static tdt_status syntax_error(const json_error_t *why, const char *source, tdt_error *error) {
  if (why->text[0] == '\0' || json_error_code(why) == json_error_out_of_memory) {
    return tdt__fail_memory(error);
  }
  return tdt__fail(error, TDT_EFORMAT, "%s: line %d, column %d: %s", source, why->line, why->column,
                   why->text);
}

static tdt_status parse(const char *text, size_t size, const char *source, tdt_record **record,
                        tdt_error *error) {
  json_error_t why = {0}; /* jansson leaves parts of it alone */
  json_t *root = json_loadb(size == 0 ? "" : text, size, READ_FLAGS, &why);
  if (root == NULL) {
    return syntax_error(&why, source, error);
  }
  scope in = {source, error, root, {0}};
  tdt_status status =
      json_is_object(root) ? read_format(&in) : wrong(&in, "the whole", "an object is expected");
  if (status == TDT_OK) {
    status = read_record(&in, record);
  }
  json_decref(root);
  return status;
}

tdt_status tdt__record_parse(const char *text, size_t size, const char *source, tdt_record **record,
                             tdt_error *error) {
  if (size > TDT__RECORD_LIMIT) {
    return tdt__fail(error, TDT_EFORMAT, "%s: %zu bytes, a record has at most %u", source, size,
                     TDT__RECORD_LIMIT);
  }
  tdt__c_locale locale;
  if (!tdt__c_locale_enter(&locale)) {
    return tdt__fail_memory(error);
  }
  tdt_status status = parse(text, size, source, record, error);
  tdt__c_locale_leave(&locale);
  return status;
}
