/* SPDX-License-Identifier: MIT */
#ifndef TDT_TESTS_HARNESS_H
#define TDT_TESTS_HARNESS_H

/* cmocka wants these four before it, in this order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#define N_OF(array) (sizeof(array) / sizeof((array)[0]))

/* That `part` stands somewhere in `text`; prints both where it does not. */
#define assert_contains(text, part)                                                                \
  do {                                                                                             \
    const char *text_ = (text);                                                                    \
    const char *part_ = (part);                                                                    \
    if (strstr(text_, part_) == NULL) {                                                            \
      fail_msg("\"%s\" does not contain \"%s\"", text_, part_);                                    \
    }                                                                                              \
  } while (0)

#endif
