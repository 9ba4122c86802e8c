/* SPDX-License-Identifier: MIT */
#ifndef TDT_BASE_CLOCK_H
#define TDT_BASE_CLOCK_H

#include <stdint.h>

/* Monotonic, from an arbitrary start. */
uint64_t tdt__clock_ns(void);

/* Now in UTC: "2026-11-29T12:00:00Z", and for file names "20261129T120000.123456Z". */
#define TDT__DATE_SIZE 32
void tdt__clock_date(char date[TDT__DATE_SIZE]);
void tdt__clock_stamp(char stamp[TDT__DATE_SIZE]);

#endif
