/* SPDX-License-Identifier: MIT */
/*
 * Compiled in several ways: FAKE_VERSION is what it says it is, FAKE_ABI (if defined) the version
 * of MPI's standard binary interface. A call is left out by giving it another name.
 */
#include "fake_mpi.h"

#include <stdint.h>
#include <string.h>

enum { WORLD = 0x44000000, DUPLICATE = 0x44000010, GROUP = 0x48000000, N_REQUESTS = 256 };
enum { FAKE_ERROR = 17 };

static fake_mpi control;

static int fails(const char *call) {
  return control.failing != NULL && strstr(control.failing, call) != NULL ? FAKE_ERROR : 0;
}

static int rank_of(int comm) {
  return comm == WORLD ? control.rank : (comm - DUPLICATE) % 2;
}

/* A request is the place of one of these. Messages wait in the order in which they were sent. */
struct message {
  int from, tag, size;
  const void *bytes;
  unsigned char eager[FAKE_EAGER_SIZE];
  int taken; /* a receive has matched it */
  int done;
};

struct receive {
  struct message *message;
  void *bytes;
  int n_tests;
};

static struct message messages[N_REQUESTS];
static int n_sent;
static struct receive receives[N_REQUESTS];
static int n_received;

/* Reductions number so and so many of each rank belong together. */
struct reduction {
  double *values[2];
  int n_values;
  int done;
};

static struct reduction reductions[N_REQUESTS];
static int n_reductions[2];

/* What others left stays where it is, but nobody meets it again. */
fake_mpi *fake_mpi_begin(void) {
  for (int i = 0; i < n_sent; i++) {
    messages[i].taken = 1;
  }
  const int next = n_reductions[0] > n_reductions[1] ? n_reductions[0] : n_reductions[1];
  n_reductions[0] = n_reductions[1] = next;
  control = (fake_mpi){.initialized = 1};
  return &control;
}

enum { SEND = 0x10000, RECEIVE = 0x20000, REDUCTION = 0x30000, KIND = 0x30000, PLACE = 0xffff };

int MPI_Initialized(int *flag) {
  *flag = control.initialized;
  return 0;
}

int MPI_Finalized(int *flag) {
  *flag = control.finalized;
  return 0;
}

int MPI_Get_library_version(char *version, int *size) {
  memcpy(version, FAKE_VERSION, sizeof FAKE_VERSION);
  *size = (int)strlen(version);
  return 0;
}

#ifdef FAKE_ABI
int MPI_Abi_get_version(int *major, int *minor) {
  *major = FAKE_ABI;
  *minor = 0;
  return 0;
}
#endif

int MPI_Error_string(int code, char *text, int *size) {
  static const char words[] = "made to fail";
  memcpy(text, words, sizeof words);
  *size = (int)strlen(text);
  return code == FAKE_ERROR ? fails("Error_string") : FAKE_ERROR;
}

int MPI_Comm_rank(int comm, int *rank) {
  *rank = rank_of(comm);
  return fails("Comm_rank");
}

int MPI_Comm_size(int comm, int *size) {
  (void)comm;
  *size = 2;
  return fails("Comm_size");
}

int MPI_Comm_dup(int comm, int *made) {
  if (fails("Comm_dup")) {
    return FAKE_ERROR;
  }
  *made = DUPLICATE + rank_of(comm);
  control.n_dups++;
  return 0;
}

int MPI_Comm_free(int *comm) {
  *comm = 0x04000000;
  control.n_frees++;
  return 0;
}

int MPI_Comm_set_errhandler(int comm, int handler) {
  (void)comm;
  (void)handler;
  return fails("Comm_set_errhandler");
}

int MPI_Comm_group(int comm, int *group) {
  *group = GROUP + (comm == WORLD);
  return fails("Comm_group");
}

int MPI_Group_free(int *group) {
  *group = 0;
  return 0;
}

/* Ours are ranks 40 and 41 of a greater world. */
int MPI_Group_translate_ranks(int from, int n, const int *ranks, int to, int *translated) {
  for (int i = 0; i < n; i++) {
    translated[i] = from == GROUP && to == GROUP + 1 ? ranks[i] + 40 : -32766;
  }
  return fails("Group_translate_ranks");
}

int MPI_Isend(const void *bytes, int size, int type, int to, int tag, int comm, int *request) {
  (void)type;
  (void)to;
  if (fails("Isend") || n_sent == N_REQUESTS) {
    return FAKE_ERROR;
  }
  struct message *message = &messages[n_sent];
  *message = (struct message){.from = rank_of(comm), .tag = tag, .size = size, .bytes = bytes};
  if (size <= FAKE_EAGER_SIZE) {
    memcpy(message->eager, bytes, (size_t)size);
    message->bytes = message->eager;
    message->done = 1;
  }
  control.n_messages++;
  *request = SEND + n_sent++;
  return 0;
}

static struct message *find(int from, int tag) {
  for (int i = 0; i < n_sent; i++) {
    if (messages[i].from == from && messages[i].tag == tag && !messages[i].taken) {
      return &messages[i];
    }
  }
  return NULL;
}

int MPI_Iprobe(int from, int tag, int comm, int *there, void *status) {
  (void)comm;
  const struct message *message = find(from, tag);
  *there = message != NULL;
  if (message != NULL) {
    memcpy(status, &message->size, sizeof(int));
  }
  return fails("Iprobe");
}

int MPI_Get_count(const void *status, int type, int *count) {
  (void)type;
  memcpy(count, status, sizeof(int));
  return fails("Get_count");
}

int MPI_Irecv(void *bytes, int size, int type, int from, int tag, int comm, int *request) {
  (void)type;
  (void)comm;
  struct message *message = find(from, tag);
  if (fails("Irecv") || message == NULL || size < message->size || n_received == N_REQUESTS) {
    return FAKE_ERROR;
  }
  message->taken = 1;
  receives[n_received] = (struct receive){message, bytes, control.n_tests};
  *request = RECEIVE + n_received++;
  return 0;
}

static int test_receive(struct receive *receive) {
  if (receive->n_tests > 0) {
    receive->n_tests--;
    return 0;
  }
  memcpy(receive->bytes, receive->message->bytes, (size_t)receive->message->size);
  receive->message->done = 1;
  control.n_messages--;
  return 1;
}

static int test_reduction(struct reduction *reduction) {
  double *const *values = reduction->values;
  if (values[0] == NULL || values[1] == NULL) {
    return 0;
  }
  for (int i = 0; i < reduction->n_values && !reduction->done; i++) {
    const double greater = values[0][i] > values[1][i] ? values[0][i] : values[1][i];
    values[0][i] = values[1][i] = greater;
  }
  reduction->done = 1;
  return 1;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): as MPI has it. */
int MPI_Test(int *request, int *done, void *status) {
  const int place = *request & PLACE;
  const int kind = *request & KIND;
  if (fails("Test") || (intptr_t)status != 1) {
    return FAKE_ERROR;
  }
  *done = kind == SEND      ? messages[place].done
          : kind == RECEIVE ? test_receive(&receives[place])
                            : test_reduction(&reductions[place]);
  return 0;
}

int MPI_Iallreduce(const void *in, void *out, int n, int type, int op, int comm, int *request) {
  const int rank = rank_of(comm);
  if (fails("Iallreduce") || (intptr_t)in != -1 || type != 0x4c00080b || op != 0x58000001) {
    return FAKE_ERROR;
  }
  struct reduction *reduction = &reductions[n_reductions[rank]];
  reduction->values[rank] = out;
  reduction->n_values = n;
  *request = REDUCTION + n_reductions[rank]++;
  return 0;
}
