/* SPDX-License-Identifier: MIT */
#ifndef TDT_ENGINE_BURST_H
#define TDT_ENGINE_BURST_H

#include "engine/request.h"
#include "engine/schedule.h"
#include "engine/slate.h"

/* Runs of one candidate in a row, one burst after another: a tuning has one of these. */
typedef struct tdt__burst {
  const tdt__call *call;
  const tdt_device *device;
  const tdt__slate *slate; /* whose queue is measured */
  double *samples_ms;      /* of the last burst, if it was timed */
  unsigned n_begun;        /* runs of it */
  bool launched;           /* a candidate ran, and the others were anticipated after it */
  bool ended;              /* poll() said so while they were */
  bool delays;             /* the gaps between launches are hidden behind a delay */
  double launch_ms;        /* what the host needs for one run, by the last burst */
} tdt__burst;

/* Borrows the call and the slate until it is closed. TDT_ENOMEM. Close it if that went well. */
tdt_status tdt__burst_open(tdt__burst *burst, const tdt__call *call, const tdt__slate *slate,
                           tdt_error *error);
void tdt__burst_close(tdt__burst *burst);

/*
 * Does a burst on the device, whose turn the caller has. *reason says why it failed, which is the
 * candidate's failure, except after TDT_ESTOPPED and where `ended` is set. A burst that fails among
 * other ranks is gone through to its end.
 */
tdt_status tdt__burst_run(tdt__burst *burst, const tdt__step *step, tdt_error *reason);

/* Waits for all work of the device. */
tdt_status tdt__burst_synchronize(const tdt__burst *burst, tdt_error *reason);

#endif
