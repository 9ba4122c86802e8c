/* SPDX-License-Identifier: MIT */
#include <time.h>

#include "base/clock.h"
#include "group/mpi_port.h"

enum { FIRST_PAUSE_NS = 20 * 1000, LAST_PAUSE_NS = 1000 * 1000 };

tdt__mpi_watch tdt__mpi_watch_start(double seconds) {
  return (tdt__mpi_watch){tdt__clock_ns() + (uint64_t)(seconds * 1e9), FIRST_PAUSE_NS};
}

bool tdt__mpi_watch_again(tdt__mpi_watch *watch) {
  if (tdt__clock_ns() >= watch->until_ns) {
    return false;
  }
  const struct timespec pause = {.tv_nsec = (long)watch->pause_ns};
  (void)nanosleep(&pause, NULL);
  watch->pause_ns += watch->pause_ns / 2;
  if (watch->pause_ns > LAST_PAUSE_NS) {
    watch->pause_ns = LAST_PAUSE_NS;
  }
  return true;
}
