/* SPDX-License-Identifier: MIT */
#ifndef TDT_TEST_STORE_FIXTURE_H
#define TDT_TEST_STORE_FIXTURE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "harness.h"

#include <tdtune/store.h>

#include "model/record.h"

/* A folder of its own for a test, removed with all that is in it. For setup and teardown. */
int make_folder(void **state);
int remove_folder(void **state);

/* `format` below the folder; valid until the call after the next seven. */
const char *in_folder(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whole files. */
void write_file(const char *path, const void *data, size_t size);
char *read_file(const char *path, size_t *size);
bool exists(const char *path);

tdt_identity identity_of(const char *name, const char *key);

/* A record with one candidate of every outcome; its times all follow from `seed`. */
tdt_record *make_record(const tdt_identity *identity, unsigned seed);

/* What make_record(.., seed) made; any difference ends the test. */
void assert_record(const tdt_record *record, unsigned seed);
/* The same for use in child processes: which seed, 0 if it is no such record. */
unsigned seed_of(const tdt_record *record);

tdt_store *open_store(const char *root);
void save_record(tdt_store *store, const tdt_identity *identity, unsigned seed);
/* The path of an identity's record; free() it. */
char *path_of(const tdt_store *store, const tdt_identity *identity);

/*
 * Runs `body` in a child process; true if it came back true. Such a child ends as if it had been
 * killed, so that no checker of leaks asks it for what belongs to its parent's other threads.
 */
bool in_child(bool (*body)(void *argument), void *argument);

/* The same in two parts. */
pid_t start_child(bool (*body)(void *argument), void *argument);
bool came_back(pid_t child);

#endif
