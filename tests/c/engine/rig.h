/* SPDX-License-Identifier: MIT */
#ifndef TDT_TESTS_RIG_H
#define TDT_TESTS_RIG_H

#include <string.h>

#include "harness.h"

#include <tdtune/tdtune.h>

/*
 * One scripted world: candidates whose runs take the time that the script says on a clock that
 * only launches move, a device that counts its calls, a log that is kept, a store in a folder of
 * its own. Give it as cmocka's state with rig_setup and rig_teardown. For one thread.
 */
enum { RIG_MOST = 32 };

typedef struct rig_candidate {
  double cost_ms;
  const char *fails; /* reason of a failing launch; NULL: it runs */
  tdt_status status; /* of a failing launch; TDT_OK means TDT_ELAUNCH */
  unsigned from_run; /* the first run that fails */
  bool ruins;        /* the device, in failing */
  bool pruned;
  unsigned n_launched;
  unsigned n_discarded;
  unsigned n_prune_asked;
} rig_candidate;

typedef struct rig_calls {
  unsigned reserve, mark, elapsed, synchronize, capturing, delay;
} rig_calls;

typedef struct rig {
  char root[256];
  tdt_context *context;
  tdt_space *space;
  tdt_tuner *tuner;
  tdt_store *store;
  tdt_settings settings;
  const tdt_plan *plan; /* of the next tuner; NULL: the documented one */
  tdt_request request;

  rig_candidate candidates[RIG_MOST];
  size_t n_candidates;
  unsigned n_launched; /* in all */
  size_t order[4096];  /* which candidate each of those was */
  size_t stop_at;      /* the launch that stops the tuning, 0: none; counted from 1 */

  tdt_device_table table;
  tdt_device device;
  rig_calls calls;
  double now_ms;
  double marks_ms[256];
  bool ruined;
  bool is_capturing;
  const char *mark_fails;
  const char *elapsed_fails;
  bool synchronize_fails_once;
  const char *delay_fails;
  double delay_ms;       /* the last one asked for */
  unsigned n_max_queued; /* most launches between two waits for the device */
  unsigned n_queued;

  char *log; /* all lines, each with its level's letter and a newline */
  size_t log_size;
  unsigned n_warnings;
  unsigned n_progress;
  tdt_progress last_progress;
} rig;

int rig_setup(void **state);
int rig_teardown(void **state);

/* Candidates {"c":values[i]}, each costing as many ms as its value, on a new tuner and space. The
 * world's store stays: this is what a later process sees. */
void rig_offer(rig *r, size_t n, const int *values);
/* The same candidates, nothing remembered. */
void rig_restart(rig *r);

/* Resolves `key`, which must succeed; the counters start at 0. */
tdt_choice rig_resolve(rig *r, const char *key);
/* Resolves `key`, which must fail so; the text is borrowed until the next call. */
const char *rig_fail(rig *r, const char *key, tdt_status expected);
void rig_reset_counters(rig *r);
/* What the script says of one run of a candidate. */
tdt_status rig_launch(rig *r, size_t candidate, tdt_error *error);

/* The stored record of `key`; NULL if there is none. */
tdt_record *rig_record(rig *r, const char *key);
tdt_identity rig_identity(const rig *r, const char *key);
/* Files in the folder of the function whose names contain `part`. */
size_t rig_count_files(const rig *r, const char *part);

#endif
