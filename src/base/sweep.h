/* SPDX-License-Identifier: MIT */
#ifndef TDT_BASE_SWEEP_H
#define TDT_BASE_SWEEP_H

#define TDT__TEMPORARY_PREFIX ".tmp-"

/* Removes temporary files in the folder that are older than an hour: their writers were killed.
 * As much as it can; says nothing. */
void tdt__sweep_temporaries(int folder);

#endif
