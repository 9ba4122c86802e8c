/* SPDX-License-Identifier: MIT */
#include "store/record_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/c_locale.h"
#include "base/error.h"
#include "base/text.h"

/*
 * The file is laid out by hand, so that it reads as a table: a candidate a line, figures in as few
 * digits as give back the same number. Parts that are kept as canonical JSON go in as they are.
 * The first failure sticks, as in the text itself.
 */
typedef struct writer {
  tdt__text text;
  tdt_status status;
  tdt_error *error;
} writer;

static void add(writer *out, const char *piece) {
  tdt__text_add(&out->text, piece);
}

static void reject(writer *out, const char *place, const char *why) {
  if (out->status == TDT_OK) {
    out->status = tdt__fail(out->error, TDT_EINVAL, "cannot write the record: %s %s", place, why);
  }
}

static int add_piece(const char *piece, size_t size, void *text) {
  tdt__text_add_bytes(text, piece, size);
  return 0;
}

static void add_string(writer *out, const char *place, const char *value) {
  json_error_t why = {0}; /* jansson leaves parts of it alone */
  json_t *string = json_pack_ex(&why, 0, "s", value);
  if (string == NULL && json_error_code(&why) == json_error_invalid_utf8) {
    reject(out, place, "is not UTF-8");
  } else if (string == NULL ||
             json_dump_callback(string, add_piece, &out->text, JSON_ENCODE_ANY) != 0) {
    out->text.failed = true;
  }
  json_decref(string);
}

static void add_number(writer *out, const char *place, double value) {
  if (!isfinite(value)) {
    reject(out, place, "is not finite");
    return;
  }
  char digits[64];
  for (int precision = 15; precision <= 17; precision++) {
    (void)snprintf(digits, sizeof digits, "%.*g", precision, value);
    if (strtod(digits, NULL) == value) {
      break;
    }
  }
  add(out, digits);
}

static void add_index(writer *out, size_t index) {
  if (index == TDT_NONE) {
    add(out, "null");
  } else {
    tdt__text_format(&out->text, "%zu", index);
  }
}

static void add_function(writer *out, const tdt_function *function) {
  add(out, "  \"function\": {\"name\": ");
  add_string(out, "function.name", function->name);
  add(out, ", \"module\": ");
  add_string(out, "function.module", function->module);
  add(out, ", \"qualname\": ");
  add_string(out, "function.qualname", function->qualname);
  add(out, ", \"source\": ");
  add_string(out, "function.source", function->source);
  add(out, "},\n");
}

static void add_identity(writer *out, const tdt_identity *identity) {
  add_function(out, &identity->function);
  tdt__text_format(&out->text, "  \"hardware\": %s,\n  \"key\": ", identity->hardware);
  add_string(out, "key", identity->key);
}

static void add_plan(writer *out, const tdt_record *record) {
  add(out, "  \"plan\": {\"name\": ");
  add_string(out, "plan.name", record->plan_name);
  tdt__text_format(&out->text, ", \"warmup\": %u, \"repeat\": %u, \"statistic\": \"%s\"},\n",
                   record->n_warmup, record->n_repeat,
                   record->statistic == TDT_STATISTIC_MEDIAN ? "median" : "mean");
}

static void add_samples(writer *out, const char *place, const tdt__timing *timing) {
  add(out, ", \"samples_ms\": [");
  for (size_t i = 0; i < timing->n_samples; i++) {
    add(out, i == 0 ? "" : ", ");
    add_number(out, place, timing->samples_ms[i]);
  }
  add(out, "]");
}

static void add_outcome(writer *out, const char *place, const tdt__timing *timing) {
  switch (timing->outcome) {
  case TDT_OUTCOME_TIMED:
    add_number(out, place, timing->time_ms);
    break;
  case TDT_OUTCOME_FAILED:
    add(out, "null, \"error\": ");
    add_string(out, place, timing->error);
    break;
  case TDT_OUTCOME_PRUNED:
    add(out, "null, \"pruned\": true");
    break;
  case TDT_OUTCOME_UNKNOWN:
    add(out, "null");
    break;
  }
}

static void add_entry(writer *out, size_t index, const tdt__entry *entry) {
  char place[48];
  (void)snprintf(place, sizeof place, "candidates[%zu]", index);
  tdt__text_format(&out->text, "%s    {\"config\": %s, \"time_ms\": ", index == 0 ? "\n" : ",\n",
                   entry->config);
  add_outcome(out, place, &entry->timing);
  if (entry->timing.outcome == TDT_OUTCOME_TIMED || entry->timing.n_samples > 0) {
    add_samples(out, place, &entry->timing);
  }
  add(out, "}");
}

static void add_entries(writer *out, const tdt_record *record) {
  add(out, "  \"candidates\": [");
  for (size_t i = 0; i < record->n_entries; i++) {
    add_entry(out, i, &record->entries[i]);
  }
  add(out, record->n_entries == 0 ? "],\n" : "\n  ],\n");
}

static void add_circumstances(writer *out, const tdt_record *record) {
  tdt__text_format(&out->text, ",\n  \"dependencies\": %s,\n  \"ranks\": %u,\n  \"clock\": ",
                   record->dependencies, record->n_ranks);
  add_string(out, "clock", record->clock);
  add(out, ",\n");
  add_plan(out, record);
  if (record->prune_rule[0] != '\0') {
    add(out, "  \"prune_rule\": ");
    add_string(out, "prune_rule", record->prune_rule);
    add(out, ",\n");
  }
}

static void add_verdict(writer *out, const tdt_record *record) {
  add(out, "  \"best\": ");
  add_index(out, record->best);
  tdt__text_format(&out->text,
                   ",\n  \"complete\": %s,\n  \"created\": ", record->complete ? "true" : "false");
  add_string(out, "created", record->created);
}

static void add_record(writer *out, const tdt_record *record) {
  tdt__text_format(&out->text, "{\n  \"format\": %d,\n", TDT__RECORD_FORMAT);
  add_identity(out, &record->identity);
  add_circumstances(out, record);
  add_entries(out, record);
  add_verdict(out, record);
  add(out, "\n}\n");
}

tdt_status tdt__record_text(const tdt_record *record, char **text, tdt_error *error) {
  tdt__c_locale locale;
  if (!tdt__c_locale_enter(&locale)) {
    return tdt__fail_memory(error);
  }
  writer out = {TDT__TEXT_INIT, TDT_OK, error};
  add_record(&out, record);
  tdt__c_locale_leave(&locale);
  if (out.status != TDT_OK) {
    tdt__text_free(&out.text);
    return out.status;
  }
  char *taken = tdt__text_take(&out.text);
  if (taken == NULL) {
    return tdt__fail_memory(error);
  }
  *text = taken;
  return TDT_OK;
}

tdt_status tdt_record_json(const tdt_record *record, char **text, tdt_error *error) {
  return tdt__record_text(record, text, error);
}
