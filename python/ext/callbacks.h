/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_CALLBACKS_H
#define TDT_EXT_CALLBACKS_H

#include "compat.h"

#include "miss.h"

/* Puts the callbacks of a tuning, and `miss` as their first argument, into the request. */
void callbacks_install(tdt_request *request, Miss *miss);

/* The arguments of the call as a tuple, and its keywords as a dict: new references. */
PyObject *call_args_tuple(const Call *call);
PyObject *call_kwargs_dict(const Call *call);

#endif
