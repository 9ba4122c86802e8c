/* SPDX-License-Identifier: MIT */
#include "engine/prepare.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/logger.h"
#include "engine/agree.h"
#include "engine/callback.h"
#include "engine/prepare_pool.h"

/* Where a rank begins in a list of n. */
static size_t first_of_rank(const tdt__call *call, size_t n) {
  return (size_t)((double)n * call->group.rank / call->group.n_ranks) % n;
}

/* -- preparing -----------------------------------------------------------------------------------
 */

/* Each piece has a reason of its own, so that threads share nothing. */
typedef struct preparation {
  const tdt__call *call;
  const size_t *queue;
  tdt_error *reasons; /* one for each of the queue; code TDT_OK where it went well */
} preparation;

static bool prepare_one(void *user, size_t piece) {
  const preparation *p = user;
  tdt_error *reason = &p->reasons[piece];
  tdt_status status = tdt__call_prepare(p->call, p->queue[piece], reason);
  if (status == TDT_OK) {
    tdt_error_clear(reason);
  } else if (reason->code == TDT_OK) {
    (void)tdt__fail(reason, status, "%s", tdt_status_text(status));
  }
  reason->code = status;
  return status != TDT_ESTOPPED;
}

/* The first in the queue that ended it speaks. */
static tdt_status find_stop(const preparation *p, size_t n, tdt_error *error) {
  for (size_t i = 0; i < n; i++) {
    if (p->reasons[i].code == TDT_ESTOPPED) {
      return tdt__pass_on(TDT_ESTOPPED, &p->reasons[i], error);
    }
  }
  return TDT_OK;
}

/*
 * That some are not prepared is no failure, but whoever waits for its use should find out. Where
 * none is, it is more likely prepare() that is wrong than every candidate.
 */
static void tell_failed(const preparation *p, const tdt__slate *slate) {
  size_t n_failed = 0;
  size_t first = 0;
  for (size_t i = slate->n_queued; i > 0; i--) {
    if (p->reasons[i - 1].code != TDT_OK) {
      n_failed++;
      first = i - 1;
    }
  }
  if (n_failed > 0) {
    const size_t candidate = slate->queue[first];
    tdt__log(&p->call->request.log, n_failed == slate->n_queued ? TDT_LOG_WARNING : TDT_LOG_INFO,
             "%s, key %s: %zu of %zu candidates could not be prepared;"
             " the first, [%zu] %s: %s",
             p->call->identity.function.name, p->call->shown_key, n_failed, slate->n_queued,
             candidate, tdt_space_config(slate->space, candidate),
             tdt_error_text(&p->reasons[first]));
  }
}

/* What failed by what the ranks said is not measured. */
static void drop_failed(tdt__slate *slate) {
  size_t n = 0;
  for (size_t i = 0; i < slate->n_queued; i++) {
    const size_t candidate = slate->queue[i];
    if (slate->timings[candidate].outcome != TDT_OUTCOME_FAILED) {
      slate->queue[n++] = candidate;
    }
  }
  slate->n_queued = n;
}

static tdt_status agree(const preparation *p, tdt__slate *slate, tdt_error *error) {
  const char **reasons = calloc(slate->n, sizeof *reasons);
  if (reasons == NULL) {
    return tdt__fail_memory(error);
  }
  for (size_t i = 0; i < slate->n_queued; i++) {
    if (p->reasons[i].code != TDT_OK) {
      reasons[slate->queue[i]] = tdt_error_text(&p->reasons[i]);
    }
  }
  tdt_status status = tdt__agree_prepared(p->call, reasons, slate, error);
  free((void *)reasons);
  drop_failed(slate);
  return status;
}

static tdt_status prepare_all(preparation *p, const tdt__slate *slate, tdt_error *error) {
  const tdt__pieces pieces = {
      .n = slate->n_queued,
      .first = first_of_rank(p->call, slate->n_queued),
      .user = p,
      .work = prepare_one,
  };
  tdt_status status = tdt__pieces_do(&pieces, p->call->settings.n_workers, p->call, error);
  return status == TDT_OK ? find_stop(p, slate->n_queued, error) : status;
}

tdt_status tdt__prepare(const tdt__call *call, tdt__slate *slate, tdt_error *error) {
  const size_t n = slate->n_queued;
  if (call->request.prepare == NULL || n == 0) {
    return TDT_OK;
  }
  preparation p = {.call = call, .queue = slate->queue, .reasons = calloc(n, sizeof(tdt_error))};
  if (p.reasons == NULL) {
    return tdt__fail_memory(error);
  }
  tdt_status status = prepare_all(&p, slate, error);
  if (status == TDT_OK) {
    tell_failed(&p, slate);
  }
  if (status == TDT_OK && call->talk != NULL) {
    status = agree(&p, slate, error);
  }
  for (size_t i = 0; i < n; i++) {
    tdt_error_clear(&p.reasons[i]);
  }
  free(p.reasons);
  return status;
}

/* -- anticipating --------------------------------------------------------------------------------
 */

typedef struct foresight {
  const tdt__call *call;
  size_t *candidates; /* without the launched one */
  size_t n;
} foresight;

static bool anticipate_one(void *user, size_t piece) {
  const foresight *f = user;
  tdt__call_anticipate(f->call, f->candidates[piece]);
  return true;
}

static tdt_status anticipate_all(foresight *f, tdt_error *error) {
  const tdt__pieces pieces = {
      .n = f->n,
      .first = first_of_rank(f->call, f->n),
      .user = f,
      .work = anticipate_one,
  };
  return tdt__pieces_do(&pieces, f->call->settings.n_workers, f->call, error);
}

tdt_status tdt__anticipate(const tdt__call *call, const size_t *candidates, size_t n,
                           size_t launched, tdt_error *error) {
  if (call->request.anticipate == NULL || call->settings.n_workers < 2 || n == 0) {
    return TDT_OK;
  }
  foresight f = {.call = call, .candidates = calloc(n, sizeof(size_t))};
  if (f.candidates == NULL) {
    return TDT_OK;
  }
  for (size_t i = 0; i < n; i++) {
    if (candidates[i] != launched) {
      f.candidates[f.n++] = candidates[i];
    }
  }
  tdt_status status = f.n < 2 ? TDT_OK : anticipate_all(&f, error);
  free(f.candidates);
  return status;
}
