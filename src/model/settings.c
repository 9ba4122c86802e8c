/* SPDX-License-Identifier: MIT */
#include <tdtune/settings.h>

#include <string.h>

#include "base/cpus.h"
#include "base/env.h"
#include "base/error.h"

tdt_settings tdt_settings_default(void) {
  return (tdt_settings){
      .size = sizeof(tdt_settings),
      .always_tune = false,
      .check_dependencies = false,
      .on_miss = TDT_ON_MISS_TUNE,
      .lock_timeout_s = 600.0,
      .rank_timeout_s = 600.0,
      .n_workers = tdt__cpus_usable(),
  };
}

static tdt_status read_on_miss(tdt_on_miss *on_miss, tdt_error *error) {
  static const char *const words[] = {
      [TDT_ON_MISS_TUNE] = "tune",
      [TDT_ON_MISS_FIRST] = "first",
      [TDT_ON_MISS_ERROR] = "error",
  };
  const char *value = tdt__env_value(TDT__ENV_ON_MISS);
  if (value == NULL) {
    return TDT_OK;
  }
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (strcmp(value, words[i]) == 0) {
      *on_miss = (tdt_on_miss)i;
      return TDT_OK;
    }
  }
  return tdt__fail(error, TDT_EINVAL, "%s must be tune, first or error, not \"%s\"",
                   tdt__env_name(TDT__ENV_ON_MISS), value);
}

static bool several_ranks_announced(void) {
  static const tdt__env announcements[] = {
      TDT__ENV_WORLD_SIZE,
      TDT__ENV_OMPI_WORLD_SIZE,
      TDT__ENV_PMI_SIZE,
      TDT__ENV_SLURM_NTASKS,
  };
  for (size_t i = 0; i < sizeof announcements / sizeof announcements[0]; i++) {
    if (tdt__env_count(announcements[i], 1) > 1) {
      return true;
    }
  }
  return false;
}

/* This rank's share of the cores, unless the number of threads is given. */
static tdt_status read_workers(unsigned *n_workers, tdt_error *error) {
  static const tdt__env local_sizes[] = {
      TDT__ENV_LOCAL_WORLD_SIZE,
      TDT__ENV_OMPI_LOCAL_SIZE,
      TDT__ENV_MPI_LOCAL_SIZE,
      TDT__ENV_SLURM_LOCAL_SIZE,
  };
  enum { MOST = 4096 };
  if (tdt__env_value(TDT__ENV_COMPILE_WORKERS) != NULL) {
    const long given = tdt__env_count(TDT__ENV_COMPILE_WORKERS, 0);
    if (given < 1) {
      return tdt__fail(error, TDT_EINVAL, "%s must be a whole number above 0, not \"%s\"",
                       tdt__env_name(TDT__ENV_COMPILE_WORKERS),
                       tdt__env_value(TDT__ENV_COMPILE_WORKERS));
    }
    *n_workers = (unsigned)(given < MOST ? given : MOST);
    return TDT_OK;
  }
  for (size_t i = 0; i < sizeof local_sizes / sizeof local_sizes[0]; i++) {
    const long n_ranks = tdt__env_count(local_sizes[i], 0);
    if (n_ranks > 0) {
      *n_workers = n_ranks < (long)*n_workers ? *n_workers / (unsigned)n_ranks : 1;
      break;
    }
  }
  return TDT_OK;
}

tdt_status tdt_settings_from_environment(tdt_settings *settings, tdt_error *error) {
  tdt_settings read = tdt_settings_default();
  tdt_status status = tdt__env_switch(TDT__ENV_ALWAYS_TUNE, &read.always_tune, error);
  if (status == TDT_OK) {
    status = tdt__env_switch(TDT__ENV_VERSION_CHECK, &read.check_dependencies, error);
  }
  if (status == TDT_OK) {
    status = read_on_miss(&read.on_miss, error);
  }
  if (status == TDT_OK) {
    status = tdt__env_seconds(TDT__ENV_RANK_TIMEOUT, &read.rank_timeout_s, error);
  }
  if (status == TDT_OK) {
    status = read_workers(&read.n_workers, error);
  }
  if (status != TDT_OK) {
    return status;
  }
  if (several_ranks_announced()) {
    read.lock_timeout_s = 0.0;
  }
  *settings = read;
  return TDT_OK;
}
