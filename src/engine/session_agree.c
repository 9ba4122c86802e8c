/* SPDX-License-Identifier: MIT */
#include "engine/session_agree.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/digest.h"
#include "base/error.h"
#include "engine/callback.h"

/* On the wire, and nowhere else, a candidate that failed is infinite. */

static bool is_alone(const tdt_session *session) {
  return session->group.n_ranks == 1;
}

/* Above every other rank's number, and above none. */
static double raise_flag(const tdt_session *session, tdt_status own) {
  return own == TDT_OK ? 0.0 : (double)session->group.rank + 1.0;
}

static tdt_status blame(const tdt_session *session, double flag, tdt_error *error) {
  return tdt__fail(error, TDT_EGROUP,
                   "rank %.0f failed in pass %lu of the outer function; see what it says itself",
                   flag - 1.0, session->n_passes);
}

/* -- the check -----------------------------------------------------------------------------------
 */

/* What must be equal on all ranks, from the coarse to the fine: the first that differs is told. */
typedef enum fact {
  FACT_PLAN,
  FACT_N_OPEN,
  FACT_NAMES,
  FACT_CONFIGS,
  FACT_SLOTS,
  N_FACTS,
  /* On the wire each fact comes with its negative, so that MAX gives the greatest and the least. */
  FLAG = 2 * N_FACTS,
  N_VALUES,
} fact;

static const char *const fact_names[N_FACTS] = {
    [FACT_PLAN] = "their plans or their limits of idle passes differ",
    [FACT_N_OPEN] = "they are tuning different numbers of kernels and keys",
    [FACT_NAMES] = "kernels or keys, or the order in which they are first launched, differ",
    [FACT_CONFIGS] = "a kernel's candidates differ",
    [FACT_SLOTS] = "a kernel was launched a different number of times",
};

/* 48 bits: every such number is a double, exactly. */
static double as_value(uint64_t hash) {
  return (double)(hash & UINT64_C(0xffffffffffff));
}

static void chain(uint64_t *hash, uint64_t next) {
  const uint64_t both[] = {*hash, next};
  *hash = tdt__hash(both, sizeof both);
}

static void gather_facts(const tdt_session *session, double facts[N_FACTS]) {
  uint64_t plan = session->n_idle_passes;
  uint64_t names = 0;
  uint64_t configs = 0;
  uint64_t slots = 0;
  chain(&plan, session->plan.n_warmup);
  chain(&plan, session->plan.n_repeat);
  chain(&plan, (uint64_t)session->plan.statistic);
  for (size_t i = 0; i < session->sites.n; i++) {
    const tdt__site *site = session->sites.items[i];
    if (!tdt__site_open(site)) {
      continue;
    }
    chain(&names, site->name_hash);
    chain(&configs, site->configs_hash);
    chain(&slots, (uint64_t)site->step.kind);
    chain(&slots, site->step.position);
    chain(&slots, site->n_used);
  }
  facts[FACT_PLAN] = as_value(plan);
  facts[FACT_N_OPEN] = (double)tdt__sites_count_open(&session->sites);
  facts[FACT_NAMES] = as_value(names);
  facts[FACT_CONFIGS] = as_value(configs);
  facts[FACT_SLOTS] = as_value(slots);
}

tdt_status tdt__session_agree_check(tdt_session *session, tdt_status own, tdt_error *error) {
  if (is_alone(session)) {
    return own;
  }
  double facts[N_FACTS];
  double values[N_VALUES];
  gather_facts(session, facts);
  for (size_t i = 0; i < N_FACTS; i++) {
    values[i] = facts[i];
    values[N_FACTS + i] = -facts[i];
  }
  values[FLAG] = raise_flag(session, own);
  tdt_error told = TDT_ERROR_INIT;
  tdt_status status =
      tdt__call_max(&session->group, values, N_VALUES, own == TDT_OK ? error : &told);
  tdt_error_clear(&told);
  if (own != TDT_OK || status != TDT_OK) {
    return own != TDT_OK ? own : status;
  }
  if (values[FLAG] > 0.0) {
    return blame(session, values[FLAG], error);
  }
  for (size_t i = 0; i < N_FACTS; i++) {
    if (values[i] != -values[N_FACTS + i]) {
      return tdt__fail(error, TDT_EGROUP,
                       "the ranks are not in step after pass %lu of the outer function: %s; rank "
                       "%u has %.0f open tunings",
                       session->n_passes, fact_names[i], session->group.rank, facts[FACT_N_OPEN]);
    }
  }
  return TDT_OK;
}

/* -- failures and times --------------------------------------------------------------------------
 */

tdt_status tdt__session_agree_prepare(tdt_session *session, tdt_error *error) {
  if (is_alone(session)) {
    return TDT_OK;
  }
  size_t n = 1; /* the flag */
  for (size_t i = 0; i < session->sites.n; i++) {
    const tdt__site *site = session->sites.items[i];
    n += tdt__site_open(site) ? site->n_trials : 0;
  }
  if (n <= session->wire_capacity) {
    return TDT_OK;
  }
  double *wire = n <= SIZE_MAX / sizeof *wire ? realloc(session->wire, n * sizeof *wire) : NULL;
  if (wire == NULL) {
    return tdt__fail_memory(error);
  }
  session->wire = wire;
  session->wire_capacity = n;
  return TDT_OK;
}

static void set_dropped(tdt_session *session, const double *wire) {
  for (size_t i = 0; i < session->sites.n; i++) {
    tdt__site *site = session->sites.items[i];
    for (size_t at = 0; tdt__site_open(site) && at < site->n_trials; at++) {
      site->trials[at].dropped = wire != NULL ? isinf(*wire++) : site->trials[at].failed_here;
    }
  }
}

tdt_status tdt__session_agree_failures(tdt_session *session, tdt_error *error) {
  if (is_alone(session)) {
    set_dropped(session, NULL);
    return TDT_OK;
  }
  size_t n = 0;
  for (size_t i = 0; i < session->sites.n; i++) {
    const tdt__site *site = session->sites.items[i];
    for (size_t at = 0; tdt__site_open(site) && at < site->n_trials; at++) {
      session->wire[n++] = site->trials[at].failed_here ? (double)INFINITY : 0.0;
    }
  }
  if (n == 0) {
    return TDT_OK;
  }
  tdt_status status = tdt__call_max(&session->group, session->wire, n, error);
  if (status == TDT_OK) {
    set_dropped(session, session->wire);
  }
  return status;
}

static bool is_through(const tdt__site *site) {
  return tdt__site_open(site) && tdt__site_through(site);
}

/* A rank that failed meanwhile may lack times; what it sends counts for nobody. */
static size_t put_times(tdt_session *session) {
  size_t n = 0;
  for (size_t i = 0; i < session->sites.n; i++) {
    const tdt__site *site = session->sites.items[i];
    for (size_t at = 0; is_through(site) && at < site->n_trials; at++) {
      const tdt__trial *trial = &site->trials[at];
      session->wire[n++] = trial->dropped ? (double)INFINITY : trial->timing.time_ms;
    }
  }
  return n;
}

static void take_times(tdt_session *session) {
  const double *wire = session->wire;
  for (size_t i = 0; i < session->sites.n; i++) {
    tdt__site *site = session->sites.items[i];
    for (size_t at = 0; is_through(site) && at < site->n_trials; at++, wire++) {
      if (!site->trials[at].dropped) {
        site->trials[at].timing.time_ms = *wire;
      }
    }
  }
}

tdt_status tdt__session_agree_times(tdt_session *session, tdt_status own, tdt_error *error) {
  if (is_alone(session) || tdt__sites_count_open(&session->sites) == 0) {
    return own;
  }
  const size_t n = put_times(session);
  session->wire[n] = raise_flag(session, own);
  tdt_error told = TDT_ERROR_INIT;
  tdt_status status =
      tdt__call_max(&session->group, session->wire, n + 1, own == TDT_OK ? error : &told);
  tdt_error_clear(&told);
  if (own != TDT_OK || status != TDT_OK) {
    return own != TDT_OK ? own : status;
  }
  if (session->wire[n] > 0.0) {
    return blame(session, session->wire[n], error);
  }
  take_times(session);
  return TDT_OK;
}
