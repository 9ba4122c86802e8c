/* SPDX-License-Identifier: MIT */
#include "group/mpi_send.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* A message that is long, or the first to that rank, needs MPI's attention on both sides. */
#define MOMENT_S 0.01

/* One message, on its way to several ranks. In one allocation: requests, round, bytes. */
struct tdt__mpi_sending {
  struct tdt__mpi_sending *next;
  size_t n_requests; /* not done yet; they are moved together */
  tdt__mpi_handle requests[];
};

static struct tdt__mpi_sending *create(unsigned n_receivers, size_t message_size) {
  struct tdt__mpi_sending *sending = NULL;
  const size_t head_size = sizeof *sending + n_receivers * sizeof sending->requests[0];
  if (message_size <= SIZE_MAX - head_size) {
    sending = malloc(head_size + message_size);
  }
  if (sending != NULL) {
    *sending = (struct tdt__mpi_sending){0};
  }
  return sending;
}

static tdt_status send_to(const tdt__mpi_port *port, struct tdt__mpi_sending *sending,
                          const void *message, int size, int to, int tag, tdt_error *error) {
  const tdt__mpi *mpi = &port->mpi;
  tdt__mpi_handle request;
  const int code = mpi->abi->isend(mpi, message, size, to, tag, port->comm, &request);
  if (code == 0) {
    sending->requests[sending->n_requests++] = request;
  }
  return tdt__mpi_check(mpi, "Isend", code, error);
}

/* What the first failure says is kept. */
static tdt_status send_to_all(const tdt__mpi_port *port, struct tdt__mpi_sending *sending,
                              const void *message, int size, int tag, tdt_error *error) {
  if (port->rank != 0) {
    return send_to(port, sending, message, size, 0, tag, error);
  }
  tdt_status status = TDT_OK;
  for (unsigned to = 1; to < port->n_ranks; to++) {
    const tdt_status sent =
        send_to(port, sending, message, size, (int)to, tag, status == TDT_OK ? error : NULL);
    status = status == TDT_OK ? sent : status;
  }
  return status;
}

/* Tests each; a failed one is done with as well. */
static tdt_status test_one(const tdt__mpi_port *port, struct tdt__mpi_sending *sending,
                           tdt_error *error) {
  tdt_status status = TDT_OK;
  size_t i = 0;
  while (i < sending->n_requests) {
    int done = 0;
    const int code = port->mpi.abi->test(&port->mpi, &sending->requests[i], &done);
    if (code != 0 && status == TDT_OK) {
      status = tdt__mpi_check(&port->mpi, "Test of a message sent", code, error);
    }
    if (code != 0 || done != 0) {
      sending->requests[i] = sending->requests[--sending->n_requests];
    } else {
      i++;
    }
  }
  return status;
}

tdt_status tdt__mpi_sends_test(const tdt__mpi_port *port, tdt__mpi_sends *sends, tdt_error *error) {
  tdt_status status = TDT_OK;
  struct tdt__mpi_sending **link = &sends->latest;
  while (*link != NULL) {
    struct tdt__mpi_sending *sending = *link;
    const tdt_status tested = test_one(port, sending, status == TDT_OK ? error : NULL);
    status = status == TDT_OK ? tested : status;
    if (sending->n_requests == 0) {
      *link = sending->next;
      free(sending);
    } else {
      link = &sending->next;
    }
  }
  return status;
}

static tdt_status give_a_moment(const tdt__mpi_port *port, tdt__mpi_sends *sends,
                                tdt_error *error) {
  tdt__mpi_watch watch = tdt__mpi_watch_start(MOMENT_S);
  tdt_status status = TDT_OK;
  do {
    status = tdt__mpi_sends_test(port, sends, error);
  } while (status == TDT_OK && sends->latest != NULL && tdt__mpi_watch_again(&watch));
  return status;
}

tdt_status tdt__mpi_send(const tdt__mpi_port *port, tdt__mpi_sends *sends, uint64_t round,
                         const void *bytes, size_t size, tdt_error *error) {
  if (size > INT_MAX - TDT__MPI_HEAD_SIZE) {
    return tdt__fail(error, TDT_EGROUP, "MPI takes no message of %zu bytes", size);
  }
  const unsigned n_receivers = port->rank == 0 ? port->n_ranks - 1 : 1;
  struct tdt__mpi_sending *sending = create(n_receivers, TDT__MPI_HEAD_SIZE + size);
  if (sending == NULL) {
    return tdt__fail_memory(error);
  }
  unsigned char *message = (unsigned char *)(sending->requests + n_receivers);
  memcpy(message, &round, sizeof round);
  if (size > 0) {
    memcpy(message + TDT__MPI_HEAD_SIZE, bytes, size);
  }
  sending->next = sends->latest;
  sends->latest = sending;
  const tdt_status status = send_to_all(port, sending, message, (int)size + TDT__MPI_HEAD_SIZE,
                                        tdt__mpi_tag(round), error);
  return status == TDT_OK ? give_a_moment(port, sends, error) : status;
}
