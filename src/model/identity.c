/* SPDX-License-Identifier: MIT */
#include "model/identity.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"

/* Text number i of an identity in the order in which the digest counts them; never reordered. */
enum { NAME, MODULE, QUALNAME, SOURCE, HARDWARE, KEY, N_TEXTS };

static void list_texts(const tdt_identity *identity, const char *texts[N_TEXTS]) {
  texts[NAME] = identity->function.name;
  texts[MODULE] = identity->function.module;
  texts[QUALNAME] = identity->function.qualname;
  texts[SOURCE] = identity->function.source;
  texts[HARDWARE] = identity->hardware;
  texts[KEY] = identity->key;
}

static tdt_status copy_text(const char *from, const char *what, const char **to, tdt_error *error) {
  size_t size = strlen(from);
  size_t valid = tdt__utf8_prefix(from, size);
  if (valid != size) {
    return tdt__fail(error, TDT_EINVAL, "%s is no UTF-8 text from byte %zu on", what, valid);
  }
  *to = strdup(from);
  return *to != NULL ? TDT_OK : tdt__fail_memory(error);
}

static const char *or_else(const char *text, const char *otherwise) {
  return text != NULL ? text : otherwise;
}

/* On failure, `to` holds what was copied so far. */
static tdt_status copy_function(const tdt_function *from, tdt_function *to, tdt_error *error) {
  const char *name = or_else(from->name, "");
  const struct {
    const char *text;
    const char *what;
    const char **to;
  } copies[] = {
      {name, "the function's name", &to->name},
      {or_else(from->module, ""), "the function's module", &to->module},
      {or_else(from->qualname, name), "the function's full name", &to->qualname},
      {or_else(from->source, ""), "the digest of the function's source", &to->source},
  };
  tdt_status status = TDT_OK;
  for (size_t i = 0; status == TDT_OK && i < sizeof copies / sizeof copies[0]; i++) {
    status = copy_text(copies[i].text, copies[i].what, copies[i].to, error);
  }
  return status;
}

static tdt_status check_name(const tdt_function *function, tdt_error *error) {
  if (function->name == NULL || function->name[0] == '\0') {
    return tdt__fail(error, TDT_EINVAL, "the function has no name");
  }
  return TDT_OK;
}

tdt_status tdt__function_copy(const tdt_function *from, tdt_function *to, tdt_error *error) {
  tdt_status status = check_name(from, error);
  if (status != TDT_OK) {
    return status;
  }
  tdt_function copy = {0};
  status = copy_function(from, &copy, error);
  if (status != TDT_OK) {
    tdt__function_clear(&copy);
    return status;
  }
  *to = copy;
  return TDT_OK;
}

static void free_text(const char **text) {
  free((void *)*text);
  *text = NULL;
}

void tdt__function_clear(tdt_function *function) {
  free_text(&function->name);
  free_text(&function->module);
  free_text(&function->qualname);
  free_text(&function->source);
}

static tdt_status copy_identity(const tdt_identity *from, tdt_identity *to, tdt_error *error) {
  tdt_identity copy = {0};
  char *hardware = NULL;
  tdt_status status = copy_function(&from->function, &copy.function, error);
  if (status == TDT_OK) {
    status = tdt__json_canonical(from->hardware, "the hardware", &hardware, error);
    copy.hardware = hardware;
  }
  if (status == TDT_OK) {
    status = copy_text(or_else(from->key, ""), "the key", &copy.key, error);
  }
  if (status != TDT_OK) {
    tdt__identity_clear(&copy);
    return status;
  }
  *to = copy;
  return TDT_OK;
}

tdt_status tdt__identity_copy(const tdt_identity *from, tdt_identity *to, tdt_error *error) {
  tdt_status status = check_name(&from->function, error);
  return status == TDT_OK ? copy_identity(from, to, error) : status;
}

tdt_status tdt__identity_empty(tdt_identity *identity, tdt_error *error) {
  static const tdt_identity nothing = {.function = {.name = "", .qualname = ""}};
  return copy_identity(&nothing, identity, error);
}

void tdt__identity_clear(tdt_identity *identity) {
  tdt__function_clear(&identity->function);
  free_text(&identity->hardware);
  free_text(&identity->key);
}

bool tdt__identity_equal(const tdt_identity *a, const tdt_identity *b) {
  const char *left[N_TEXTS];
  const char *right[N_TEXTS];
  list_texts(a, left);
  list_texts(b, right);
  for (size_t i = 0; i < N_TEXTS; i++) {
    if (strcmp(left[i], right[i]) != 0) {
      return false;
    }
  }
  return true;
}

void tdt__identity_digest(const tdt_identity *identity, char digest[TDT_DIGEST_SIZE]) {
  const char *texts[N_TEXTS];
  list_texts(identity, texts);
  tdt__digest_texts(texts, N_TEXTS, digest);
}

tdt_status tdt_identity_digest(const tdt_identity *identity, char digest[TDT_DIGEST_SIZE],
                               tdt_error *error) {
  tdt_identity copy;
  tdt_status status = tdt__identity_copy(identity, &copy, error);
  if (status != TDT_OK) {
    return status;
  }
  tdt__identity_digest(&copy, digest);
  tdt__identity_clear(&copy);
  return TDT_OK;
}
