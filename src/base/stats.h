/* SPDX-License-Identifier: MIT */
#ifndef TDT_BASE_STATS_H
#define TDT_BASE_STATS_H

#include <stddef.h>

/* Of n >= 1 finite values. */
double tdt__mean(const double *values, size_t n);

/* Middle value; the mean of the middle two for an even n. Values stay as they are: sorts in
 * `scratch`, which has room for n. */
double tdt__median(const double *values, size_t n, double *scratch);

/* The same, but sorts the values themselves. */
double tdt__median_of(double *values, size_t n);

/* Standard deviation as the median absolute deviation tells it: up to half of the values may be
 * far off. 0 for fewer than two. Sorts in `scratch`, which has room for n. */
double tdt__scatter(const double *values, size_t n, double *scratch);

/* Sample standard deviation divided by the mean; 0 for fewer than two values or a mean of 0. */
double tdt__spread(const double *values, size_t n);

#endif
