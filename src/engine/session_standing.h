/* SPDX-License-Identifier: MIT */
#ifndef TDT_ENGINE_SESSION_STANDING_H
#define TDT_ENGINE_SESSION_STANDING_H

#include "engine/session.h"

/* Where a rank stands between two passes, in texts that must be equal on all ranks; whoever reads
 * that they are not sees what differs. */
typedef struct tdt__standing {
  char *plan;
  char *kernels;    /* that are being tuned, with their keys, in the order of their launches */
  char *candidates; /* of each of those */
  char *launches;   /* how far each of those is */
} tdt__standing;

/* False: out of memory. Close it in any case. */
bool tdt__standing_open(tdt__standing *made, const tdt_session *session);
void tdt__standing_close(tdt__standing *made);

#endif
