/* SPDX-License-Identifier: MIT */
#ifndef TDTUNE_DEVICE_H
#define TDTUNE_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include <tdtune/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TDT_DEVICE_ABI 1

/*
 * Where time comes from. A device marks points on the stream that the launched work goes to and
 * tells the time between two marks. It is about time only: it never allocates, copies or compiles
 * for the user.
 *
 * Tuners of one context call devices of one id from one thread at a time; capturing() alone is
 * asked by any thread at any moment. A session calls its device on the thread that runs it. Marks
 * have one owner: a launch that tunes something itself, or another thread, brings a device of its
 * own (its `id` may be the same).
 *
 * Marks are numbered from 0; marking a number again moves it. A function that fails returns
 * TDT_ELAUNCH (or another code) and says why; the candidate being measured then counts as failed.
 * If synchronize() fails right after that as well, the device is ruined and the tuning ends with
 * TDT_EDEVICE.
 */
typedef struct tdt_device_table {
  uint32_t abi;     /* TDT_DEVICE_ABI */
  uint32_t size;    /* sizeof(tdt_device_table) of who filled it */
  const char *name; /* of the implementation, for messages */

  /* Makes marks 0 .. n_marks-1 usable; those made before stay. Called before a timed run. */
  tdt_status (*reserve)(void *self, size_t n_marks, tdt_error *error);
  /* Marks "here" on the current stream; returns at once. */
  tdt_status (*mark)(void *self, size_t mark, tdt_error *error);
  /* Waits until mark `stop` was passed and gives the milliseconds from `start` to it. */
  tdt_status (*elapsed_ms)(void *self, size_t start, size_t stop, double *ms, tdt_error *error);
  /* Waits for all work of the device; fails where the device does not work any more. */
  tdt_status (*synchronize)(void *self, tdt_error *error);
  /* Whether the current stream records a graph, so that nothing may be measured. NULL: never. */
  tdt_status (*capturing)(void *self, bool *capturing, tdt_error *error);
  /*
   * Queues a pause of about `ms` on the current stream and returns at once, so that what is queued
   * behind it waits for nothing but its turn. NULL, or a table without this field: cannot do that.
   */
  tdt_status (*delay)(void *self, double ms, tdt_error *error);
} tdt_device_table;

/* A device in use. Plain data, borrowed by the calls it is given to. */
typedef struct tdt_device {
  const tdt_device_table *table;
  void *self;
  const char *clock; /* what the times come from, as the record names it: "host" */
  const char *id;    /* which device: measurements with equal ids never overlap in a process */
} tdt_device;

/*
 * The host's monotonic clock, for work that is done when the launch returns. Free what it holds
 * with tdt_device_host_destroy(). Each thread that measures needs its own. Returns TDT_ENOMEM.
 */
TDT_EXPORT tdt_status tdt_device_host_create(tdt_device *device, tdt_error *error);
TDT_EXPORT void tdt_device_host_destroy(tdt_device *device);

#ifdef __cplusplus
}
#endif

#endif
