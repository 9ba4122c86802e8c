/* SPDX-License-Identifier: MIT */
#include "fixture.h"
#include "scratch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/identity.h"
#include "store/directory.h"

static void assert_loads(tdt_store *store, const tdt_identity *identity, unsigned seed) {
  tdt_record *record = NULL;
  assert_int_equal(tdt_store_load(store, identity, &record, NULL), TDT_OK);
  assert_record(record, seed);
  tdt_record_destroy(record);
}

/* The failure names `part`, if that is not NULL; nothing was handed out. */
static void assert_misses(tdt_store *store, const tdt_identity *identity, tdt_status expected,
                          const char *part) {
  tdt_record *record = NULL;
  tdt_error error = TDT_ERROR_INIT;
  assert_int_equal(tdt_store_load(store, identity, &record, &error), expected);
  assert_null(record);
  if (part != NULL && strstr(tdt_error_text(&error), part) == NULL) {
    fail_msg("\"%s\" does not name %s", tdt_error_text(&error), part);
  }
  tdt_error_clear(&error);
  assert_int_equal(tdt_store_load(store, identity, &record, NULL), expected);
}

static void test_what_was_saved_is_loaded(void **state) {
  (void)state;
  tdt_store *store = open_store(in_folder("a/b/autotune"));
  tdt_identity identity = identity_of("scale", "(1,)");
  assert_misses(store, &identity, TDT_ENOENT, NULL);
  assert_false(exists(in_folder("a"))); /* looking makes nothing */
  save_record(store, &identity, 3);
  assert_loads(store, &identity, 3);
  tdt_store_close(store);
  store = open_store(in_folder("a/b/autotune"));
  assert_loads(store, &identity, 3);
  tdt_store_close(store);
}

static void test_S01_one_file_per_key(void **state) {
  (void)state;
  tdt_store *store = open_store(in_folder("s"));
  tdt_identity one = identity_of("scale", "(1,)");
  tdt_identity two = identity_of("scale", "(2,)");
  char *path = path_of(store, &one);
  char digest[TDT_DIGEST_SIZE];
  assert_int_equal(tdt_identity_digest(&one, digest, NULL), TDT_OK);
  assert_string_equal(path, in_folder("s/scale/%s.json", digest));
  save_record(store, &one, 1);
  save_record(store, &two, 2);
  assert_int_equal(scratch_count(in_folder("s/scale"), ""), 2);
  assert_true(exists(path));
  assert_loads(store, &one, 1);
  assert_loads(store, &two, 2);
  free(path);
  tdt_store_close(store);
}

static void test_the_root(void **state) {
  (void)state;
  tdt_store *store = NULL;
  tdt_error error = TDT_ERROR_INIT;
  assert_int_equal(tdt_store_open("", &store, &error), TDT_EINVAL);
  assert_int_equal(tdt_store_open(NULL, &store, &error), TDT_EINVAL);
  assert_true(strlen(tdt_error_text(&error)) > 0);
  assert_null(store);
  tdt_error_clear(&error);
  tdt_store_close(NULL);

  /* A relative one stays where it was, wherever the program goes. */
  char *before = getcwd(NULL, 0);
  assert_int_equal(chdir(in_folder(".")), 0);
  store = open_store("here");
  assert_int_equal(chdir("/"), 0);
  tdt_identity identity = identity_of("scale", "");
  save_record(store, &identity, 3);
  assert_true(exists(in_folder("here/scale")));
  assert_int_equal(tdt_store_root(store)[0], '/');
  tdt_store_close(store);
  assert_int_equal(chdir(before), 0);
  free(before);
}

static void test_identities_that_are_none(void **state) {
  (void)state;
  tdt_store *store = open_store(in_folder("s"));
  tdt_identity bad[] = {identity_of("", ""), identity_of(NULL, ""), identity_of("scale", ""),
                        identity_of("scale", "\xff")};
  bad[2].hardware = "[]";
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    char *path = NULL;
    tdt__file_lock lock = TDT__FILE_LOCK_INIT;
    bool taken = false;
    assert_misses(store, &bad[i], TDT_EINVAL, NULL);
    assert_int_equal(tdt_store_path(store, &bad[i], &path, NULL), TDT_EINVAL);
    assert_null(path);
    assert_int_equal(tdt__store_save_beside(store, &bad[i], "log", "", NULL), TDT_EINVAL);
    assert_int_equal(tdt__store_lock_try(store, &bad[i], &lock, &taken, NULL), TDT_EINVAL);
  }
  assert_false(exists(in_folder("s")));
  tdt_store_close(store);
}

static mode_t mode_of(const char *path) {
  struct stat status;
  assert_int_equal(lstat(path, &status), 0);
  return status.st_mode & 07777;
}

/* Whatever the mask of the process allows. */
static void test_S02_private_to_the_user(void **state) {
  (void)state;
  mode_t before = umask(0);
  tdt_store *store = open_store(in_folder("a/s"));
  tdt_identity identity = identity_of("scale", "");
  save_record(store, &identity, 1);
  save_record(store, &identity, 2);
  tdt__file_lock lock = TDT__FILE_LOCK_INIT;
  bool taken = false;
  assert_int_equal(tdt__store_lock_try(store, &identity, &lock, &taken, NULL), TDT_OK);
  tdt__file_unlock(&lock);
  (void)umask(before);
  char *path = path_of(store, &identity);
  assert_int_equal(mode_of(in_folder("a")), 0700);
  assert_int_equal(mode_of(in_folder("a/s")), 0700);
  assert_int_equal(mode_of(in_folder("a/s/scale")), 0700);
  assert_int_equal(mode_of(in_folder("a/s/scale/.lock")), 0600);
  assert_int_equal(mode_of(path), 0600);
  free(path);
  tdt_store_close(store);
}

/* A link below the root leads nowhere: neither read nor written through. */
static void test_S02_links_are_not_followed(void **state) {
  (void)state;
  tdt_store *elsewhere = open_store(in_folder("elsewhere"));
  tdt_store *store = open_store(in_folder("s"));
  tdt_identity identity = identity_of("scale", "");
  save_record(elsewhere, &identity, 1);

  assert_int_equal(mkdir(in_folder("s"), 0700), 0);
  assert_int_equal(symlink("../elsewhere/scale", in_folder("s/scale")), 0);
  assert_misses(store, &identity, TDT_EIO, in_folder("s"));
  tdt_record *record = make_record(&identity, 2);
  tdt_error error = TDT_ERROR_INIT;
  assert_int_equal(tdt_store_save(store, record, &error), TDT_EIO);
  assert_non_null(strstr(tdt_error_text(&error), in_folder("s")));
  tdt_error_clear(&error);
  assert_loads(elsewhere, &identity, 1);
  assert_int_equal(scratch_count(in_folder("elsewhere/scale"), ""), 1);

  /* The root itself may be one. */
  tdt_store *linked = NULL;
  assert_int_equal(symlink("elsewhere", in_folder("link")), 0);
  linked = open_store(in_folder("link"));
  assert_loads(linked, &identity, 1);
  tdt_store_close(linked);

  tdt_record_destroy(record);
  tdt_store_close(store);
  tdt_store_close(elsewhere);
}

static void test_S03_what_was_replaced_is_kept(void **state) {
  (void)state;
  tdt_store *store = open_store(in_folder("s"));
  tdt_identity identity = identity_of("scale", "");
  for (unsigned seed = 1; seed <= 5; seed++) {
    save_record(store, &identity, seed);
    assert_int_equal(scratch_count(in_folder("s/scale"), ".json-"), seed - 1);
  }
  assert_loads(store, &identity, 5);
  assert_int_equal(scratch_count(in_folder("s/scale"), ""), 5);
  assert_int_equal(scratch_count(in_folder("s/scale"), ".json-20"), 4);
  tdt_store_close(store);
}

/* Each thing that may lie in a record's place is a miss with its path in the sentence, is left
 * alone, and makes room for the next record. */
static void assert_replaceable(tdt_store *store, const tdt_identity *identity) {
  char *path = path_of(store, identity);
  struct stat before;
  struct stat after;
  assert_int_equal(lstat(path, &before), 0);
  assert_misses(store, identity, TDT_EFORMAT, path);
  assert_int_equal(lstat(path, &after), 0);
  assert_true(before.st_ino == after.st_ino && before.st_size == after.st_size &&
              before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
  size_t kept = scratch_count(in_folder("s/scale"), ".json-");
  save_record(store, identity, 9);
  assert_loads(store, identity, 9);
  assert_int_equal(scratch_count(in_folder("s/scale"), ".json-"), kept + 1);
  assert_int_equal(scratch_count(in_folder("s/scale"), ".tmp"), 0);
  assert_int_equal(unlink(path), 0);
  free(path);
}

static void test_S01_things_in_a_records_place(void **state) {
  (void)state;
  tdt_store *store = open_store(in_folder("s"));
  tdt_identity identity = identity_of("scale", "");
  save_record(store, &identity, 1);
  char *path = path_of(store, &identity);
  assert_int_equal(rename(path, in_folder("good")), 0);

  assert_int_equal(mkdir(path, 0700), 0);
  assert_replaceable(store, &identity);
  assert_int_equal(mkfifo(path, 0600), 0);
  assert_replaceable(store, &identity);
  assert_int_equal(symlink(in_folder("good"), path), 0); /* of a good record, all the same */
  assert_replaceable(store, &identity);
  assert_int_equal(symlink("nowhere", path), 0);
  assert_replaceable(store, &identity);
  write_file(path, "", 0);
  assert_replaceable(store, &identity);
  write_file(path, "{\"format\": 2}", 13);
  assert_replaceable(store, &identity);
  assert_true(exists(in_folder("good")));
  free(path);
  tdt_store_close(store);
}

static void test_S01_case_C1_cut_files(void **state) {
  (void)state;
  tdt_store *store = open_store(in_folder("s"));
  tdt_identity identity = identity_of("scale", "");
  save_record(store, &identity, 1);
  char *path = path_of(store, &identity);
  size_t size;
  char *good = read_file(path, &size);
  for (size_t cut = 0; cut + 1 < size; cut++) {
    write_file(path, good, cut);
    assert_misses(store, &identity, TDT_EFORMAT, path);
    size_t left;
    char *still = read_file(path, &left);
    assert_int_equal(left, cut);
    assert_memory_equal(still, good, cut);
    free(still);
  }
  save_record(store, &identity, 2);
  assert_loads(store, &identity, 2);
  free(good);
  free(path);
  tdt_store_close(store);
}

/* What would happen if two digests met. */
static void test_another_identitys_record_is_a_miss(void **state) {
  (void)state;
  tdt_identity asked = identity_of("scale", "(1,)");
  tdt_identity others[] = {asked, asked, asked, asked, asked, asked};
  others[0].key = "(2,)";
  others[1].hardware = "{\"device\": \"a CPU\", \"cores\": 3}";
  others[2].function.source = "9f2d";
  others[3].function.module = "more.ops";
  others[4].function.qualname = "Class.scale";
  others[5].function.name = "scale2";
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
    tdt_store *store = open_store(in_folder("s%zu", i));
    char *there = path_of(store, &asked);
    char *here = path_of(store, &others[i]);
    assert_string_not_equal(there, here);
    save_record(store, &asked, 1); /* makes the folder */
    save_record(store, &others[i], 2);
    assert_int_equal(rename(here, there), 0);
    assert_misses(store, &asked, TDT_ENOENT, there);
    assert_true(exists(there));
    save_record(store, &asked, 3);
    assert_loads(store, &asked, 3);
    free(here);
    free(there);
    tdt_store_close(store);
  }
}

/* The same hardware in another spelling is the same. */
static void test_identities_are_compared_in_canonical_form(void **state) {
  (void)state;
  tdt_store *store = open_store(in_folder("s"));
  tdt_identity one = identity_of("scale", "");
  tdt_identity two = one;
  two.hardware = "{\"cores\":2,\n\"device\":\"a \\u0043PU\"}";
  save_record(store, &one, 1);
  assert_loads(store, &two, 1);
  tdt_identity bare = {.function = {.name = "scale"}};
  tdt_identity full = {.function = {"scale", "", "scale", ""}, .hardware = "{}", .key = ""};
  save_record(store, &bare, 2);
  assert_loads(store, &full, 2);
  tdt_store_close(store);
}

static void test_S06_nothing_outside_the_store(void **state) {
  (void)state;
  char large[4001];
  memset(large, 'x', sizeof large - 1);
  large[sizeof large - 1] = '\0';
  const char *const names[] = {"<lambda>", "a/b",   "..",    ".",     "../../up", "/etc/x",
                               "Größe",    "Scale", "scale", ".lock", "a\nb",     large};
  enum { N = sizeof names / sizeof names[0] };
  tdt_store *store = open_store(in_folder("s"));
  for (size_t i = 0; i < N; i++) {
    tdt_identity identity = identity_of(names[i], "");
    save_record(store, &identity, (unsigned)i + 1);
  }
  for (size_t i = 0; i < N; i++) {
    tdt_identity identity = identity_of(names[i], "");
    assert_loads(store, &identity, (unsigned)i + 1);
  }
  assert_int_equal(scratch_count(in_folder("."), ""), 1);
  assert_int_equal(scratch_count(in_folder("s"), ""), N);
  tdt_store_close(store);
}

static void test_files_beside_a_record(void **state) {
  (void)state;
  tdt_store *store = open_store(in_folder("s"));
  tdt_identity identity = identity_of("scale", "");
  assert_int_equal(tdt__store_save_beside(store, &identity, "log-1", "line\n", NULL), TDT_OK);
  assert_int_equal(tdt__store_save_beside(store, &identity, "log-1", "other\n", NULL), TDT_OK);
  assert_int_equal(scratch_count(in_folder("s/scale"), ""), 1);
  char digest[TDT_DIGEST_SIZE];
  assert_int_equal(tdt_identity_digest(&identity, digest, NULL), TDT_OK);
  size_t size;
  char *text = read_file(in_folder("s/scale/%s.log-1", digest), &size);
  assert_string_equal(text, "other\n");
  free(text);
  assert_misses(store, &identity, TDT_ENOENT, NULL);
  tdt_error error = TDT_ERROR_INIT;
  assert_int_equal(tdt__store_save_beside(store, &identity, "../x", "", &error), TDT_EIO);
  tdt_error_clear(&error);
  assert_false(exists(in_folder("s/x")));
  tdt_store_close(store);
}

static void test_the_lock_of_an_identity(void **state) {
  (void)state;
  tdt_store *store = open_store(in_folder("s"));
  tdt_identity one = identity_of("scale", "1");
  tdt_identity two = identity_of("scale", "2");
  tdt__file_lock locks[3] = {TDT__FILE_LOCK_INIT, TDT__FILE_LOCK_INIT, TDT__FILE_LOCK_INIT};
  bool taken = false;
  assert_int_equal(tdt__store_lock_try(store, &one, &locks[0], &taken, NULL), TDT_OK);
  assert_true(taken);
  assert_int_equal(tdt__store_lock_try(store, &one, &locks[1], &taken, NULL), TDT_OK);
  assert_false(taken);
  assert_int_equal(tdt__store_lock_try(store, &two, &locks[2], &taken, NULL), TDT_OK);
  assert_true(taken);
  tdt__file_unlock(&locks[0]);
  assert_int_equal(tdt__store_lock_try(store, &one, &locks[1], &taken, NULL), TDT_OK);
  assert_true(taken);
  tdt__file_unlock(&locks[1]);
  tdt__file_unlock(&locks[2]);

  write_file(in_folder("file"), "", 0);
  tdt_store *broken = open_store(in_folder("file"));
  assert_int_equal(tdt__store_lock_try(broken, &one, &locks[0], &taken, NULL), TDT_EIO);
  tdt_store_close(broken);
  tdt_store_close(store);
}

static void test_first_time(void **state) {
  (void)state;
  tdt_store *store = open_store("/x");
  tdt_store *other = open_store("/x");
  assert_true(tdt__store_first_time(store, "a"));
  assert_false(tdt__store_first_time(store, "a"));
  assert_true(tdt__store_first_time(store, ""));
  assert_true(tdt__store_first_time(store, "ab"));
  assert_false(tdt__store_first_time(store, ""));
  assert_false(tdt__store_first_time(store, "a"));
  assert_true(tdt__store_first_time(other, "a"));
  tdt_store_close(other);
  tdt_store_close(store);
}

enum { N_THREADS = 4, N_TEXTS = 200 };

typedef struct speaker {
  tdt_store *store;
  pthread_barrier_t *start;
  size_t n_first;
} speaker;

static void *speak(void *argument) {
  speaker *self = argument;
  (void)pthread_barrier_wait(self->start);
  for (size_t i = 0; i < N_TEXTS; i++) {
    char text[16];
    (void)snprintf(text, sizeof text, "%zu", i);
    self->n_first += tdt__store_first_time(self->store, text);
  }
  return NULL;
}

static void test_first_time_is_one_threads(void **state) {
  (void)state;
  tdt_store *store = open_store("/x");
  pthread_barrier_t start;
  assert_int_equal(pthread_barrier_init(&start, NULL, N_THREADS), 0);
  pthread_t threads[N_THREADS];
  speaker speakers[N_THREADS];
  for (size_t i = 0; i < N_THREADS; i++) {
    speakers[i] = (speaker){store, &start, 0};
    assert_int_equal(pthread_create(&threads[i], NULL, speak, &speakers[i]), 0);
  }
  size_t n_first = 0;
  for (size_t i = 0; i < N_THREADS; i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
    n_first += speakers[i].n_first;
  }
  assert_int_equal(n_first, N_TEXTS);
  (void)pthread_barrier_destroy(&start);
  tdt_store_close(store);
}

typedef struct saver {
  tdt_store *store;
  unsigned number;
  bool good;
} saver;

static void *save_and_load(void *argument) {
  saver *self = argument;
  char key[16];
  (void)snprintf(key, sizeof key, "%u", self->number % 2);
  tdt_identity identity = identity_of("scale", key);
  tdt_record *record = make_record(&identity, self->number + 1);
  self->good = true;
  for (size_t i = 0; self->good && i < 10; i++) {
    tdt_record *found = NULL;
    self->good = tdt_store_save(self->store, record, NULL) == TDT_OK &&
                 tdt_store_load(self->store, &identity, &found, NULL) == TDT_OK &&
                 seed_of(found) != 0;
    tdt_record_destroy(found);
  }
  tdt_record_destroy(record);
  return NULL;
}

static void test_several_threads_use_one_store(void **state) {
  (void)state;
  tdt_store *store = open_store(in_folder("s"));
  pthread_t threads[N_THREADS];
  saver savers[N_THREADS];
  for (unsigned i = 0; i < N_THREADS; i++) {
    savers[i] = (saver){store, i, false};
    assert_int_equal(pthread_create(&threads[i], NULL, save_and_load, &savers[i]), 0);
  }
  for (size_t i = 0; i < N_THREADS; i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_true(savers[i].good);
  }
  tdt_store_close(store);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_what_was_saved_is_loaded, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_S01_one_file_per_key, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_the_root, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_identities_that_are_none, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_S02_private_to_the_user, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_S02_links_are_not_followed, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_S03_what_was_replaced_is_kept, make_folder,
                                      remove_folder),
      cmocka_unit_test_setup_teardown(test_S01_things_in_a_records_place, make_folder,
                                      remove_folder),
      cmocka_unit_test_setup_teardown(test_S01_case_C1_cut_files, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_another_identitys_record_is_a_miss, make_folder,
                                      remove_folder),
      cmocka_unit_test_setup_teardown(test_identities_are_compared_in_canonical_form, make_folder,
                                      remove_folder),
      cmocka_unit_test_setup_teardown(test_S06_nothing_outside_the_store, make_folder,
                                      remove_folder),
      cmocka_unit_test_setup_teardown(test_files_beside_a_record, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_the_lock_of_an_identity, make_folder, remove_folder),
      cmocka_unit_test(test_first_time),
      cmocka_unit_test(test_first_time_is_one_threads),
      cmocka_unit_test_setup_teardown(test_several_threads_use_one_store, make_folder,
                                      remove_folder),
  };
  return cmocka_run_group_tests_name("store directory", tests, NULL, NULL);
}
