/* SPDX-License-Identifier: MIT */
#ifndef TDT_TESTS_FAKE_MPI_H
#define TDT_TESTS_FAKE_MPI_H

/*
 * An MPI of two ranks that live in one process, with MPICH's binary interface and just the calls
 * that a group needs. It is as hard on its user as MPI may be: buffers longer than FAKE_EAGER_SIZE
 * are not looked at before the message is received, and what comes in takes several tests.
 *
 * It is a shared library: a test opens it and calls its fake_mpi_begin().
 */
enum { FAKE_EAGER_SIZE = 64 };

typedef struct fake_mpi {
  int initialized;
  int finalized;
  int rank;            /* whose calls on MPI_COMM_WORLD the next ones are: 0 or 1 */
  const char *failing; /* the calls, without "MPI_", that fail; NULL: none */
  int n_tests;         /* how many MPI_Test() a message takes to come in */
  /* Counted. */
  int n_dups;
  int n_frees;
  int n_messages; /* sent and not received */
} fake_mpi;

/* As after MPI_Init(), also where the library was used before. */
typedef fake_mpi *fake_mpi_begin_function(void);
fake_mpi_begin_function fake_mpi_begin;

#endif
