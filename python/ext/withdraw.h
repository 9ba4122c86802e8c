/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_WITHDRAW_H
#define TDT_EXT_WITHDRAW_H

#include "compat.h"

#include "call.h"

/*
 * For a call that ends, by the exception that is raised, before it has asked the engine: tells the
 * other ranks, if there are any, that this one will not come, and why. The exception stays raised
 * (but an interrupt that comes meanwhile takes its place). Returns -1.
 */
int withdraw_call(const AutoTuner *self, const Call *call);

#endif
