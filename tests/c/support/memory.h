/* SPDX-License-Identifier: MIT */
#ifndef TDT_TESTS_MEMORY_H
#define TDT_TESTS_MEMORY_H

#include <stdbool.h>

/*
 * Memory that runs out when told to. The linker puts it in place of the allocator: the program is
 * linked with the dependency `memory` of meson.build. Each thread has a script of its own.
 */

/* Allocation number `at` of this thread (1 is the next) fails, alone or with all after it. */
void memory_arm(long at, bool from_then_on);

/* None fails any more; whether that one was reached. */
bool memory_disarm(void);

/* Blocks of all threads that were not given back yet. */
long memory_live(void);

/* jansson calls the C library by itself and is not reached by the linker. */
void memory_give_to_jansson(void);
/* It has all the memory it wants again. */
void memory_spare_jansson(void);

#endif
