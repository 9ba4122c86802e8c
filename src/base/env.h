/* SPDX-License-Identifier: MIT */
#ifndef TDT_BASE_ENV_H
#define TDT_BASE_ENV_H

#include <stdbool.h>

#include <tdtune/status.h>

/*
 * The one place that reads the environment, and the one table of what is read. An empty value
 * counts as unset everywhere.
 */
#define TDT__ENV_LIST(X)                                                                           \
  X(ALWAYS_TUNE, "TRITON_DIST_AUTOTUNE_ALWAYS_TUNE")                                               \
  X(VERSION_CHECK, "TRITON_DIST_AUTOTUNE_VERSION_CHECK")                                           \
  X(ON_MISS, "TRITON_DIST_AUTOTUNE_ON_MISS")                                                       \
  X(RANK_TIMEOUT, "TRITON_DIST_AUTOTUNE_RANK_TIMEOUT")                                             \
  X(COMPILE_WORKERS, "TRITON_DIST_AUTOTUNE_COMPILE_WORKERS")                                       \
  X(DIR, "TRITON_DIST_AUTOTUNE_DIR")                                                               \
  X(HOME, "HOME")                                                                                  \
  X(TMPDIR, "TMPDIR")                                                                              \
  X(WORLD_SIZE, "WORLD_SIZE")                                                                      \
  X(OMPI_WORLD_SIZE, "OMPI_COMM_WORLD_SIZE")                                                       \
  X(PMI_SIZE, "PMI_SIZE")                                                                          \
  X(SLURM_NTASKS, "SLURM_NTASKS")                                                                  \
  X(LOCAL_WORLD_SIZE, "LOCAL_WORLD_SIZE")                                                          \
  X(OMPI_LOCAL_SIZE, "OMPI_COMM_WORLD_LOCAL_SIZE")                                                 \
  X(MPI_LOCAL_SIZE, "MPI_LOCALNRANKS")                                                             \
  X(SLURM_LOCAL_SIZE, "SLURM_NTASKS_PER_NODE")

typedef enum tdt__env {
#define TDT__ENV_ENUM_(id, name) TDT__ENV_##id,
  TDT__ENV_LIST(TDT__ENV_ENUM_)
#undef TDT__ENV_ENUM_
} tdt__env;

const char *tdt__env_name(tdt__env variable);

/* Its value, borrowed until the environment changes; NULL if unset or empty. */
const char *tdt__env_value(tdt__env variable);

/* A switch: *on becomes true for "1", false for "0", and stays for unset. Else TDT_EINVAL. */
tdt_status tdt__env_switch(tdt__env variable, bool *on, tdt_error *error);

/* Seconds, a finite number above 0: *seconds stays for unset. Else TDT_EINVAL. */
tdt_status tdt__env_seconds(tdt__env variable, double *seconds, tdt_error *error);

/* A whole number from 0 on: unset or not a number gives `otherwise`. */
long tdt__env_count(tdt__env variable, long otherwise);

#endif
