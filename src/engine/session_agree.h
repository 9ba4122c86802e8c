/* SPDX-License-Identifier: MIT */
#ifndef TDT_ENGINE_SESSION_AGREE_H
#define TDT_ENGINE_SESSION_AGREE_H

#include "engine/session.h"

/*
 * What ranks exchange between two passes: one round, in which they compare where they stand and
 * tell what failed; and where tunings come to their end, two rounds more and between them one
 * reduction for the times of all of those. A process alone exchanges nothing.
 *
 * All return what tdt__round_hold() does. A rank that fails by itself leaves the talk, and the
 * others learn it from its note.
 */

/* Begins and ends the session's part in the talk of its group; begin waits until no other tuning of
 * this process is over the group. `status` is how the run went, *told why. */
tdt_status tdt__session_talk_begin(tdt_session *session, tdt_error *error);
void tdt__session_talk_end(tdt_session *session, tdt_status status, const tdt_error *told);

/* Another pass begins. */
void tdt__session_talk_goes_on(tdt_session *session);

/* How it ends from here on is the same on all ranks. */
void tdt__session_talk_is_over(tdt_session *session);

/* All ranks got as far as this one and stand at the same slots of the same sites. Sets `dropped`,
 * and the reason, wherever a candidate of an open site failed on any rank. */
tdt_status tdt__session_agree_pass(tdt_session *session, tdt_error *error);

/* Makes the times of sites that are through the greatest over all ranks. */
tdt_status tdt__session_agree_times(tdt_session *session, tdt_error *error);

/* Whether all ranks find the same winners by the same times. Before this nothing is decided: a rank
 * that failed in the reduction must not be the only one that does not know. */
tdt_status tdt__session_agree_winners(tdt_session *session, tdt_error *error);

#endif
