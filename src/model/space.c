/* SPDX-License-Identifier: MIT */
#include "model/space.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tdtune/record.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/json.h"

/*
 * `slots` is a hash table with open addressing from descriptions to the first index that has them,
 * TDT_NONE where empty. Its length is a power of two and at least twice n_configs, so a search
 * always meets an empty slot.
 */
struct tdt_space {
  char **configs;
  size_t n_configs;
  size_t *slots;
  size_t n_slots;
};

/* The slot that holds `config`, or the empty one where it belongs. */
static size_t *find_slot(const tdt_space *space, const char *config) {
  size_t mask = space->n_slots - 1;
  size_t at = (size_t)tdt__hash(config, strlen(config)) & mask;
  while (space->slots[at] != TDT_NONE && strcmp(space->configs[space->slots[at]], config) != 0) {
    at = (at + 1) & mask;
  }
  return &space->slots[at];
}

static size_t slots_for(size_t n_configs) {
  size_t n_slots = 4;
  while (n_slots / 2 < n_configs) {
    n_slots *= 2;
  }
  return n_slots;
}

static tdt_status copy_config(tdt_space *space, const char *config, tdt_error *error) {
  char what[64];
  (void)snprintf(what, sizeof what, "the description of candidate %zu", space->n_configs);
  if (config == NULL) {
    return tdt__fail(error, TDT_EINVAL, "%s is missing", what);
  }
  return tdt__json_canonical(config, what, &space->configs[space->n_configs], error);
}

static tdt_status fill(tdt_space *space, const char *const *configs, size_t n_configs,
                       tdt_error *error) {
  while (space->n_configs < n_configs) {
    tdt_status status = copy_config(space, configs[space->n_configs], error);
    if (status != TDT_OK) {
      return status;
    }
    size_t *slot = find_slot(space, space->configs[space->n_configs]);
    if (*slot == TDT_NONE) {
      *slot = space->n_configs;
    }
    space->n_configs++;
  }
  return TDT_OK;
}

/* A space with room for n_configs >= 1 candidates that has none yet. */
static tdt_space *create_empty(size_t n_configs) {
  if (n_configs > SIZE_MAX / 8 / sizeof(size_t)) {
    return NULL;
  }
  tdt_space *space = calloc(1, sizeof *space);
  if (space == NULL) {
    return NULL;
  }
  space->n_slots = slots_for(n_configs);
  space->configs = calloc(n_configs, sizeof *space->configs);
  space->slots = malloc(space->n_slots * sizeof *space->slots);
  if (space->configs == NULL || space->slots == NULL) {
    tdt_space_destroy(space);
    return NULL;
  }
  for (size_t i = 0; i < space->n_slots; i++) {
    space->slots[i] = TDT_NONE;
  }
  return space;
}

tdt_status tdt_space_create(const char *const *configs, size_t n_configs, tdt_space **space,
                            tdt_error *error) {
  if (configs == NULL || n_configs == 0) {
    return tdt__fail(error, TDT_EINVAL, "there is no candidate to choose from");
  }
  tdt_space *made = create_empty(n_configs);
  if (made == NULL) {
    return tdt__fail_memory(error);
  }
  tdt_status status = fill(made, configs, n_configs, error);
  if (status != TDT_OK) {
    tdt_space_destroy(made);
    return status;
  }
  *space = made;
  return TDT_OK;
}

void tdt_space_destroy(tdt_space *space) {
  if (space == NULL) {
    return;
  }
  for (size_t i = 0; i < space->n_configs; i++) {
    free(space->configs[i]);
  }
  free(space->configs);
  free(space->slots);
  free(space);
}

size_t tdt_space_size(const tdt_space *space) {
  return space->n_configs;
}

const char *tdt_space_config(const tdt_space *space, size_t index) {
  return index < space->n_configs ? space->configs[index] : NULL;
}

size_t tdt__space_find(const tdt_space *space, const char *config) {
  return *find_slot(space, config);
}
