/* SPDX-License-Identifier: MIT */
#ifndef TDT_GROUP_MPI_PORT_H
#define TDT_GROUP_MPI_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "group/mpi_library.h"
#include "group/rounds.h"

/* A communicator that is ours alone. */
typedef struct tdt__mpi_port {
  tdt__mpi mpi;
  tdt__mpi_handle comm;
  unsigned rank;
  unsigned n_ranks;
} tdt__mpi_port;

/*
 * On the wire: the number of the round, then the bytes. MPI keeps messages of one sender and tag in
 * order, so who receives in order and throws away what is of an earlier round never mixes them up,
 * and nothing that nobody wanted stays behind. Hints have a tag of their own: they may be left
 * lying while messages of their round are taken.
 */
enum { TDT__MPI_TAG_MESSAGE = 0, TDT__MPI_TAG_HINT = 1 };
enum { TDT__MPI_HEAD_SIZE = sizeof(uint64_t) };

static inline int tdt__mpi_tag(uint64_t round) {
  return (round & TDT__HINT_ROUND) != 0 ? TDT__MPI_TAG_HINT : TDT__MPI_TAG_MESSAGE;
}

/*
 * Looking again and again until a time. Between two looks the core is let go: a moment at first,
 * up to a millisecond where it takes longer.
 */
typedef struct tdt__mpi_watch {
  uint64_t until_ns;
  uint64_t pause_ns;
} tdt__mpi_watch;

tdt__mpi_watch tdt__mpi_watch_start(double seconds);
/* Waits a little; false where the time is over. */
bool tdt__mpi_watch_again(tdt__mpi_watch *watch);

#endif
