/* SPDX-License-Identifier: MIT */
#ifndef TDTUNE_GROUP_H
#define TDTUNE_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include <tdtune/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The ranks that tune together. They talk in rounds: in each, every rank posts one message to rank
 * 0, and rank 0, which has read them all, posts one answer to everybody. Times are reduced by MAX.
 * All the waiting, with its deadline and its messages, is the engine's; a group only carries.
 *
 *   tdt_group_self()             this process alone
 *   tdt_group_callback_create()  ranks that share a key-value store
 *   tdt_group_mpi_create()       an MPI communicator, see <tdtune/mpi.h>
 *   a tdt_group_table of yours   anything else
 */

#define TDT_GROUP_ABI 2

/* A message that a group hands over. */
typedef struct tdt_message tdt_message;

/* Makes the message these bytes, which are copied. Returns TDT_ENOMEM. */
TDT_EXPORT tdt_status tdt_message_set(tdt_message *message, const void *bytes, size_t size,
                                      tdt_error *error);

/*
 * What a group can do. No function is called by two threads at once. One that fails returns
 * TDT_EGROUP (TDT_ESTOPPED: the user wants to end it all; TDT_ENOMEM) and gives the reason; the
 * tuning then ends with it. A wait of `slice_s` seconds that brings nothing is no failure.
 */
typedef struct tdt_group_table {
  uint32_t abi;     /* TDT_GROUP_ABI */
  uint32_t size;    /* sizeof(tdt_group_table) of who filled it */
  const char *name; /* of the implementation, for messages */

  /*
   * Sends this rank's message of a round: rank 0's to all others, anybody else's to rank 0. Waits
   * for nobody. Once for each rank and round; rounds come in rising order, none is left out by a
   * rank. A round may be posted in which nobody ever reads.
   */
  tdt_status (*post)(void *self, uint64_t round, const void *bytes, size_t size, tdt_error *error);
  /*
   * Sets *message to what rank `from` posted in that round, if it is there within `slice_s`
   * seconds; else leaves it alone. Rank 0 takes from the others, the others from rank 0; each
   * message once. Messages of earlier rounds that were never taken are of no interest.
   */
  tdt_status (*take)(void *self, uint64_t round, unsigned from, double slice_s,
                     tdt_message *message, tdt_error *error);
  /* Begins to reduce `values`, which are copied, by MAX over all ranks. Does not wait. Infinity may
   * be among them, NaN is not. Fails if an earlier reduction was never finished. */
  tdt_status (*start_max)(void *self, const double *values, size_t n_values, tdt_error *error);
  /* Writes the result into `values` and sets *done, if it is there within `slice_s` seconds. After
   * a failure the reduction counts as never finished. */
  tdt_status (*wait_max)(void *self, double slice_s, double *values, bool *done, tdt_error *error);
} tdt_group_table;

/*
 * What this process knows of a group beyond its table: how many rounds it took part in, and which
 * thread is in the middle of a tuning over it (others wait for their turn). One for each group and
 * process, for the group's whole life, shared by all tuners and sessions that use it.
 */
typedef struct tdt_group_rounds tdt_group_rounds;

/* Returns TDT_ENOMEM. Free with tdt_group_rounds_destroy(), which takes NULL. */
TDT_EXPORT tdt_status tdt_group_rounds_create(tdt_group_rounds **rounds, tdt_error *error);
TDT_EXPORT void tdt_group_rounds_destroy(tdt_group_rounds *rounds);

/* A group in use. Plain data, borrowed by the calls it is given to. */
typedef struct tdt_group {
  const tdt_group_table *table;
  void *self;
  unsigned rank;            /* 0 .. n_ranks-1 */
  unsigned n_ranks;         /* at least 1 */
  tdt_group_rounds *rounds; /* NULL only for one rank */
  const unsigned *numbers;  /* what messages call each rank (its number in the world, say), n_ranks
                               of them; NULL: 0, 1, ... */
} tdt_group;

/* This process alone. Holds nothing, needs no freeing. */
TDT_EXPORT tdt_group tdt_group_self(void);

/*
 * Tells the others that this rank will not take part in what they may be about to begin, because it
 * failed before it could: their tuning ends within moments with TDT_EGROUP, naming this rank and
 * `reason`. Where nobody begins anything within 30 s it is forgotten. Waits for nobody; does
 * nothing for a process alone, or while another thread tunes over the group.
 * Returns TDT_EGROUP, TDT_ENOMEM.
 */
TDT_EXPORT tdt_status tdt_group_withdraw(const tdt_group *group, const char *reason,
                                         tdt_error *error);

/*
 * A key-value store that all ranks reach, as functions of the caller's: what a group over
 * tdt_group_callback_create() is made of. Keys are short ASCII texts without spaces. Statuses are
 * those of tdt_group_table.
 */
typedef struct tdt_group_callbacks {
  size_t size; /* sizeof(tdt_group_callbacks) of the caller */
  void *user;  /* first argument of the functions */

  /* Stores bytes (up to 1 MiB) under a key that nobody has used. */
  tdt_status (*put)(void *user, const char *key, const void *bytes, size_t size, tdt_error *error);
  /* Sets *message to the bytes under `key`, if they are there within `slice_s` seconds. */
  tdt_status (*get)(void *user, const char *key, double slice_s, tdt_message *message,
                    tdt_error *error);
  /* Removes a key that will not be read again, if it is there. A failure leaves it behind and is no
   * failure of anything else. NULL: all keys are left behind. */
  tdt_status (*drop)(void *user, const char *key, tdt_error *error);
  /* As in tdt_group_table. Both NULL: values are reduced by way of the store. */
  tdt_status (*start_max)(void *user, const double *values, size_t n_values, tdt_error *error);
  tdt_status (*wait_max)(void *user, double slice_s, double *values, bool *done, tdt_error *error);
} tdt_group_callbacks;

/*
 * A group over a key-value store. `callbacks` is copied; `rounds` and `numbers` (NULL: 0, 1, ...)
 * are borrowed until the group is destroyed. Groups that share a store need keys of their own: let
 * `put` and the others add a prefix.
 * Returns TDT_EINVAL (a rank that is not below n_ranks, a function or `rounds` is missing),
 * TDT_ENOMEM. Free with tdt_group_callback_destroy(), which takes an empty group.
 */
TDT_EXPORT tdt_status tdt_group_callback_create(const tdt_group_callbacks *callbacks, unsigned rank,
                                                unsigned n_ranks, const unsigned *numbers,
                                                tdt_group_rounds *rounds, tdt_group *group,
                                                tdt_error *error);
TDT_EXPORT void tdt_group_callback_destroy(tdt_group *group);

#ifdef __cplusplus
}
#endif

#endif
