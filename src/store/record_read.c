/* SPDX-License-Identifier: MIT */
#include "store/record_json.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "model/identity.h"
#include "store/record_entries.h"

/* A record may come from anywhere, so nothing in it is believed; see record_scope.h. */

static tdt_status read_format(const tdt__scope *in) {
  const json_t *value = tdt__scope_field(in, "format");
  if (!json_is_integer(value)) {
    return tdt__scope_wrong(in, "format", "missing, so this is no record");
  }
  if (json_integer_value(value) != TDT__RECORD_FORMAT) {
    return tdt__fail(in->error, TDT_EFORMAT, "%s: format %lld, this version reads %d", in->source,
                     (long long)json_integer_value(value), TDT__RECORD_FORMAT);
  }
  return TDT_OK;
}

static tdt_status read_function(const tdt__scope *in, tdt_function *function) {
  tdt__scope inner;
  tdt_status status = tdt__scope_object(in, "function", &inner);
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
    status = tdt__scope_text(&inner, fields[i].name, fields[i].text);
  }
  if (status == TDT_OK && function->name[0] == '\0') {
    status = tdt__scope_wrong(&inner, "name", "empty");
  }
  return status;
}

static tdt_status read_identity(const tdt__scope *in, tdt_record *record) {
  tdt_identity identity = {0};
  tdt_identity copy = {0};
  char *hardware = NULL;
  tdt_status status = read_function(in, &identity.function);
  if (status == TDT_OK) {
    status = tdt__scope_text(in, "key", &identity.key);
  }
  if (status == TDT_OK) {
    status = tdt__scope_canonical(in, "hardware", &hardware);
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

static tdt_status read_statistic(const tdt__scope *in, tdt_statistic *statistic) {
  const char *text = NULL;
  tdt_status status = tdt__scope_text(in, "statistic", &text);
  if (status != TDT_OK) {
    return status;
  }
  if (strcmp(text, "mean") == 0) {
    *statistic = TDT_STATISTIC_MEAN;
  } else if (strcmp(text, "median") == 0) {
    *statistic = TDT_STATISTIC_MEDIAN;
  } else {
    return tdt__scope_wrong(in, "statistic", "neither mean nor median");
  }
  return TDT_OK;
}

static tdt_status read_plan(const tdt__scope *in, tdt_record *record) {
  tdt__scope plan;
  tdt_status status = tdt__scope_object(in, "plan", &plan);
  if (status == TDT_OK) {
    status = tdt__scope_owned(&plan, "name", &record->plan_name);
  }
  if (status == TDT_OK) {
    status = tdt__scope_count(&plan, "warmup", 0, &record->n_warmup);
  }
  if (status == TDT_OK) {
    status = tdt__scope_count(&plan, "repeat", 1, &record->n_repeat);
  }
  if (status == TDT_OK) {
    status = read_statistic(&plan, &record->statistic);
  }
  return status;
}

static tdt_status read_circumstances(const tdt__scope *in, tdt_record *record) {
  tdt_status status = tdt__scope_canonical(in, "dependencies", &record->dependencies);
  if (status == TDT_OK) {
    status = tdt__scope_count(in, "ranks", 1, &record->n_ranks);
  }
  if (status == TDT_OK) {
    status = tdt__scope_owned(in, "clock", &record->clock);
  }
  if (status == TDT_OK) {
    status = read_plan(in, record);
  }
  if (status == TDT_OK && tdt__scope_field(in, "prune_rule") != NULL) {
    status = tdt__scope_owned(in, "prune_rule", &record->prune_rule);
  }
  return status;
}

/* Needs the entries: a winner is a candidate that has a time. */
static tdt_status read_best(const tdt__scope *in, tdt_record *record) {
  const json_t *value = tdt__scope_field(in, "best");
  record->best = TDT_NONE;
  if (json_is_null(value)) {
    return TDT_OK;
  }
  json_int_t index = json_integer_value(value);
  if (!json_is_integer(value) || index < 0 || (size_t)index >= record->n_entries ||
      record->entries[index].timing.outcome != TDT_OUTCOME_TIMED) {
    return tdt__scope_wrong(in, "best", "null or a candidate with a time is expected");
  }
  record->best = (size_t)index;
  return TDT_OK;
}

static tdt_status read_verdict(const tdt__scope *in, tdt_record *record) {
  tdt_status status = read_best(in, record);
  if (status != TDT_OK) {
    return status;
  }
  const json_t *complete = tdt__scope_field(in, "complete");
  if (!json_is_boolean(complete)) {
    return tdt__scope_wrong(in, "complete", "true or false is expected");
  }
  record->complete = json_is_true(complete);
  const char *created = NULL;
  status = tdt__scope_text(in, "created", &created);
  if (status != TDT_OK) {
    return status;
  }
  if (strlen(created) >= sizeof record->created) {
    return tdt__scope_wrong(in, "created", "a date is expected");
  }
  memcpy(record->created, created, strlen(created) + 1);
  return TDT_OK;
}

static tdt_status read_record(const tdt__scope *in, tdt_record **record) {
  const json_t *candidates = tdt__scope_field(in, "candidates");
  if (!json_is_array(candidates)) {
    return tdt__scope_wrong(in, "candidates", "a list is expected");
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
    status = tdt__record_read_entries(in, made);
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

static tdt_status read_whole(const json_t *root, const char *source, tdt_record **record,
                             tdt_error *error) {
  tdt__scope in = {source, error, root, {0}};
  if (!json_is_object(root)) {
    return tdt__scope_wrong(&in, "the whole", "an object is expected");
  }
  tdt_status status = read_format(&in);
  return status == TDT_OK ? read_record(&in, record) : status;
}

tdt_status tdt__record_parse(const char *text, size_t size, const char *source, tdt_record **record,
                             tdt_error *error) {
  if (size > TDT__RECORD_LIMIT) {
    return tdt__fail(error, TDT_EFORMAT, "%s: %zu bytes, a record has at most %u", source, size,
                     TDT__RECORD_LIMIT);
  }
  json_error_t cause;
  json_t *root = NULL;
  tdt_status status = tdt__json_parse(text, size, &root, &cause);
  if (status == TDT_ENOMEM) {
    return tdt__fail_memory(error);
  }
  if (status != TDT_OK) {
    return tdt__fail(error, TDT_EFORMAT, "%s: line %d, column %d: %s", source, cause.line,
                     cause.column, cause.text);
  }
  status = read_whole(root, source, record, error);
  json_decref(root);
  return status;
}
