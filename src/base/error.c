/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static const struct {
  tdt_status status;
  const char *name;
  const char *text;
} statuses[] = {
#define STATUS_ROW(number, name, text) {TDT_##name, "TDT_" #name, text},
    TDT_STATUS_LIST(STATUS_ROW)
#undef STATUS_ROW
};

static const size_t n_statuses = sizeof statuses / sizeof statuses[0];

const char *tdt_status_name(tdt_status status) {
  for (size_t i = 0; i < n_statuses; i++) {
    if (statuses[i].status == status) {
      return statuses[i].name;
    }
  }
  return "TDT_?";
}

const char *tdt_status_text(tdt_status status) {
  for (size_t i = 0; i < n_statuses; i++) {
    if (statuses[i].status == status) {
      return statuses[i].text;
    }
  }
  return "unknown status";
}

const char *tdt_error_text(const tdt_error *error) {
  if (error == NULL || error->code == TDT_OK) {
    return "";
  }
  if (error->long_text != NULL) {
    return error->long_text;
  }
  return error->text[0] != '\0' ? error->text : tdt_status_text(error->code);
}

/* The arguments may point into `error`, so the sentence is complete before anything is let go. */
static void set_sentence(tdt_error *error, tdt_status code, const char *format, va_list args) {
  char fresh[sizeof error->text];
  char *sentence = tdt__text_vformat(fresh, sizeof fresh, format, args);

  free(error->long_text);
  error->long_text = NULL;
  if (sentence == fresh) {
    memcpy(error->text, fresh, sizeof fresh);
  } else {
    error->long_text = sentence;
    error->text[0] = '\0';
  }
  error->code = code;
}

tdt_status tdt_error_set(tdt_error *error, tdt_status code, const char *format, ...) {
  if (error == NULL) {
    return code;
  }
  va_list args;
  va_start(args, format);
  set_sentence(error, code, format, args);
  va_end(args);
  return code;
}

void tdt_error_clear(tdt_error *error) {
  if (error == NULL) {
    return;
  }
  free(error->long_text);
  *error = (tdt_error)TDT_ERROR_INIT;
}

tdt_status tdt__fail_memory(tdt_error *error) {
  return tdt_error_set(error, TDT_ENOMEM, "%s", tdt_status_text(TDT_ENOMEM));
}

tdt_status tdt__fail_system(tdt_error *error, tdt_status code, int cause, const char *format, ...) {
  if (error == NULL) {
    return code;
  }
  char small[sizeof error->text];
  va_list args;
  va_start(args, format);
  char *what = tdt__text_vformat(small, sizeof small, format, args);
  va_end(args);

  char reason[128];
  (void)tdt_error_set(error, code, "%s: %s", what, strerror_r(cause, reason, sizeof reason));
  if (what != small) {
    free(what);
  }
  return code;
}
