/* SPDX-License-Identifier: MIT */
#ifndef TDTUNE_SETTINGS_H
#define TDTUNE_SETTINGS_H

#include <stdbool.h>

#include <tdtune/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What happens where nothing is remembered for a key. */
typedef enum tdt_on_miss {
  TDT_ON_MISS_TUNE = 0,  /* measure the candidates */
  TDT_ON_MISS_FIRST = 1, /* use candidate 0, with one warning a key */
  TDT_ON_MISS_ERROR = 2, /* fail with TDT_EMISS */
} tdt_on_miss;

/* What the environment (or a program, in its place) says about look-ups. Plain data. */
typedef struct tdt_settings {
  size_t size;             /* sizeof(tdt_settings) of the caller */
  bool always_tune;        /* ignore stored results, once per key and process */
  bool check_dependencies; /* do not use a record made with other software */
  tdt_on_miss on_miss;
  double lock_timeout_s; /* longest wait for another process that tunes the same key, then go
                            on without its result; 0 never waits */
  double rank_timeout_s; /* longest wait for the other ranks of a group; above 0 */
  unsigned n_workers;    /* most threads that prepare candidates; 0 or 1: the calling thread does */
} tdt_settings;

/* The defaults: tune on a miss, use what is stored, wait at most 600 s for other processes and
 * ranks, prepare with as many threads as this process may use cores. Reads no environment. */
TDT_EXPORT tdt_settings tdt_settings_default(void);

/*
 * The defaults, overridden by what the environment says now:
 *   TRITON_DIST_AUTOTUNE_ALWAYS_TUNE    0 or 1
 *   TRITON_DIST_AUTOTUNE_VERSION_CHECK  0 or 1
 *   TRITON_DIST_AUTOTUNE_ON_MISS        tune, first or error
 *   TRITON_DIST_AUTOTUNE_RANK_TIMEOUT   seconds, a number above 0
 *   TRITON_DIST_AUTOTUNE_COMPILE_WORKERS  threads, a whole number above 0
 * An empty value counts as unset. Where the environment announces several ranks (WORLD_SIZE,
 * OMPI_COMM_WORLD_SIZE, PMI_SIZE or SLURM_NTASKS above 1), lock_timeout_s is 0: ranks that wait
 * for one another's files could wait for ever. Where it tells how many ranks this machine has
 * (LOCAL_WORLD_SIZE, OMPI_COMM_WORLD_LOCAL_SIZE, MPI_LOCALNRANKS, else SLURM_NTASKS_PER_NODE), they
 * share its cores, and n_workers is this rank's share.
 *
 * Returns TDT_EINVAL for any other value, naming the variable, the value and what is allowed;
 * *settings is then untouched. Not to be called while another thread changes the environment.
 */
TDT_EXPORT tdt_status tdt_settings_from_environment(tdt_settings *settings, tdt_error *error);

#ifdef __cplusplus
}
#endif

#endif
