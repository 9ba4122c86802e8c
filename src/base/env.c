/* SPDX-License-Identifier: MIT */
#include "base/env.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static const char *const names[] = {
#define ENV_NAME(id, name) [TDT__ENV_##id] = (name),
    TDT__ENV_LIST(ENV_NAME)
#undef ENV_NAME
};

const char *tdt__env_name(tdt__env variable) {
  return names[variable];
}

const char *tdt__env_value(tdt__env variable) {
  const char *value = getenv(names[variable]);
  return value != NULL && value[0] != '\0' ? value : NULL;
}

tdt_status tdt__env_switch(tdt__env variable, bool *on, tdt_error *error) {
  const char *value = tdt__env_value(variable);
  if (value == NULL) {
    return TDT_OK;
  }
  if (strcmp(value, "0") != 0 && strcmp(value, "1") != 0) {
    return tdt__fail(error, TDT_EINVAL, "%s must be 0 or 1, not \"%s\"", names[variable], value);
  }
  *on = value[0] == '1';
  return TDT_OK;
}

/* Digits and a point, as everywhere in the environment; the locale has no say. */
static bool read_decimal(const char *text, double *number) {
  double whole = 0.0;
  double unit = 1.0;
  bool digits = false;
  bool point = false;
  for (; *text != '\0'; text++) {
    if (*text == '.' && !point) {
      point = true;
    } else if (*text >= '0' && *text <= '9') {
      digits = true;
      whole = 10.0 * whole + (*text - '0');
      unit = point ? 10.0 * unit : unit;
    } else {
      return false;
    }
  }
  *number = whole / unit;
  return digits;
}

tdt_status tdt__env_seconds(tdt__env variable, double *seconds, tdt_error *error) {
  const char *value = tdt__env_value(variable);
  double number;
  if (value == NULL) {
    return TDT_OK;
  }
  if (!read_decimal(value, &number) || !isfinite(number) || !(number > 0.0)) {
    return tdt__fail(error, TDT_EINVAL, "%s must be a number of seconds above 0, not \"%s\"",
                     names[variable], value);
  }
  *seconds = number;
  return TDT_OK;
}

long tdt__env_count(tdt__env variable, long otherwise) {
  const char *value = tdt__env_value(variable);
  if (value == NULL || value[strspn(value, "0123456789")] != '\0') {
    return otherwise;
  }
  /* Digits only: the one thing that can go wrong is a number above LONG_MAX, which it becomes. */
  return strtol(value, NULL, 10);
}
