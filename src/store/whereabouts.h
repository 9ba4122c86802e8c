/* SPDX-License-Identifier: MIT */
#ifndef TDT_STORE_WHEREABOUTS_H
#define TDT_STORE_WHEREABOUTS_H

#include <tdtune/store.h>

/*
 * A text that is the same for all processes that write to the same store on the same machine, and
 * differs elsewhere: the machine as it runs now, the file system, the folder. "" where there is no
 * store (NULL). Two processes of one machine that see the folder differently count as two, which
 * costs one writing more. NULL: out of memory. free() it.
 */
char *tdt__store_whereabouts(const tdt_store *store);

#endif
