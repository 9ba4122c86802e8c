/* SPDX-License-Identifier: MIT */
#include "group/mpi_receive.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static void empty(tdt__mpi_slot *slot) {
  free(slot->bytes);
  *slot = (tdt__mpi_slot){0};
}

static bool is_there(const tdt__mpi_slot *slot) {
  return slot->bytes != NULL && !slot->coming;
}

static uint64_t round_of(const tdt__mpi_slot *slot) {
  uint64_t round;
  memcpy(&round, slot->bytes, sizeof round);
  return round;
}

/* Begins to receive the message that MPI_Iprobe() has seen. */
static tdt_status begin(const tdt__mpi_port *port, tdt__mpi_slot *slot, unsigned from, int tag,
                        const tdt__mpi_status *seen, tdt_error *error) {
  const tdt__mpi *mpi = &port->mpi;
  int size = 0;
  const int code = mpi->abi->get_count(mpi, seen, &size);
  if (code != 0) {
    return tdt__mpi_check(mpi, "Get_count", code, error);
  }
  if (size < TDT__MPI_HEAD_SIZE) {
    return tdt__fail(error, TDT_EGROUP, "rank %u sent a message of %d bytes that is none of ours",
                     from, size);
  }
  tdt__mpi_slot begun = {.bytes = malloc((size_t)size), .size = (size_t)size, .coming = true};
  if (begun.bytes == NULL) {
    return tdt__fail_memory(error);
  }
  const int begin_code =
      mpi->abi->irecv(mpi, begun.bytes, size, (int)from, tag, port->comm, &begun.request);
  if (begin_code != 0) {
    empty(&begun);
    return tdt__mpi_check(mpi, "Irecv", begin_code, error);
  }
  *slot = begun;
  return TDT_OK;
}

static tdt_status probe(const tdt__mpi_port *port, tdt__mpi_slot *slot, unsigned from, int tag,
                        tdt_error *error) {
  const tdt__mpi *mpi = &port->mpi;
  tdt__mpi_status seen;
  int there = 0;
  const int code = mpi->abi->iprobe(mpi, (int)from, tag, port->comm, &there, &seen);
  if (code != 0 || there == 0) {
    return tdt__mpi_check(mpi, "Iprobe", code, error);
  }
  return begin(port, slot, from, tag, &seen, error);
}

static tdt_status finish(const tdt__mpi_port *port, tdt__mpi_slot *slot, tdt_error *error) {
  int done = 0;
  const int code = port->mpi.abi->test(&port->mpi, &slot->request, &done);
  if (code != 0) {
    empty(slot);
    return tdt__mpi_check(&port->mpi, "Test of a message received", code, error);
  }
  slot->coming = done == 0;
  return TDT_OK;
}

/* Brings the next message as far as it goes without waiting. */
static tdt_status advance(const tdt__mpi_port *port, tdt__mpi_slot *slot, unsigned from, int tag,
                          tdt_error *error) {
  tdt_status status = TDT_OK;
  if (slot->bytes == NULL) {
    status = probe(port, slot, from, tag, error);
  }
  if (status == TDT_OK && slot->coming) {
    status = finish(port, slot, error);
  }
  return status;
}

static tdt_status hand_over(tdt__mpi_slot *slot, tdt_message *message, tdt_error *error) {
  const tdt_status status = tdt_message_set(message, slot->bytes + TDT__MPI_HEAD_SIZE,
                                            slot->size - TDT__MPI_HEAD_SIZE, error);
  if (status == TDT_OK) {
    empty(slot);
  }
  return status;
}

tdt_status tdt__mpi_receive(const tdt__mpi_port *port, tdt__mpi_slot *slot, unsigned from,
                            uint64_t round, tdt_message *message, tdt_error *error) {
  for (;;) {
    const tdt_status status = advance(port, slot, from, tdt__mpi_tag(round), error);
    if (status != TDT_OK || !is_there(slot) || round_of(slot) > round) {
      return status;
    }
    if (round_of(slot) == round) {
      return hand_over(slot, message, error);
    }
    empty(slot);
  }
}

tdt_status tdt__mpi_drain(const tdt__mpi_port *port, tdt__mpi_slot *slot, unsigned from, int tag) {
  for (;;) {
    const tdt_status status = advance(port, slot, from, tag, NULL);
    if (status != TDT_OK || !is_there(slot)) {
      return status;
    }
    empty(slot);
  }
}
