/* SPDX-License-Identifier: MIT */
#ifndef TDT_ENGINE_SESSION_AGREE_H
#define TDT_ENGINE_SESSION_AGREE_H

#include "engine/session.h"

/*
 * What ranks exchange between two passes: one check, and if any site is open one vector of failures
 * and one of times. Which exchanges there are, and how long, depends only on what the check
 * compared, so ranks cannot wait for one another in different ones. A rank that failed takes part
 * in the next exchange with a flag raised before it gives up. A process alone exchanges nothing.
 */

/* Room for all of it, so that nothing after the check needs memory. TDT_ENOMEM. */
tdt_status tdt__session_agree_prepare(tdt_session *session, tdt_error *error);

/*
 * Whether all ranks got as far as this one and stand at the same slots of the same sites. `own` is
 * how it went here, and is returned if that is a failure (*error is left alone then). TDT_EGROUP
 * names the rank that failed or says what differs.
 */
tdt_status tdt__session_agree_check(tdt_session *session, tdt_status own, tdt_error *error);

/* Sets `dropped` wherever a candidate of an open site failed on any rank. TDT_EGROUP. */
tdt_status tdt__session_agree_failures(tdt_session *session, tdt_error *error);

/* Makes the times of sites that are through the greatest over all ranks. `own` as above. */
tdt_status tdt__session_agree_times(tdt_session *session, tdt_status own, tdt_error *error);

#endif
