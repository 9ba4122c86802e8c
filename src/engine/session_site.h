/* SPDX-License-Identifier: MIT */
#ifndef TDT_ENGINE_SESSION_SITE_H
#define TDT_ENGINE_SESSION_SITE_H

#include <stdint.h>

#include <tdtune/session.h>

#include "engine/schedule.h"

/* A site is one kernel with one key: one tuning of a session. */

/* One candidate of a site. FAILED in `timing`: on this rank, or on another. */
typedef struct tdt__trial {
  char *config;
  bool failed_here;   /* this rank saw it fail */
  bool dropped;       /* all ranks know that it failed on one of them: it has no slots any more */
  double *samples_ms; /* of the burst at hand; the schedule has not seen them */
  size_t n_samples;   /* of those */
  tdt__timing timing;
} tdt__trial;

typedef struct tdt__site {
  char *kernel;
  char *key;
  uint64_t name_hash;    /* of both */
  uint64_t configs_hash; /* of all descriptions */
  const tdt_plan *plan;  /* the session's */
  tdt__schedule *schedule;
  tdt__step step;   /* the burst whose slots are taken; DONE: none is left */
  unsigned n_used;  /* of its runs */
  size_t last_turn; /* the candidate whose slot was taken last */
  bool reached;     /* in this pass */
  unsigned n_idle;  /* passes in a row before this one that did not reach it */
  size_t last_good; /* the candidate that worked last, TDT_NONE before any */
  size_t winner;    /* TDT_NONE: the site is open */
  tdt_candidate *views;
  size_t n_trials;
  tdt__trial trials[];
} tdt__site;

uint64_t tdt__site_hash(const char *kernel, const char *key);

/* Copies all it needs of the launch. A site with one candidate is decided from the start. */
tdt_status tdt__site_create(const tdt_launch *launch, const tdt_plan *plan, tdt__site **site,
                            tdt_error *error);
void tdt__site_destroy(tdt__site *site);

bool tdt__site_open(const tdt__site *site);

/* This rank saw it fail. TDT_ENOMEM. */
tdt_status tdt__site_fail(tdt__site *site, size_t candidate, const char *reason, tdt_error *error);

/* What runs where the slot's candidate cannot: the one that worked last, else the first that did
 * not fail, else the first that failed on other ranks only, so that the outer function gets to its
 * end and all ranks learn that nothing works. TDT_NONE: all failed here. */
size_t tdt__site_stand_in(const tdt__site *site);

/* Least time, lowest index of equals; TDT_NONE if every candidate was dropped. */
size_t tdt__site_fastest(const tdt__site *site);

/* The tuning is over: lets go of what only an open one needs. */
void tdt__site_decide(tdt__site *site, size_t winner);

/* TDT_EFAILED with kernel, key and every reason. */
tdt_status tdt__site_refuse(const tdt__site *site, tdt_error *error);

void tdt__site_show(tdt__site *site, tdt_session_tuning *tuning);

#endif
