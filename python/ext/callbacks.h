/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_CALLBACKS_H
#define TDT_EXT_CALLBACKS_H

#include "compat.h"

#include "miss.h"

/* Puts device, group, callbacks, and `miss` as their first argument, into the request. */
void callbacks_install(tdt_request *request, Miss *miss);

#endif
