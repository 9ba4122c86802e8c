/* SPDX-License-Identifier: MIT */
#ifndef TDT_EXT_LANE_H
#define TDT_EXT_LANE_H

#include "compat.h"

#include <tdtune/tuner.h>

/*
 * What a tuner remembers for calls with one and the same autotune_pg. Ranks of one group are not
 * those of another: a key that is remembered under A is agreed upon again under B, for ranks that
 * are in B alone would otherwise wait for ever for those that are in both.
 *
 * Calls without autotune_pg (or with None) have one lane for the tuner's life, whatever group that
 * means at the time: the ranks that made its winners are the program's, and asking torch in every
 * call which group is the default would cost more than all the rest of it. So a program that tunes
 * before it initialises torch.distributed, or in only some of its ranks, names the groups.
 *
 * A lane is found by the address of its process group, to which it holds a weak reference. While a
 * call with that group is under way the group is the caller's, so a lane in use is not dead; dead
 * ones go when the next lane is made.
 */
typedef struct Lane {
  PyObject *front;   /* see front.h */
  struct Lane *next; /* lanes with a group */
  PyObject *group;   /* weak reference; NULL: calls without a group */
  tdt_tuner *engine; /* made at the first miss; NULL before */
} Lane;

/* The lane of calls without a group, which is also the head of the others. Close it in any case. */
int lane_init(Lane *head);
void lanes_close(Lane *head);

/* For the garbage collector: visits what the lanes hold; lets go of all that is remembered. */
int lanes_traverse(Lane *head, visitproc visit, void *arg);
void lanes_forget(Lane *head);

/* The lane of a group; NULL if there is none. No error set. */
Lane *lane_find_group(Lane *head, PyObject *group);

static inline Lane *lane_find(Lane *head, PyObject *group) {
  return group == NULL || group == Py_None ? head : lane_find_group(head, group);
}

/* Likewise, and makes it. NULL with an error set: TypeError if there is no weak reference to the
 * group. */
Lane *lane_make(Lane *head, PyObject *group);

#endif
