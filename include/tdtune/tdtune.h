/* SPDX-License-Identifier: MIT */
#ifndef TDTUNE_TDTUNE_H
#define TDTUNE_TDTUNE_H

/*
 * tdtune picks the fastest of several ways to run something, where it will really run, remembers
 * the answer, and gets out of the way. This header brings everything:
 *
 *   context + space + tuner   what is tuned, and the two calls that matter: lookup and resolve
 *   session                   kernels tuned inside the function that launches them
 *   plan, settings            how often candidates run; what happens on a miss
 *   device, group             where time comes from; how ranks agree
 *   store, record, identity   what is remembered, and what it belongs to
 *   status, log               how failures and news are told
 *
 * Rules that hold everywhere:
 *
 *   Errors     Every call that can fail returns a tdt_status and takes a tdt_error that may be
 *              NULL. Outputs are written on success only. No call aborts the process or prints.
 *   Ownership  create/destroy and open/close come in pairs, the second of each takes NULL. What a
 *              call hands over says how it is freed; everything else is borrowed as stated.
 *   Text       NUL-terminated UTF-8.
 *   Units      are part of the name: _ms, _s, n_ (a count), _size (bytes).
 *   Threads    Objects that never change (space, record) may be read by any number of threads;
 *              tuner, store and context may be used by several at once; destroying is for the last.
 *   Fork       A child may go on using all it inherited: what was remembered is there, tunings of
 *              the parent's other threads are not.
 *   Environment  is read by tdt_settings_from_environment() and tdt_store_default_root() only.
 */

#include <tdtune/device.h>
#include <tdtune/group.h>
#include <tdtune/identity.h>
#include <tdtune/log.h>
#include <tdtune/mpi.h>
#include <tdtune/plan.h>
#include <tdtune/record.h>
#include <tdtune/session.h>
#include <tdtune/settings.h>
#include <tdtune/space.h>
#include <tdtune/status.h>
#include <tdtune/store.h>
#include <tdtune/tuner.h>
#include <tdtune/version.h>

#endif
