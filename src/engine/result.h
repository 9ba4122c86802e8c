/* SPDX-License-Identifier: MIT */
#ifndef TDT_ENGINE_RESULT_H
#define TDT_ENGINE_RESULT_H

#include "engine/request.h"
#include "engine/slate.h"

/*
 * The record of what a slate knows: the live candidates in their order, then those that only the
 * old record had, as far as they could be of use again. `winner` is a live candidate or TDT_NONE.
 * TDT_ENOMEM.
 */
tdt_status tdt__result_record(const tdt__call *call, const tdt__slate *slate, size_t winner,
                              bool complete, tdt_record **record, tdt_error *error);

/* Saves that record, if there is a store. One that cannot be used is a warning, once. TDT_ENOMEM,
 * which is a warning as well where other ranks go by the result already. */
tdt_status tdt__result_save(const tdt__call *call, const tdt__slate *slate, size_t winner,
                            bool complete, tdt_error *error);

#endif
