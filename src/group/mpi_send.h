/* SPDX-License-Identifier: MIT */
#ifndef TDT_GROUP_MPI_SEND_H
#define TDT_GROUP_MPI_SEND_H

#include "group/mpi_port.h"

/* Messages on their way, latest first. MPI reads the bytes of each until it is done with it. */
typedef struct tdt__mpi_sends {
  struct tdt__mpi_sending *latest;
} tdt__mpi_sends;

/*
 * Sends a round's message to rank 0 or, from there, to all others. MPI gets a moment to bring it on
 * its way, because who posts may not come back to MPI for long. To those that can be reached it is
 * sent even where another cannot. Returns TDT_EGROUP, TDT_ENOMEM (nothing is sent).
 */
tdt_status tdt__mpi_send(const tdt__mpi_port *port, tdt__mpi_sends *sends, uint64_t round,
                         const void *bytes, size_t size, tdt_error *error);

/* Lets go of what has arrived. Returns TDT_EGROUP for what never will. */
tdt_status tdt__mpi_sends_test(const tdt__mpi_port *port, tdt__mpi_sends *sends, tdt_error *error);

#endif
