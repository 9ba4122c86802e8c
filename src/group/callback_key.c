/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>

#include "group/callback.h"

void tdt__callback_key(char key[TDT__PIECE_KEY], uint64_t round, unsigned sender) {
  const bool hint = (round & TDT__HINT_ROUND) != 0;
  (void)snprintf(key, TDT__PIECE_KEY, "%" PRIu64 "/%u%s", round & ~TDT__HINT_ROUND, sender,
                 hint ? "/hint" : "");
}

void tdt__callback_max_key(char key[TDT__PIECE_KEY], uint64_t round, unsigned index,
                           unsigned rank) {
  (void)snprintf(key, TDT__PIECE_KEY, "max%" PRIu64 ".%u/%u", round, index, rank);
}
