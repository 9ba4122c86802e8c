/* SPDX-License-Identifier: MIT */
#ifndef TDT_BASE_LOGGER_H
#define TDT_BASE_LOGGER_H

#include <tdtune/log.h>

/* Formats and hands on one line, if `log` (may be NULL) wants the level. Never under a lock. */
void tdt__log(const tdt_log *log, tdt_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
