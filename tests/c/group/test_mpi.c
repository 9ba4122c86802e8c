/* SPDX-License-Identifier: MIT */
/* A group over MPI with no MPI there, or one that does what it is told. Real ones: mpi_ranks.c. */
#include "harness.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <tdtune/mpi.h>

#include "fake_mpi.h"
#include "group/message.h"
#include "group/mpi_group.h"
#include "group/mpi_library.h"
#include "memory.h"

/* The folder of the libraries that meson has made; the first argument. */
static const char *folder;

static const char *path_of(const char *name) {
  static char path[4096];
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static tdt_status create(const char *library, tdt_group *group, tdt_error *error) {
  const tdt_group_mpi_options options = {.size = sizeof options, .library = library};
  return tdt_group_mpi_create(&options, group, error);
}

static void assert_refused(const char *library, const char *why, const char *what) {
  tdt_error error = TDT_ERROR_INIT;
  tdt_group group = {0};
  assert_int_equal(create(library, &group, &error), TDT_EGROUP);
  assert_contains(tdt_error_text(&error), why);
  assert_contains(tdt_error_text(&error), what);
  assert_null(group.self);
  tdt_error_clear(&error);
}

/* -- libraries --------------------------------------------------------------------------------- */

static void test_no_library_is_loaded(void **state) {
  (void)state;
  assert_refused(NULL, "loaded no MPI library", "");
}

static void test_wrong_library_name(void **state) {
  (void)state;
  assert_refused("libno_such_mpi.so.1", "cannot be opened", "libno_such_mpi.so.1");
}

static void test_library_that_is_no_mpi(void **state) {
  (void)state;
  assert_refused("libm.so.6", "no symbol MPI_Initialized", "libm.so.6");
}

static void test_symbol_is_missing(void **state) {
  (void)state;
  assert_refused(path_of("libmpi_fake_missing.so"), "no symbol MPI_Iallreduce",
                 "libmpi_fake_missing.so");
}

static void test_unknown_interface(void **state) {
  (void)state;
  assert_refused(path_of("libmpi_fake_stranger.so"), "neither Open MPI's nor MPICH's",
                 "libmpi_fake_stranger.so");
  assert_refused(path_of("libmpi_fake_standard.so"), "neither Open MPI's nor MPICH's",
                 "libmpi_fake_standard.so");
}

static void test_empty_group_is_destroyed(void **state) {
  (void)state;
  tdt_group group = {0};
  tdt_group_mpi_destroy(&group);
  tdt_group_mpi_destroy(NULL);
}

static void test_options_of_another_size(void **state) {
  (void)state;
  tdt_group group = {0};
  const tdt_group_mpi_options options = {.size = 3};
  assert_int_equal(tdt_group_mpi_create(&options, &group, NULL), TDT_EINVAL);
}

/* -- two ranks in this process ----------------------------------------------------------------- */

struct pair {
  void *library;
  fake_mpi *control;
  tdt_group ranks[2];
};

static void open_fake(struct pair *pair) {
  *pair = (struct pair){.library = dlopen(path_of("libmpi_fake.so"), RTLD_NOW)};
  assert_non_null(pair->library);
  const tdt__mpi_symbol begin = tdt__mpi_find(pair->library, "fake_mpi_begin");
  assert_non_null(begin);
  pair->control = ((fake_mpi_begin_function *)begin)();
}

static tdt_status create_rank(struct pair *pair, int rank, tdt_error *error) {
  pair->control->rank = rank;
  return create(NULL, &pair->ranks[rank], error);
}

static int open_pair(void **state) {
  static struct pair pair;
  open_fake(&pair);
  assert_int_equal(create_rank(&pair, 0, NULL), TDT_OK);
  assert_int_equal(create_rank(&pair, 1, NULL), TDT_OK);
  *state = &pair;
  return 0;
}

static int close_pair(void **state) {
  struct pair *pair = *state;
  tdt_group_mpi_destroy(&pair->ranks[0]);
  tdt_group_mpi_destroy(&pair->ranks[1]);
  (void)dlclose(pair->library);
  return 0;
}

static tdt_status post(const tdt_group *group, uint64_t round, const char *text, size_t size,
                       tdt_error *error) {
  char *bytes = malloc(size);
  assert_non_null(bytes);
  memcpy(bytes, text, size);
  const tdt_status status = group->table->post(group->self, round, bytes, size, error);
  free(bytes);
  return status;
}

static tdt_status take(const tdt_group *group, uint64_t round, tdt_message *message,
                       tdt_error *error) {
  return group->table->take(group->self, round, group->rank == 0, 0.0, message, error);
}

static const char long_text[5000] = "a text that is long: much longer than it looks";

static void test_library_is_found_and_ranks_have_numbers(void **state) {
  const struct pair *pair = *state;
  for (unsigned rank = 0; rank < 2; rank++) {
    const tdt_group *group = &pair->ranks[rank];
    assert_int_equal(group->rank, rank);
    assert_int_equal(group->n_ranks, 2);
    assert_int_equal(group->numbers[0], 40);
    assert_int_equal(group->numbers[1], 41);
    assert_non_null(group->rounds);
  }
}

/* The buffer lives until the message is received, which takes its time. */
static void test_long_message_over_many_slices(void **state) {
  struct pair *pair = *state;
  tdt_message message = {0};
  int n_slices = 0;
  pair->control->n_tests = 4;
  assert_int_equal(post(&pair->ranks[1], 1, long_text, sizeof long_text, NULL), TDT_OK);
  while (message.bytes == NULL && n_slices < 10) {
    assert_int_equal(take(&pair->ranks[0], 1, &message, NULL), TDT_OK);
    n_slices++;
  }
  assert_int_equal(n_slices, 5);
  assert_int_equal(message.size, sizeof long_text);
  assert_memory_equal(message.bytes, long_text, sizeof long_text);
  tdt__message_clear(&message);
}

/* One that was begun with and belongs to a round that is over is thrown away when it is in. */
static void test_round_is_given_up_while_its_message_comes_in(void **state) {
  struct pair *pair = *state;
  tdt_message message = {0};
  pair->control->n_tests = 1;
  assert_int_equal(post(&pair->ranks[0], 1, long_text, sizeof long_text, NULL), TDT_OK);
  assert_int_equal(take(&pair->ranks[1], 1, &message, NULL), TDT_OK);
  assert_null(message.bytes);
  assert_int_equal(post(&pair->ranks[0], 2, "two", 3, NULL), TDT_OK);
  while (message.bytes == NULL) {
    assert_int_equal(take(&pair->ranks[1], 2, &message, NULL), TDT_OK);
  }
  assert_string_equal(message.bytes, "two");
  assert_int_equal(pair->control->n_messages, 0);
  tdt__message_clear(&message);
}

static void test_everything_is_given_back(void **state) {
  (void)state;
  const long before = memory_live();
  struct pair pair;
  open_fake(&pair);
  assert_int_equal(create_rank(&pair, 0, NULL), TDT_OK);
  assert_int_equal(create_rank(&pair, 1, NULL), TDT_OK);
  assert_int_equal(post(&pair.ranks[0], 1, long_text, sizeof long_text, NULL), TDT_OK);
  assert_int_equal(post(&pair.ranks[0], 1 | UINT64_C(1) << 63, "hint", 4, NULL), TDT_OK);
  tdt_group_mpi_destroy(&pair.ranks[1]); /* throws away what it never took */
  assert_int_equal(pair.control->n_messages, 0);
  tdt_group_mpi_destroy(&pair.ranks[0]);
  assert_int_equal(pair.control->n_frees, 2);
  assert_int_equal(memory_live(), before);
  (void)dlclose(pair.library);
}

/* Of what is left to MPI the fake knows a place in the middle only, which a search for leaks calls
 * possibly lost. */
static const void *volatile left_to_mpi; /* or compilers leave it out */

/* MPI keeps the buffer, the communicator and the library; the message can still be received. */
static void test_message_on_its_way_is_left_to_mpi(void **state) {
  struct pair *pair = *state;
  tdt_message message = {0};
  assert_int_equal(post(&pair->ranks[1], 1, long_text, sizeof long_text, NULL), TDT_OK);
  const tdt__mpi_group *sender = pair->ranks[1].self;
  left_to_mpi = sender->sends.latest;
  assert_non_null(left_to_mpi);
  tdt_group_mpi_destroy(&pair->ranks[1]);
  assert_int_equal(pair->control->n_frees, 0);
  assert_int_equal(take(&pair->ranks[0], 1, &message, NULL), TDT_OK);
  assert_memory_equal(message.bytes, long_text, sizeof long_text);
  tdt__message_clear(&message);
}

static void test_R05_reduction_under_way_is_left_to_mpi(void **state) {
  struct pair *pair = *state;
  const tdt_group *other = &pair->ranks[1];
  double values[2] = {1.0, (double)INFINITY};
  bool done = false;
  tdt_error error = TDT_ERROR_INIT;
  const tdt_group *group = &pair->ranks[0];
  assert_int_equal(group->table->start_max(group->self, values, 2, NULL), TDT_OK);
  assert_int_equal(group->table->wait_max(group->self, 0.01, values, &done, NULL), TDT_OK);
  assert_false(done);
  assert_int_equal(group->table->start_max(group->self, values, 2, &error), TDT_EGROUP);
  assert_contains(tdt_error_text(&error), "never finished");
  tdt_error_clear(&error);
  tdt_group_mpi_destroy(&pair->ranks[0]);
  assert_int_equal(pair->control->n_frees, 0);

  double late[2] = {2.0, 3.0}; /* the fake writes into what is left */
  assert_int_equal(other->table->start_max(other->self, late, 2, NULL), TDT_OK);
  assert_int_equal(other->table->wait_max(other->self, 0.0, late, &done, NULL), TDT_OK);
  assert_true(done);
  assert_true(late[0] == 2.0 && late[1] == (double)INFINITY);
}

/* -- failures ---------------------------------------------------------------------------------- */

static void test_not_initialised_or_finalized(void **state) {
  struct pair *pair = *state;
  pair->control->initialized = 0;
  assert_refused(NULL, "libmpi_fake.so", "is not initialised: call MPI_Init()");
  *pair->control = (fake_mpi){.initialized = 1, .finalized = 1};
  assert_refused(NULL, "libmpi_fake.so", "is finalized already");
  tdt_group_mpi_destroy(&pair->ranks[0]); /* no harm */
  tdt_group_mpi_destroy(&pair->ranks[1]);
  assert_int_equal(pair->control->n_frees, 0);
}

static void test_calls_that_fail_at_creation(void **state) {
  struct pair *pair = *state;
  static const char *const calls[] = {"Comm_rank", "Comm_size", "Comm_dup", "Comm_set_errhandler"};
  *pair->control = (fake_mpi){.initialized = 1};
  for (size_t i = 0; i < N_OF(calls); i++) {
    pair->control->failing = calls[i];
    assert_refused(NULL, calls[i], "failed: made to fail");
  }
  pair->control->failing = "Comm_dup, Error_string";
  assert_refused(NULL, "Comm_dup", "failed: error 17");
  assert_int_equal(pair->control->n_frees, pair->control->n_dups);
}

/* Numbers in the world are a convenience. */
static void test_ranks_without_numbers(void **state) {
  struct pair *pair = *state;
  static const char *const calls[] = {"Comm_group", "Group_translate_ranks"};
  for (size_t i = 0; i < N_OF(calls); i++) {
    tdt_group group = {0};
    pair->control->failing = calls[i];
    assert_int_equal(create(NULL, &group, NULL), TDT_OK);
    assert_null(group.numbers);
    tdt_group_mpi_destroy(&group);
  }
  pair->control->failing = NULL;
}

/* Sends, takes and reduces until something fails. */
static tdt_status use(const struct pair *pair, tdt_error *error) {
  const tdt_group *sender = &pair->ranks[1];
  tdt_message message = {0};
  double value = 1.0;
  bool done = false;
  tdt_status status = post(sender, 1, "text", 4, error);
  if (status == TDT_OK) {
    status = take(&pair->ranks[0], 1, &message, error);
    tdt__message_clear(&message);
  }
  if (status == TDT_OK) {
    status = sender->table->start_max(sender->self, &value, 1, error);
  }
  if (status == TDT_OK) {
    status = sender->table->wait_max(sender->self, 0.0, &value, &done, error);
  }
  return status;
}

static void test_calls_that_fail_in_use(void **state) {
  (void)state;
  static const char *const calls[] = {"Isend", "Iprobe", "Get_count",
                                      "Irecv", "Test",   "Iallreduce"};
  for (size_t i = 0; i < N_OF(calls); i++) {
    void *opened;
    (void)open_pair(&opened);
    struct pair *pair = opened;
    tdt_error error = TDT_ERROR_INIT;
    pair->control->failing = calls[i];
    assert_int_equal(use(pair, &error), TDT_EGROUP);
    assert_contains(tdt_error_text(&error), calls[i]);
    assert_contains(tdt_error_text(&error), "made to fail");
    pair->control->failing = NULL;
    tdt_error_clear(&error);
    (void)close_pair(&opened);
  }
}

/* -- memory ------------------------------------------------------------------------------------ */

static void test_L03_creation_out_of_memory(void **state) {
  (void)state;
  struct pair pair;
  open_fake(&pair);
  const long before = memory_live();
  long at = 0;
  bool reached = true;
  while (reached) {
    memory_arm(++at, true);
    const tdt_status status = create_rank(&pair, 0, NULL);
    reached = memory_disarm();
    assert_int_equal(status, reached ? TDT_ENOMEM : TDT_OK);
    tdt_group_mpi_destroy(&pair.ranks[0]);
    assert_int_equal(memory_live(), before);
  }
  assert_true(at > 4);
  assert_int_equal(pair.control->n_dups, 1); /* it is the first call that all ranks make */
  (void)dlclose(pair.library);
}

static void test_L03_messages_out_of_memory(void **state) {
  struct pair *pair = *state;
  const tdt_group *group = &pair->ranks[1];
  tdt_message message = {0};
  double value = 1.0;
  memory_arm(1, true);
  assert_int_equal(group->table->post(group->self, 1, "text", 4, NULL), TDT_ENOMEM);
  assert_int_equal(group->table->start_max(group->self, &value, 1, NULL), TDT_ENOMEM);
  assert_true(memory_disarm());
  assert_int_equal(group->table->start_max(group->self, &value, 1, NULL), TDT_OK);
  assert_int_equal(post(group, 1, "text", 4, NULL), TDT_OK);
  for (long at = 1; at <= 2; at++) { /* where it comes in, and what is handed over */
    memory_arm(at, true);
    assert_int_equal(take(&pair->ranks[0], 1, &message, NULL), TDT_ENOMEM);
    assert_true(memory_disarm());
    assert_null(message.bytes);
  }
  assert_int_equal(take(&pair->ranks[0], 1, &message, NULL), TDT_OK);
  assert_string_equal(message.bytes, "text");
  tdt__message_clear(&message);
}

#define WITH_PAIR(test) cmocka_unit_test_setup_teardown(test, open_pair, close_pair)

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_no_library_is_loaded),
      cmocka_unit_test(test_wrong_library_name),
      cmocka_unit_test(test_library_that_is_no_mpi),
      cmocka_unit_test(test_symbol_is_missing),
      cmocka_unit_test(test_unknown_interface),
      cmocka_unit_test(test_empty_group_is_destroyed),
      cmocka_unit_test(test_options_of_another_size),
      WITH_PAIR(test_library_is_found_and_ranks_have_numbers),
      WITH_PAIR(test_long_message_over_many_slices),
      WITH_PAIR(test_round_is_given_up_while_its_message_comes_in),
      cmocka_unit_test(test_everything_is_given_back),
      WITH_PAIR(test_calls_that_fail_at_creation),
      WITH_PAIR(test_ranks_without_numbers),
      cmocka_unit_test(test_calls_that_fail_in_use),
      cmocka_unit_test(test_L03_creation_out_of_memory),
      WITH_PAIR(test_L03_messages_out_of_memory),
      WITH_PAIR(test_message_on_its_way_is_left_to_mpi),
      WITH_PAIR(test_R05_reduction_under_way_is_left_to_mpi),
      WITH_PAIR(test_not_initialised_or_finalized),
  };
  if (argc != 2) {
    (void)fprintf(stderr, "usage: test_group_mpi FOLDER\n");
    return 2;
  }
  folder = argv[1];
  return cmocka_run_group_tests(tests, NULL, NULL);
}
