/* SPDX-License-Identifier: MIT */
#include "engine/select.h"

static bool takes_part(const tdt__slate *slate, size_t candidate, bool queued_only) {
  if (queued_only &&
      (!slate->queued[candidate] || slate->timings[candidate].outcome == TDT_OUTCOME_UNKNOWN)) {
    return false;
  }
  return slate->kept[candidate] && tdt__slate_known(slate, candidate)->outcome == TDT_OUTCOME_TIMED;
}

size_t tdt__select_fastest(const tdt__slate *slate, bool queued_only) {
  size_t fastest = TDT_NONE;
  for (size_t i = 0; i < slate->n; i++) {
    if (!takes_part(slate, i, queued_only)) {
      continue;
    }
    if (fastest == TDT_NONE ||
        tdt__slate_known(slate, i)->time_ms < tdt__slate_known(slate, fastest)->time_ms) {
      fastest = i;
    }
  }
  return fastest;
}
