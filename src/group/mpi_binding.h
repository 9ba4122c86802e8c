/* SPDX-License-Identifier: MIT */
/*
 * The functions of one ABI, which includes this once, after it has made the type `handle` (MPI's),
 * FIELD (where tdt__mpi_handle keeps it), and the constants status_ignore and in_place. No include
 * guard.
 */
#include "group/mpi_library.h"

/* Calls a symbol as a function of parameters of these types. */
#define CALL(name, ...) ((int (*)(__VA_ARGS__))mpi->symbols.name)

static tdt__mpi_handle read_comm(const void *communicator) {
  return (tdt__mpi_handle){.FIELD = *(const handle *)communicator};
}

static bool same(tdt__mpi_handle left, tdt__mpi_handle right) {
  return left.FIELD == right.FIELD;
}

static int comm_rank(const tdt__mpi *mpi, tdt__mpi_handle comm, int *rank) {
  return CALL(Comm_rank, handle, int *)(comm.FIELD, rank);
}

static int comm_size(const tdt__mpi *mpi, tdt__mpi_handle comm, int *size) {
  return CALL(Comm_size, handle, int *)(comm.FIELD, size);
}

static int comm_dup(const tdt__mpi *mpi, tdt__mpi_handle comm, tdt__mpi_handle *made) {
  return CALL(Comm_dup, handle, handle *)(comm.FIELD, &made->FIELD);
}

static int comm_free(const tdt__mpi *mpi, tdt__mpi_handle *comm) {
  return CALL(Comm_free, handle *)(&comm->FIELD);
}

static int comm_return_errors(const tdt__mpi *mpi, tdt__mpi_handle comm) {
  return CALL(Comm_set_errhandler, handle, handle)(comm.FIELD, mpi->constants.errors_return.FIELD);
}

static int isend(const tdt__mpi *mpi, const void *bytes, int size, int to, int tag,
                 tdt__mpi_handle comm, tdt__mpi_handle *request) {
  return CALL(Isend, const void *, int, handle, int, int, handle, handle *)(
      bytes, size, mpi->constants.type_byte.FIELD, to, tag, comm.FIELD, &request->FIELD);
}

static int iprobe(const tdt__mpi *mpi, int from, int tag, tdt__mpi_handle comm, int *there,
                  tdt__mpi_status *status) {
  return CALL(Iprobe, int, int, handle, int *, void *)(from, tag, comm.FIELD, there, status);
}

static int get_count(const tdt__mpi *mpi, const tdt__mpi_status *status, int *size) {
  return CALL(Get_count, const void *, handle, int *)(status, mpi->constants.type_byte.FIELD, size);
}

static int irecv(const tdt__mpi *mpi, void *bytes, int size, int from, int tag,
                 tdt__mpi_handle comm, tdt__mpi_handle *request) {
  return CALL(Irecv, void *, int, handle, int, int, handle, handle *)(
      bytes, size, mpi->constants.type_byte.FIELD, from, tag, comm.FIELD, &request->FIELD);
}

static int test(const tdt__mpi *mpi, tdt__mpi_handle *request, int *done) {
  return CALL(Test, handle *, int *, void *)(&request->FIELD, done, status_ignore);
}

static int iallreduce(const tdt__mpi *mpi, double *values, int n_values, tdt__mpi_handle comm,
                      tdt__mpi_handle *request) {
  return CALL(Iallreduce, const void *, void *, int, handle, handle, handle,
              handle *)(in_place, values, n_values, mpi->constants.type_double.FIELD,
                        mpi->constants.op_max.FIELD, comm.FIELD, &request->FIELD);
}

static int comm_test_inter(const tdt__mpi *mpi, tdt__mpi_handle comm, int *is_inter) {
  return CALL(Comm_test_inter, handle, int *)(comm.FIELD, is_inter);
}

static int comm_group(const tdt__mpi *mpi, tdt__mpi_handle comm, tdt__mpi_handle *group) {
  return CALL(Comm_group, handle, handle *)(comm.FIELD, &group->FIELD);
}

static int group_translate(const tdt__mpi *mpi, tdt__mpi_handle from, int n_ranks, const int *ranks,
                           tdt__mpi_handle to, int *translated) {
  return CALL(Group_translate_ranks, handle, int, const int *, handle,
              int *)(from.FIELD, n_ranks, ranks, to.FIELD, translated);
}

static int group_free(const tdt__mpi *mpi, tdt__mpi_handle *group) {
  return CALL(Group_free, handle *)(&group->FIELD);
}

#undef CALL

/* The fields of the descriptor that are functions of this file. */
#define BINDING                                                                                    \
  .read_comm = read_comm, .same = same, .comm_rank = comm_rank, .comm_size = comm_size,            \
  .comm_dup = comm_dup, .comm_free = comm_free, .comm_return_errors = comm_return_errors,          \
  .isend = isend, .iprobe = iprobe, .get_count = get_count, .irecv = irecv, .test = test,          \
  .iallreduce = iallreduce, .comm_test_inter = comm_test_inter, .comm_group = comm_group,          \
  .group_translate = group_translate, .group_free = group_free
