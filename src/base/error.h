/* SPDX-License-Identifier: MIT */
#ifndef TDT_BASE_ERROR_H
#define TDT_BASE_ERROR_H

#include <tdtune/status.h>

/* The first finder of a failure speaks: fills *error (may be NULL) and returns `code`. */
#define tdt__fail tdt_error_set

/* Out of memory: the sentence needs none. Returns TDT_ENOMEM. */
tdt_status tdt__fail_memory(tdt_error *error);

/* A failed system call: the sentence ends with what the errno value `cause` means. */
tdt_status tdt__fail_system(tdt_error *error, tdt_status code, int cause, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
