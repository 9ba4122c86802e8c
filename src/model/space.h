/* SPDX-License-Identifier: MIT */
#ifndef TDT_MODEL_SPACE_H
#define TDT_MODEL_SPACE_H

#include <tdtune/space.h>

/* Index of the first candidate with this canonical description, TDT_NONE if there is none.
 * Constant time. */
size_t tdt__space_find(const tdt_space *space, const char *config);

#endif
