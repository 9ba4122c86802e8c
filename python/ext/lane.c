/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include "lane.h"

int lane_init(Lane *head) {
  head->front = PyDict_New();
  return head->front == NULL ? -1 : 0;
}

static void empty(Lane *lane) {
  tdt_tuner_destroy(lane->engine);
  lane->engine = NULL;
  Py_CLEAR(lane->group);
  Py_CLEAR(lane->front);
}

/* What the keys of a lane do when they go may run Python: nothing leads to these lanes any more. */
static void close_all(Lane *lane) {
  while (lane != NULL) {
    Lane *next = lane->next;
    empty(lane);
    PyMem_Free(lane);
    lane = next;
  }
}

void lanes_close(Lane *head) {
  Lane *others = head->next;
  head->next = NULL;
  close_all(others);
  empty(head);
}

int lanes_traverse(Lane *head, visitproc visit, void *arg) {
  for (Lane *lane = head; lane != NULL; lane = lane->next) {
    Py_VISIT(lane->front);
    Py_VISIT(lane->group);
  }
  return 0;
}

/* Also here whatever the keys do finds nothing half done. */
void lanes_forget(Lane *head) {
  Lane *others = head->next;
  head->next = NULL;
  close_all(others);
  if (head->front != NULL) {
    PyDict_Clear(head->front);
  }
}

/* Borrowed from whoever holds it; None: it is gone. */
static PyObject *group_of(const Lane *lane) {
#if PY_VERSION_HEX >= 0x030D0000
  PyObject *group = NULL;
  if (PyWeakref_GetRef(lane->group, &group) <= 0) {
    return Py_None;
  }
  Py_DECREF(group);
  return group;
#else
  return PyWeakref_GET_OBJECT(lane->group);
#endif
}

Lane *lane_find_group(Lane *head, PyObject *group) {
  Lane *lane = head->next;
  while (lane != NULL && group_of(lane) != group) {
    lane = lane->next;
  }
  return lane;
}

/* Takes those out whose group is gone. */
static Lane *take_dead(Lane *head) {
  Lane *dead = NULL;
  Lane **at = &head->next;
  while (*at != NULL) {
    Lane *lane = *at;
    if (group_of(lane) != Py_None) {
      at = &lane->next;
      continue;
    }
    *at = lane->next;
    lane->next = dead;
    dead = lane;
  }
  return dead;
}

static Lane *create(PyObject *group) {
  Lane *lane = PyMem_Calloc(1, sizeof *lane);
  if (lane == NULL) {
    (void)PyErr_NoMemory();
    return NULL;
  }
  lane->group = PyWeakref_NewRef(group, NULL);
  if (lane->group == NULL || lane_init(lane) < 0) {
    close_all(lane);
    return NULL;
  }
  return lane;
}

Lane *lane_make(Lane *head, PyObject *group) {
  if (group == NULL || group == Py_None) {
    return head;
  }
  Lane *lane = lane_find_group(head, group);
  if (lane != NULL) {
    return lane;
  }
  Lane *made = create(group);
  if (made == NULL) {
    return NULL;
  }
  /* Making it may have run the garbage collector, and that another call. */
  lane = lane_find_group(head, group);
  if (lane == NULL) {
    lane = made;
    made = take_dead(head);
    lane->next = head->next;
    head->next = lane;
  }
  close_all(made);
  return lane;
}
