/* SPDX-License-Identifier: MIT */
#include "base/cpus.h"

#include <sched.h>
#include <stddef.h>
#include <unistd.h>

unsigned tdt__cpus_usable(void) {
  /* A set that is smaller than the kernel's is refused, so it grows until it is not. */
  for (size_t n_cpus = 1024; n_cpus <= (size_t)1 << 20; n_cpus *= 4) {
    cpu_set_t *set = CPU_ALLOC(n_cpus);
    if (set == NULL) {
      break;
    }
    size_t size = CPU_ALLOC_SIZE(n_cpus);
    int count = sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
    CPU_FREE(set);
    if (count > 0) {
      return (unsigned)count;
    }
  }
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? (unsigned)online : 1;
}
