/* SPDX-License-Identifier: MIT */
#ifndef TDT_GROUP_MPI_RECEIVE_H
#define TDT_GROUP_MPI_RECEIVE_H

#include <tdtune/group.h>

#include "group/mpi_port.h"

/*
 * The next message of one sender and tag: not there, coming in, or there. A long one comes in over
 * many looks; one of a round to come waits here. Starts zeroed.
 */
typedef struct tdt__mpi_slot {
  unsigned char *bytes; /* owned, as on the wire; NULL: nothing is there */
  size_t size;
  bool coming; /* MPI writes into bytes until `request` is done */
  tdt__mpi_handle request;
} tdt__mpi_slot;

/* Has a look: sets *message if that round's is there, and throws away those of earlier rounds.
 * Returns TDT_EGROUP, TDT_ENOMEM (the message can still be taken). */
tdt_status tdt__mpi_receive(const tdt__mpi_port *port, tdt__mpi_slot *slot, unsigned from,
                            uint64_t round, tdt_message *message, tdt_error *error);

/* Throws away all that is there of this sender. */
tdt_status tdt__mpi_drain(const tdt__mpi_port *port, tdt__mpi_slot *slot, unsigned from, int tag);

#endif
