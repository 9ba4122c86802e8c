/* SPDX-License-Identifier: MIT */
#ifndef TDTUNE_GROUP_H
#define TDTUNE_GROUP_H

#include <stdint.h>

#include <tdtune/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TDT_GROUP_ABI 1

/*
 * How the ranks that tune together talk. Every rank makes the same calls in the same order. A
 * function that fails returns TDT_EGROUP and names the reason; the tuning then ends with it.
 */
typedef struct tdt_group_table {
  uint32_t abi;     /* TDT_GROUP_ABI */
  uint32_t size;    /* sizeof(tdt_group_table) of who filled it */
  const char *name; /* of the implementation, for messages */

  /* Puts into each of the n values the greatest over all ranks (an all-reduce). A candidate that
   * failed on a rank travels as infinity. */
  tdt_status (*max)(void *self, double *values, size_t n_values, tdt_error *error);
} tdt_group_table;

/* A group in use. Plain data, borrowed by the calls it is given to. */
typedef struct tdt_group {
  const tdt_group_table *table;
  void *self;
  unsigned rank;    /* 0 .. n_ranks-1 */
  unsigned n_ranks; /* at least 1 */
} tdt_group;

/* This process alone. Holds nothing, needs no freeing. */
TDT_EXPORT tdt_group tdt_group_self(void);

#ifdef __cplusplus
}
#endif

#endif
