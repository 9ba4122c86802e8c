/* SPDX-License-Identifier: MIT */
#ifndef TDTUNE_SPACE_H
#define TDTUNE_SPACE_H

#include <tdtune/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The candidates, in the caller's order. To the library a candidate is an index and the text of a
 * JSON object that describes its configuration; what the index means stays with the caller. A
 * space never changes after it is made, so any number of threads may read it.
 */
typedef struct tdt_space tdt_space;

/*
 * Makes a space of `n_configs` candidates. Each of `configs` is the NUL-terminated UTF-8 text of
 * one JSON object, for example {"tile":32,"unroll":4}; it is copied, in canonical form (compact,
 * fields sorted). Two candidates may have the same description; a stored result then means the
 * first of them.
 *
 * Returns TDT_EINVAL for no candidate or a text that is no JSON object (the error names the
 * index), TDT_ENOMEM. On failure *space is untouched. Free with tdt_space_destroy().
 */
TDT_EXPORT tdt_status tdt_space_create(const char *const *configs, size_t n_configs,
                                       tdt_space **space, tdt_error *error);

/* Frees the space. NULL is allowed. No tuner made from it may be in use (it keeps no copy). */
TDT_EXPORT void tdt_space_destroy(tdt_space *space);

/* Number of candidates, at least 1. */
TDT_EXPORT size_t tdt_space_size(const tdt_space *space);

/* Canonical description of candidate `index`, borrowed until the space is destroyed; NULL if
 * there is no such candidate. */
TDT_EXPORT const char *tdt_space_config(const tdt_space *space, size_t index);

#ifdef __cplusplus
}
#endif

#endif
