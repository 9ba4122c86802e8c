/* SPDX-License-Identifier: MIT */
#ifndef TDT_BASE_CPUS_H
#define TDT_BASE_CPUS_H

/* Cores that this process may run on, at least 1. */
unsigned tdt__cpus_usable(void);

#endif
