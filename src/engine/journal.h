/* SPDX-License-Identifier: MIT */
#ifndef TDT_ENGINE_JOURNAL_H
#define TDT_ENGINE_JOURNAL_H

#include "base/text.h"
#include "engine/request.h"
#include "engine/slate.h"

/*
 * The story of one tuning: each line goes to the call's log, and with its time and more detail into
 * a text that is put beside the record in the end. A line that finds no memory is missing there.
 */
typedef struct tdt__journal {
  const tdt__call *call;
  tdt__text text; /* stays empty where there is no store */
} tdt__journal;

void tdt__journal_open(tdt__journal *journal, const tdt__call *call);

/* What is about to be measured. */
void tdt__journal_begin(tdt__journal *journal, const tdt__slate *slate);

/* What came out for one candidate. */
void tdt__journal_timing(tdt__journal *journal, size_t candidate, const tdt__timing *timing);

/* The winner and what it gains over the first candidate that could run. */
void tdt__journal_winner(tdt__journal *journal, const tdt__slate *slate, size_t winner);

/* Why the tuning ended without a winner. */
void tdt__journal_failure(tdt__journal *journal, const tdt_error *error);

/* Saves the text beside the record and frees it. A store that cannot be used is a warning, once. */
void tdt__journal_close(tdt__journal *journal);

#endif
