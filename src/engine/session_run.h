/* SPDX-License-Identifier: MIT */
#ifndef TDT_ENGINE_SESSION_RUN_H
#define TDT_ENGINE_SESSION_RUN_H

#include "engine/session.h"

/*
 * One run of one candidate inside a pass. User code may come back into the session meanwhile:
 * everything that counts (slot, mark, place in the list of runs) is taken before it is called and
 * reached by index afterwards, and whether the pass was ended meanwhile is asked again.
 */
typedef struct tdt__job {
  tdt_session *session;
  tdt__site *site;
  const tdt_launch *launch;
  tdt__slot slot;
} tdt__job;

/* Runs a candidate, timed if it is its turn for that. TDT_OK with *ran false: the candidate failed
 * and another must take its place. Anything else ends the pass. */
tdt_status tdt__session_try(const tdt__job *job, size_t candidate, bool *ran, tdt_error *error);

/* Runs a candidate of a kernel that is not being tuned; what it returns is returned. */
tdt_status tdt__session_just_run(const tdt_launch *launch, size_t candidate, tdt_error *error);

/* Whether a device or group call or a callback that returned this must end all at once, and is no
 * matter of the candidate. */
bool tdt__session_ends(tdt_status status);

/*
 * After a candidate failed with *reason: marks it so, and asks the device whether it still works.
 * TDT_EDEVICE if not, TDT_ENOMEM, TDT_ESTOPPED. *reason is cleared.
 */
tdt_status tdt__session_fail_candidate(tdt_session *session, tdt__site *site, size_t candidate,
                                       tdt_status status, tdt_error *reason, tdt_error *error);

#endif
