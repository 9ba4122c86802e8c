/* SPDX-License-Identifier: MIT */
#include "engine/session_sites.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { FIRST_SLOTS = 16 };

static bool is_named(const tdt__site *site, uint64_t hash, const char *kernel, const char *key) {
  return site->name_hash == hash && strcmp(site->kernel, kernel) == 0 &&
         strcmp(site->key, key) == 0;
}

tdt__site *tdt__sites_find(const tdt__sites *sites, const char *kernel, const char *key) {
  if (sites->n == 0) {
    return NULL;
  }
  const uint64_t hash = tdt__site_hash(kernel, key);
  const size_t mask = sites->n_slots - 1;
  for (size_t at = (size_t)hash & mask; sites->slots[at] != TDT_NONE; at = (at + 1) & mask) {
    tdt__site *site = sites->items[sites->slots[at]];
    if (is_named(site, hash, kernel, key)) {
      return site;
    }
  }
  return NULL;
}

static void enter(tdt__sites *sites, size_t index) {
  const size_t mask = sites->n_slots - 1;
  size_t at = (size_t)sites->items[index]->name_hash & mask;
  while (sites->slots[at] != TDT_NONE) {
    at = (at + 1) & mask;
  }
  sites->slots[at] = index;
}

static void enter_all(tdt__sites *sites) {
  for (size_t i = 0; i < sites->n_slots; i++) {
    sites->slots[i] = TDT_NONE;
  }
  for (size_t i = 0; i < sites->n; i++) {
    enter(sites, i);
  }
}

static bool grow(tdt__sites *sites) {
  const size_t n_slots = sites->n_slots > 0 ? 2 * sites->n_slots : FIRST_SLOTS;
  if (n_slots > SIZE_MAX / sizeof(size_t)) {
    return false;
  }
  size_t *slots = malloc(n_slots * sizeof *slots);
  if (slots == NULL) {
    return false;
  }
  tdt__site **items = realloc(sites->items, n_slots / 2 * sizeof(tdt__site *));
  if (items == NULL) {
    free(slots);
    return false;
  }
  free(sites->slots);
  sites->slots = slots;
  sites->n_slots = n_slots;
  sites->items = items;
  enter_all(sites);
  return true;
}

tdt_status tdt__sites_add(tdt__sites *sites, tdt__site *site, tdt_error *error) {
  if (2 * sites->n >= sites->n_slots && !grow(sites)) {
    return tdt__fail_memory(error);
  }
  sites->items[sites->n] = site;
  enter(sites, sites->n);
  sites->n++;
  return TDT_OK;
}

size_t tdt__sites_count_open(const tdt__sites *sites) {
  size_t n_open = 0;
  for (size_t i = 0; i < sites->n; i++) {
    n_open += tdt__site_open(sites->items[i]) ? 1 : 0;
  }
  return n_open;
}

void tdt__sites_drop_open(tdt__sites *sites) {
  size_t kept = 0;
  for (size_t i = 0; i < sites->n; i++) {
    tdt__site *site = sites->items[i];
    if (tdt__site_open(site)) {
      tdt__site_destroy(site);
    } else {
      sites->items[kept++] = site;
    }
  }
  sites->n = kept;
  enter_all(sites);
}

void tdt__sites_clear(tdt__sites *sites) {
  for (size_t i = 0; i < sites->n; i++) {
    tdt__site_destroy(sites->items[i]);
  }
  free(sites->items);
  free(sites->slots);
  *sites = (tdt__sites){0};
}
