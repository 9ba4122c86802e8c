/* SPDX-License-Identifier: MIT */
#include "crew.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *take_part(void *argument) {
  crew_member *me = argument;
  (void)me->act(me);
  return NULL;
}

void crew_run(board_world *world, bool (*act)(crew_member *me)) {
  crew_member *members = calloc(world->n, sizeof *members);
  pthread_t *threads = calloc(world->n, sizeof *threads);
  assert_non_null(members);
  assert_non_null(threads);
  (void)alarm(300); /* ranks that wait for one another for ever */
  for (unsigned i = 0; i < world->n; i++) {
    members[i].world = world;
    members[i].group = &world->groups[i];
    members[i].act = act;
    members[i].rank = i;
    assert_int_equal(pthread_create(&threads[i], NULL, take_part, &members[i]), 0);
  }
  for (unsigned i = 0; i < world->n; i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
  }
  (void)alarm(0);
  unsigned n_failed = 0;
  for (unsigned i = 0; i < world->n; i++) {
    if (members[i].expected != NULL) {
      print_error("rank %u, line %d: expected %s: %s\n", i, members[i].line, members[i].expected,
                  tdt_error_text(&members[i].error));
      n_failed++;
    }
    tdt_error_clear(&members[i].error);
  }
  free(members);
  free(threads);
  assert_int_equal(n_failed, 0);
}
