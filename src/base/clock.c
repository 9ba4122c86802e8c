/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include <stdio.h>
#include <time.h>

uint64_t tdt__clock_ns(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* Writes the present second in UTC as `format` says; returns the rest in microseconds. */
static unsigned format_now(char date[TDT__DATE_SIZE], const char *format) {
  struct timespec now;
  struct tm utc = {0};
  (void)clock_gettime(CLOCK_REALTIME, &now);
  (void)gmtime_r(&now.tv_sec, &utc);
  if (strftime(date, TDT__DATE_SIZE, format, &utc) == 0) {
    date[0] = '\0';
  }
  return (unsigned)now.tv_nsec / 1000U;
}

void tdt__clock_date(char date[TDT__DATE_SIZE]) {
  (void)format_now(date, "%Y-%m-%dT%H:%M:%SZ");
}

void tdt__clock_stamp(char stamp[TDT__DATE_SIZE]) {
  char second[TDT__DATE_SIZE];
  unsigned micros = format_now(second, "%Y%m%dT%H%M%S");
  (void)snprintf(stamp, TDT__DATE_SIZE, "%.23s.%06uZ", second, micros % 1000000U);
}
