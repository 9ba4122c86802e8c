/* SPDX-License-Identifier: MIT */
#ifndef TDT_ENGINE_SESSION_SITES_H
#define TDT_ENGINE_SESSION_SITES_H

#include "engine/session_site.h"

/*
 * All sites of a session in the order in which they were first reached. `slots` is a hash table
 * with open addressing from kernel and key to the index of the site, TDT_NONE where empty; its
 * length is a power of two and at least twice `n`.
 */
typedef struct tdt__sites {
  tdt__site **items; /* each owned; room for half of n_slots */
  size_t n;
  size_t *slots;
  size_t n_slots;
} tdt__sites;

/* NULL: there is none. */
tdt__site *tdt__sites_find(const tdt__sites *sites, const char *kernel, const char *key);

/* Takes the site over, which must not be in it yet. TDT_ENOMEM: it stays the caller's. */
tdt_status tdt__sites_add(tdt__sites *sites, tdt__site *site, tdt_error *error);

size_t tdt__sites_count_open(const tdt__sites *sites);
void tdt__sites_drop_open(tdt__sites *sites);
void tdt__sites_clear(tdt__sites *sites);

#endif
