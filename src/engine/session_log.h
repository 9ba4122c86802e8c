/* SPDX-License-Identifier: MIT */
#ifndef TDT_ENGINE_SESSION_LOG_H
#define TDT_ENGINE_SESSION_LOG_H

#include "engine/session.h"

/* The events of docs/contextual.md, one a line. Never while the time of a launch is taken. */
void tdt__session_log_found(const tdt_session *session, const tdt__site *site);
void tdt__session_log_run(const tdt_session *session, const tdt__run *run);
/* The candidate could run here, but not on another rank. */
void tdt__session_log_dropped(const tdt_session *session, const tdt__site *site, size_t candidate,
                              const char *reason);
void tdt__session_log_mean(const tdt_session *session, const tdt__site *site, size_t candidate);
void tdt__session_log_best(const tdt_session *session, const tdt__site *site);
void tdt__session_log_pass(const tdt_session *session, tdt_status status, const tdt_error *error);

#endif
