/* SPDX-License-Identifier: MIT */
#include "engine/agree.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/json.h"
#include "engine/lookup.h"
#include "engine/plan.h"
#include "engine/select.h"
#include "group/round.h"
#include "model/identity.h"
#include "store/record_json.h"
#include "store/whereabouts.h"

/* -- the check-in --------------------------------------------------------------------------------
 */

/* The texts of a check-in's facts. A text that found no memory is NULL. */
typedef struct texts {
  char *function;
  char *key;
  char *candidates;
  char *plan;
  char *settings;
} texts;

static char *describe_key(const tdt__call *call) {
  char digest[TDT_DIGEST_SIZE];
  tdt__text text = TDT__TEXT_INIT;
  tdt__text_add(&text, call->shown_key);
  if (strlen(call->shown_key) != call->key_size ||
      memcmp(call->shown_key, call->request.key, call->key_size) != 0) {
    tdt_digest(call->request.key, call->key_size, digest);
    tdt__text_format(&text, " (%zu bytes, %s)", call->key_size, digest);
  }
  return tdt__text_take(&text);
}

static char *describe_candidates(const tdt_space *space) {
  char digest[TDT_DIGEST_SIZE];
  const size_t n = tdt_space_size(space);
  tdt__text text = TDT__TEXT_INIT;
  const char **configs = calloc(n, sizeof *configs);
  if (configs == NULL) {
    return NULL;
  }
  for (size_t i = 0; i < n; i++) {
    configs[i] = tdt_space_config(space, i);
  }
  tdt__digest_texts(configs, n, digest);
  free((void *)configs);
  tdt__text_format(&text, "%zu in number (%s)", n, digest);
  return tdt__text_take(&text);
}

static char *describe_plan(const tdt_plan *plan) {
  tdt__text text = TDT__TEXT_INIT;
  tdt__text_add(&text, plan->name);
  tdt__text_format(&text, ", %u warm-ups, %u timed runs, statistic %d", plan->n_warmup,
                   plan->n_repeat, (int)plan->statistic);
  if (tdt__plan_decides(plan)) {
    tdt__text_format(&text, ", %u at first, then %u at a time, at most %u, by %g, %g and %g",
                     plan->n_first, plan->n_more, plan->n_most, plan->margin, plan->least_noise,
                     plan->tie);
  }
  return tdt__text_take(&text);
}

static char *describe_settings(const tdt__call *call, bool capturing) {
  static const char *const on_miss[] = {"tune", "use the first candidate", "fail"};
  const tdt_settings *settings = &call->settings;
  tdt__text text = TDT__TEXT_INIT;
  tdt__text_format(
      &text, "stored results are %s%s, on a miss %s%s", settings->always_tune ? "ignored" : "used",
      settings->check_dependencies ? " if made with the same software" : "",
      on_miss[settings->on_miss], capturing ? ", but now a graph is being captured" : "");
  return tdt__text_take(&text);
}

/* Who prunes by a rule that is not known may take a stored result for none, so it is told from who
 * does not prune. */
static const char *describe_rule(const tdt__call *call) {
  if (call->request.prune == NULL) {
    return "none";
  }
  return call->request.prune_rule[0] != '\0' ? call->request.prune_rule : "one without a digest";
}

static bool texts_open(texts *made, const tdt__call *call, bool capturing) {
  const tdt_function *function = &call->identity.function;
  tdt__text name = TDT__TEXT_INIT;
  tdt__text_add(&name, function->module);
  tdt__text_add(&name, ".");
  tdt__text_add(&name, function->qualname);
  *made = (texts){
      .function = tdt__text_take(&name),
      .key = describe_key(call),
      .candidates = describe_candidates(call->tuner->space),
      .plan = describe_plan(&call->tuner->plan),
      .settings = describe_settings(call, capturing),
  };
  return made->function != NULL && made->key != NULL && made->candidates != NULL &&
         made->plan != NULL && made->settings != NULL;
}

static void texts_close(texts *made) {
  free(made->function);
  free(made->key);
  free(made->candidates);
  free(made->plan);
  free(made->settings);
}

/* Text and digest of what is stored; "" and NULL where nothing is. */
static tdt_status read_record(const tdt__slate *slate, char **text, char digest[TDT_DIGEST_SIZE],
                              tdt_error *error) {
  *text = NULL;
  digest[0] = '\0';
  if (slate->record == NULL) {
    return TDT_OK;
  }
  tdt_status status = tdt__record_text(slate->record, text, error);
  if (status == TDT_OK) {
    tdt_digest(*text, strlen(*text), digest);
  }
  return status;
}

/* Where this rank's record is: the store, and which of its records, for ranks on other hardware
 * have others. "": nowhere; NULL: out of memory. */
static char *describe_place(const tdt__call *call) {
  char digest[TDT_DIGEST_SIZE];
  tdt__text text = TDT__TEXT_INIT;
  if (call->request.store != NULL) {
    char *store = tdt__store_whereabouts(call->request.store);
    if (store == NULL) {
      return NULL;
    }
    tdt__identity_digest(&call->identity, digest);
    tdt__text_add(&text, store);
    tdt__text_add(&text, " ");
    tdt__text_add(&text, digest);
    free(store);
  }
  return tdt__text_take(&text);
}

/* What this rank knows: the stored answer (-1: none), its record, and where it would write. */
static tdt_status describe_knowledge(const tdt__call *call, const tdt__slate *slate, json_t **data,
                                     tdt_error *error) {
  size_t answer = 0;
  char *text;
  char digest[TDT_DIGEST_SIZE];
  const bool found = tdt__select_stored(slate, call->request.prune != NULL, &answer);
  tdt_status status = read_record(slate, &text, digest, error);
  free(text);
  if (status != TDT_OK) {
    return status;
  }
  char *place = describe_place(call);
  if (place != NULL) {
    *data = json_pack("{s:I, s:s, s:o}", "answer", found ? (json_int_t)answer : (json_int_t)-1,
                      "record", digest, "place", tdt__json_string(place));
  }
  const bool made = place != NULL && *data != NULL;
  free(place);
  return made ? TDT_OK : tdt__fail_memory(error);
}

static json_int_t answer_of(const json_t *knowledge) {
  return json_integer_value(json_object_get(knowledge, "answer"));
}

static const char *text_of(const json_t *knowledge, const char *name) {
  const char *text = json_string_value(json_object_get(knowledge, name));
  return text != NULL ? text : "";
}

/* The rank by whose record all go: the lowest with an answer, else the lowest with a record. -1:
 * all know the same answer, whatever their records say besides, or the same record. */
static int find_teacher(const tdt_group *group, const json_t *const *data) {
  int with_answer = -1;
  int with_record = -1;
  const bool all_answer = answer_of(data[0]) >= 0;
  bool same = true;
  for (unsigned rank = group->n_ranks; rank-- > 0;) {
    with_answer = answer_of(data[rank]) >= 0 ? (int)rank : with_answer;
    with_record = text_of(data[rank], "record")[0] != '\0' ? (int)rank : with_record;
    same = same && answer_of(data[rank]) == answer_of(data[0]) &&
           (all_answer || strcmp(text_of(data[rank], "record"), text_of(data[0], "record")) == 0);
  }
  return same ? -1 : with_answer >= 0 ? with_answer : with_record;
}

/* The lowest rank of each place; none where a rank has no store. NULL: out of memory. */
static json_t *find_writers(const tdt_group *group, const json_t *const *data) {
  json_t *writers = json_array();
  json_t *seen = json_object();
  bool made = writers != NULL && seen != NULL;
  for (unsigned rank = 0; made && rank < group->n_ranks; rank++) {
    const char *place = text_of(data[rank], "place");
    if (place[0] != '\0' && json_object_get(seen, place) == NULL) {
      made = json_object_set_new(seen, place, json_true()) == 0 &&
             json_array_append_new(writers, json_integer(rank)) == 0;
    }
  }
  json_decref(seen);
  if (!made) {
    json_decref(writers);
    return NULL;
  }
  return writers;
}

static tdt_status judge_call(void *user, const tdt_group *group, const json_t *const *data,
                             json_t **answer, tdt_error *error) {
  (void)user;
  *answer = json_pack("{s:i, s:o}", "from", find_teacher(group, data), "writers",
                      find_writers(group, data));
  return *answer != NULL ? TDT_OK : tdt__fail_memory(error);
}

static bool lists(const json_t *ranks, unsigned rank) {
  for (size_t i = 0; i < json_array_size(ranks); i++) {
    if (json_integer_value(json_array_get(ranks, i)) == (json_int_t)rank) {
      return true;
    }
  }
  return false;
}

static tdt_status check_in(const tdt__call *call, const texts *made, const json_t *data,
                           tdt__agreed *agreed, tdt_error *error) {
  const tdt__fact list[] = {
      {"function", made->function},
      {"source (with the values that it uses, such as a rank)", call->identity.function.source},
      {"key", made->key},
      {"candidates", made->candidates},
      {"pruning rule", describe_rule(call)},
      {"plan", made->plan},
      {"settings", made->settings},
  };
  const tdt__round round = {
      .what = "check-in",
      .facts = {list, sizeof list / sizeof *list},
      .data = data,
      .judge = judge_call,
  };
  json_t *answer = NULL;
  tdt_status status = tdt__round_hold(call->talk, &round, &answer, error);
  if (status == TDT_OK) {
    const json_int_t from = json_integer_value(json_object_get(answer, "from"));
    agreed->hands_over = from >= 0;
    agreed->from = from >= 0 ? (unsigned)from : 0;
    agreed->writes = lists(json_object_get(answer, "writers"), call->group.rank);
  }
  json_decref(answer);
  return status;
}

tdt_status tdt__agree_call(const tdt__call *call, bool capturing, const tdt__slate *slate,
                           tdt__agreed *agreed, tdt_error *error) {
  texts made;
  json_t *data = NULL;
  tdt_status status = texts_open(&made, call, capturing) ? TDT_OK : tdt__fail_memory(error);
  if (status == TDT_OK) {
    status = describe_knowledge(call, slate, &data, error);
  }
  if (status == TDT_OK) {
    status = check_in(call, &made, data, agreed, error);
  }
  json_decref(data);
  texts_close(&made);
  return status;
}

/* -- a record is handed over ---------------------------------------------------------------------
 */

static tdt_status judge_record(void *user, const tdt_group *group, const json_t *const *data,
                               json_t **answer, tdt_error *error) {
  const unsigned *from = user;
  (void)group;
  *answer = data[*from] != NULL ? json_deep_copy(data[*from]) : json_object();
  return *answer != NULL ? TDT_OK : tdt__fail_memory(error);
}

static tdt_status take_over(const tdt__call *call, const json_t *answer, tdt__slate *slate,
                            const char *known, bool *news, tdt_error *error) {
  const char *text = text_of(answer, "record");
  char digest[TDT_DIGEST_SIZE];
  tdt_record *record;
  tdt_digest(text, strlen(text), digest);
  *news = strcmp(digest, known) != 0;
  tdt_status status =
      tdt__record_parse(text, strlen(text), "a record from another rank", &record, error);
  if (status == TDT_OK) {
    status = tdt__lookup_adopt(call, record, slate, error);
  }
  return status;
}

tdt_status tdt__agree_record(const tdt__call *call, unsigned from, tdt__slate *slate, bool *news,
                             tdt_error *error) {
  char *text;
  char known[TDT_DIGEST_SIZE];
  json_t *data = NULL;
  json_t *answer = NULL;
  tdt_status status = read_record(slate, &text, known, error);
  if (status == TDT_OK && text != NULL && call->group.rank == from) {
    data = json_pack("{s:s}", "record", text);
    status = data != NULL ? TDT_OK : tdt__fail_memory(error);
  }
  free(text);
  if (status == TDT_OK) {
    const tdt__round round = {
        .what = "a stored result is handed over",
        .data = data,
        .judge = judge_record,
        .user = &from,
    };
    status = tdt__round_hold(call->talk, &round, &answer, error);
  }
  if (status == TDT_OK) {
    status = take_over(call, answer, slate, known, news, error);
  }
  json_decref(answer);
  json_decref(data);
  return status;
}
