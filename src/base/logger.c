/* SPDX-License-Identifier: MIT */
#include "base/logger.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* The log function is promised one line, whatever text of a user's went into it. */
static void join_lines(char *message) {
  for (char *at = message + strcspn(message, "\r\n"); *at != '\0'; at += strcspn(at, "\r\n")) {
    *at = ' ';
  }
}

void tdt__log(const tdt_log *log, tdt_log_level level, const char *format, ...) {
  if (log == NULL || log->write == NULL || level < log->least) {
    return;
  }
  char small[512];
  va_list args;
  va_start(args, format);
  char *message = tdt__text_vformat(small, sizeof small, format, args);
  va_end(args);

  join_lines(message);
  log->write(log->user, level, message);
  if (message != small) {
    free(message);
  }
}
