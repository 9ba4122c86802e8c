/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include "convert.h"
#include "place.h"

static const char *const method_names[N_PLACE_METHODS] = {
#define PLACE_NAME_(id, name) #name,
    PLACE_LIST(PLACE_NAME_)
#undef PLACE_NAME_
};

/* Steals the arguments, any of which may be NULL with an error set. */
static PyObject *call_method(const Place *place, PlaceMethod method, PyObject *first,
                             PyObject *second, size_t n_args) {
  PyObject *args[] = {first, second};
  PyObject *result = NULL;
  if (!PyErr_Occurred()) {
    result = PyObject_Vectorcall(place->methods[method], args, n_args, NULL);
  }
  Py_XDECREF(first);
  Py_XDECREF(second);
  return result;
}

/* The end of a call without an answer. */
static tdt_status finish(const Place *place, PyObject *result, tdt_error *error) {
  if (result == NULL) {
    return crossing_fail(place->crossing, error);
  }
  Py_DECREF(result);
  return TDT_OK;
}

static tdt_status on_reserve(void *self, size_t n_marks, tdt_error *error) {
  Place *place = self;
  crossing_enter(place->crossing);
  PyObject *n = PyLong_FromSize_t(n_marks);
  tdt_status status = finish(place, call_method(place, PLACE_RESERVE, n, NULL, 1), error);
  crossing_leave(place->crossing);
  return status;
}

/* This one, elapsed_ms and synchronize keep the lock: see Crossing. */
static tdt_status on_mark(void *self, size_t mark, tdt_error *error) {
  Place *place = self;
  crossing_enter(place->crossing);
  PyObject *index = PyLong_FromSize_t(mark);
  return finish(place, call_method(place, PLACE_MARK, index, NULL, 1), error);
}

static tdt_status on_elapsed_ms(void *self, size_t start, size_t stop, double *ms,
                                tdt_error *error) {
  Place *place = self;
  crossing_enter(place->crossing);
  PyObject *first = PyLong_FromSize_t(start);
  PyObject *second = PyLong_FromSize_t(stop);
  PyObject *answer = call_method(place, PLACE_ELAPSED_MS, first, second, 2);
  double value = answer == NULL ? -1.0 : PyFloat_AsDouble(answer);
  Py_XDECREF(answer);
  if (value == -1.0 && PyErr_Occurred()) {
    return crossing_fail(place->crossing, error);
  }
  *ms = value;
  return TDT_OK;
}

static tdt_status on_synchronize(void *self, tdt_error *error) {
  Place *place = self;
  crossing_enter(place->crossing);
  return finish(place, call_method(place, PLACE_SYNCHRONIZE, NULL, NULL, 0), error);
}

static tdt_status on_capturing(void *self, bool *capturing, tdt_error *error) {
  Place *place = self;
  tdt_status status = TDT_OK;
  crossing_enter(place->crossing);
  PyObject *answer = call_method(place, PLACE_CAPTURING, NULL, NULL, 0);
  int truth = answer == NULL ? -1 : PyObject_IsTrue(answer);
  Py_XDECREF(answer);
  if (truth < 0) {
    status = crossing_fail(place->crossing, error);
  } else {
    *capturing = truth > 0;
  }
  crossing_leave(place->crossing);
  return status;
}

/* Keeps the lock: the launches follow. */
static tdt_status on_delay(void *self, double ms, tdt_error *error) {
  Place *place = self;
  crossing_enter(place->crossing);
  PyObject *length = PyFloat_FromDouble(ms);
  PyObject *done = length == NULL ? NULL : PyObject_CallOneArg(place->delay, length);
  Py_XDECREF(length);
  return finish(place, done, error);
}

#define PLACE_TABLE(delays)                                                                        \
  {                                                                                                \
    .abi = TDT_DEVICE_ABI, .size = sizeof(tdt_device_table), .name = "python",                     \
    .reserve = on_reserve, .mark = on_mark, .elapsed_ms = on_elapsed_ms,                           \
    .synchronize = on_synchronize, .capturing = on_capturing, .delay = (delays),                   \
  }

static const tdt_device_table table = PLACE_TABLE(NULL);
static const tdt_device_table delaying_table = PLACE_TABLE(on_delay);

static int open_host(Place *place) {
  tdt_error error = TDT_ERROR_INIT;
  if (tdt_device_host_create(&place->device, &error) != TDT_OK) {
    return raise_status(&error, NULL);
  }
  place->is_host = true;
  return 0;
}

/* Not all places know of it, and not all that do can. */
static int find_delay(Place *place) {
  place->delay = PyObject_GetAttrString(place->object, "delay");
  if (place->delay == NULL && PyErr_ExceptionMatches(PyExc_AttributeError)) {
    PyErr_Clear();
    place->delay = Py_NewRef(Py_None);
  }
  return place->delay == NULL ? -1 : 0;
}

static int open_object(Place *place) {
  for (size_t i = 0; i < N_PLACE_METHODS; i++) {
    place->methods[i] = PyObject_GetAttrString(place->object, method_names[i]);
    if (place->methods[i] == NULL) {
      return -1;
    }
  }
  place->clock = PyObject_GetAttrString(place->object, "clock");
  place->id = place->clock == NULL ? NULL : PyObject_GetAttrString(place->object, "id");
  if (place->id == NULL || find_delay(place) < 0) {
    return -1;
  }
  const bool delays = place->delay != Py_None;
  place->device = (tdt_device){.table = delays ? &delaying_table : &table, .self = place};
  place->device.clock = text_from_str(place->clock, "the clock of a device");
  place->device.id = text_from_str(place->id, "the id of a device");
  return place->device.clock == NULL || place->device.id == NULL ? -1 : 0;
}

int place_open(Place *place, Crossing *crossing, PyObject *object) {
  *place = (Place){.crossing = crossing, .object = Py_NewRef(object)};
  return object == Py_None ? open_host(place) : open_object(place);
}

void place_close(Place *place) {
  if (place->is_host) {
    tdt_device_host_destroy(&place->device);
  }
  for (size_t i = 0; i < N_PLACE_METHODS; i++) {
    Py_XDECREF(place->methods[i]);
  }
  Py_XDECREF(place->delay);
  Py_XDECREF(place->object);
  Py_XDECREF(place->clock);
  Py_XDECREF(place->id);
}
