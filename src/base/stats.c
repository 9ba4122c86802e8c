/* SPDX-License-Identifier: MIT */
#include "base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double tdt__mean(const double *values, size_t n) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) {
    sum += values[i];
  }
  if (isfinite(sum)) {
    return sum / (double)n;
  }
  /* Finite values have a finite mean, also where their sum is too large. */
  double mean = 0.0;
  for (size_t i = 0; i < n; i++) {
    mean += values[i] / (double)n;
  }
  return mean;
}

static int compare(const void *left, const void *right) {
  double a = *(const double *)left;
  double b = *(const double *)right;
  return (a > b) - (a < b);
}

double tdt__median_of(double *values, size_t n) {
  qsort(values, n, sizeof *values, compare);
  double upper = values[n / 2];
  if (n % 2 == 1) {
    return upper;
  }
  double lower = values[n / 2 - 1];
  return lower / 2 + upper / 2;
}

double tdt__median(const double *values, size_t n, double *scratch) {
  memcpy(scratch, values, n * sizeof *values);
  return tdt__median_of(scratch, n);
}

double tdt__scatter(const double *values, size_t n, double *scratch) {
  if (n < 2) {
    return 0.0;
  }
  const double middle = tdt__median(values, n, scratch);
  for (size_t i = 0; i < n; i++) {
    scratch[i] = fabs(values[i] - middle);
  }
  return 1.4826 * tdt__median_of(scratch, n); /* of a normal distribution, its standard deviation */
}

double tdt__spread(const double *values, size_t n) {
  if (n < 2) {
    return 0.0;
  }
  double mean = tdt__mean(values, n);
  if (mean == 0.0) {
    return 0.0;
  }
  /* Relative to the mean from the start: squares of large values would not fit. */
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) {
    double off = (values[i] - mean) / mean;
    sum += off * off;
  }
  return sqrt(sum / (double)(n - 1));
}
