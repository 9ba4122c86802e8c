/* SPDX-License-Identifier: MIT */
#ifndef TDT_STORE_SAID_H
#define TDT_STORE_SAID_H

#include <stdatomic.h>
#include <stdbool.h>

/*
 * What was said already. Takes no lock, so that a child forked at any moment can go on with it.
 * For a handful of texts: time grows with their number.
 */
typedef struct tdt__said {
  _Atomic(struct tdt__remark *) last;
} tdt__said;

void tdt__said_init(tdt__said *said);
void tdt__said_clear(tdt__said *said);

/* True once for each different `what`, by whichever thread comes first. Out of memory: true, since
 * twice is better than never. */
bool tdt__said_first_time(tdt__said *said, const char *what);

#endif
