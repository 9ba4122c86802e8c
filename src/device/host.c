/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>

#include <tdtune/device.h>

#include "base/clock.h"
#include "base/error.h"

/* Work is done when its launch returns, so a mark is the time at which it is made. */
typedef struct host {
  uint64_t *marks_ns;
  size_t n_marks;
} host;

static tdt_status reserve(void *self, size_t n_marks, tdt_error *error) {
  host *device = self;
  if (n_marks <= device->n_marks) {
    return TDT_OK;
  }
  if (n_marks > SIZE_MAX / sizeof *device->marks_ns) {
    return tdt__fail_memory(error);
  }
  uint64_t *marks_ns = realloc(device->marks_ns, n_marks * sizeof *marks_ns);
  if (marks_ns == NULL) {
    return tdt__fail_memory(error);
  }
  for (size_t i = device->n_marks; i < n_marks; i++) {
    marks_ns[i] = 0;
  }
  device->marks_ns = marks_ns;
  device->n_marks = n_marks;
  return TDT_OK;
}

static tdt_status mark(void *self, size_t index, tdt_error *error) {
  host *device = self;
  if (index >= device->n_marks) {
    return tdt__fail(error, TDT_EINVAL, "mark %zu is not reserved: there are %zu", index,
                     device->n_marks);
  }
  device->marks_ns[index] = tdt__clock_ns();
  return TDT_OK;
}

static tdt_status elapsed_ms(void *self, size_t start, size_t stop, double *ms, tdt_error *error) {
  const host *device = self;
  if (start >= device->n_marks || stop >= device->n_marks) {
    return tdt__fail(error, TDT_EINVAL, "mark %zu is not reserved: there are %zu",
                     start > stop ? start : stop, device->n_marks);
  }
  *ms = ((double)device->marks_ns[stop] - (double)device->marks_ns[start]) / 1e6;
  return TDT_OK;
}

static tdt_status synchronize(void *self, tdt_error *error) {
  (void)self;
  (void)error;
  return TDT_OK;
}

static const tdt_device_table host_table = {
    .abi = TDT_DEVICE_ABI,
    .size = sizeof(tdt_device_table),
    .name = "host",
    .reserve = reserve,
    .mark = mark,
    .elapsed_ms = elapsed_ms,
    .synchronize = synchronize,
};

tdt_status tdt_device_host_create(tdt_device *device, tdt_error *error) {
  host *self = calloc(1, sizeof *self);
  if (self == NULL) {
    return tdt__fail_memory(error);
  }
  *device = (tdt_device){.table = &host_table, .self = self, .clock = "host", .id = "host"};
  return TDT_OK;
}

void tdt_device_host_destroy(tdt_device *device) {
  if (device == NULL || device->table != &host_table) {
    return;
  }
  host *self = device->self;
  if (self != NULL) {
    free(self->marks_ns);
    free(self);
  }
  *device = (tdt_device){0};
}
