/* SPDX-License-Identifier: MIT */
#ifndef TDT_MODEL_HARDWARE_H
#define TDT_MODEL_HARDWARE_H

#include <stddef.h>
#include <stdio.h>

/* The processor's name as /proc/cpuinfo gives it, "" where it gives none. */
void tdt__cpu_model(FILE *cpuinfo, char *model, size_t size);

#endif
