/* SPDX-License-Identifier: MIT */
#ifndef TDTUNE_RECORD_H
#define TDTUNE_RECORD_H

#include <stdbool.h>

#include <tdtune/identity.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What one tuning found out, as it is stored. Never changes; any number of threads may read it. */
typedef struct tdt_record tdt_record;

typedef enum tdt_outcome {
  TDT_OUTCOME_UNKNOWN = 0, /* not measured: the tuning was interrupted before its turn */
  TDT_OUTCOME_TIMED = 1,
  TDT_OUTCOME_FAILED = 2,
  TDT_OUTCOME_PRUNED = 3,
} tdt_outcome;

/* One candidate of a record. All pointers are borrowed until the record is destroyed. */
typedef struct tdt_candidate {
  const char *config; /* canonical JSON text */
  tdt_outcome outcome;
  double time_ms;           /* the figure that was compared; meaningful if TIMED */
  const double *samples_ms; /* the timed runs it was made of */
  size_t n_samples;
  const char *error; /* why it failed; NULL otherwise */
} tdt_candidate;

/* No candidate. */
#define TDT_NONE ((size_t)-1)

/*
 * Reads a record from the file `path`.
 * Returns TDT_ENOENT (no such file), TDT_EIO, TDT_EFORMAT (cut off, foreign, of a newer format, too
 * large; the error names file and place), TDT_ENOMEM. Free with tdt_record_destroy().
 */
TDT_EXPORT tdt_status tdt_record_load(const char *path, tdt_record **record, tdt_error *error);

TDT_EXPORT void tdt_record_destroy(tdt_record *record);

/* Candidates in the order in which they were offered, then those only earlier tunings had. */
TDT_EXPORT size_t tdt_record_n_candidates(const tdt_record *record);

/* Candidate `index`. Returns TDT_EINVAL where there is none. */
TDT_EXPORT tdt_status tdt_record_candidate(const tdt_record *record, size_t index,
                                           tdt_candidate *candidate, tdt_error *error);

/* Index of the winner, TDT_NONE if the tuning did not get that far. */
TDT_EXPORT size_t tdt_record_best(const tdt_record *record);

/* Whether every candidate that took part was measured. */
TDT_EXPORT bool tdt_record_complete(const tdt_record *record);

/* What the record belongs to; texts borrowed until it is destroyed. */
TDT_EXPORT tdt_identity tdt_record_identity(const tdt_record *record);

/*
 * The record as the text of its JSON file, and as a table to print: a line for each candidate with
 * its time, spread or reason of failure, the winner and its gain over the first one that ran.
 * *text is the caller's, to be freed with tdt_text_free(). Return TDT_ENOMEM, and the first one
 * TDT_EINVAL where a text in the record is no UTF-8.
 */
TDT_EXPORT tdt_status tdt_record_json(const tdt_record *record, char **text, tdt_error *error);
TDT_EXPORT tdt_status tdt_record_table(const tdt_record *record, char **text, tdt_error *error);

#ifdef __cplusplus
}
#endif

#endif
