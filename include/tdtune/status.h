/* SPDX-License-Identifier: MIT */
#ifndef TDTUNE_STATUS_H
#define TDTUNE_STATUS_H

#include <stddef.h>

#include <tdtune/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * One table holds every code, its name and its text. Numbers are pinned: a code is never
 * renumbered and never reused.
 */
#define TDT_STATUS_LIST(X)                                                                         \
  X(0, OK, "success")                                                                              \
  X(1, ENOMEM, "out of memory")                                                                    \
  X(2, EINVAL, "invalid argument")                                                                 \
  X(3, EIO, "a file or folder could not be read or written")                                       \
  X(4, EFORMAT, "not a record that this version can read")                                         \
  X(5, ENOENT, "nothing is stored for this identity")                                              \
  X(6, EMISS, "no result is remembered and measuring is not allowed")                              \
  X(7, EPRUNED, "every candidate was pruned")                                                      \
  X(8, EFAILED, "cannot find valid config")                                                        \
  X(9, EDEVICE, "the device no longer works")                                                      \
  X(10, ESTOPPED, "a callback ended the tuning")                                                   \
  X(11, EGROUP, "the ranks of the group could not agree")                                          \
  X(12, ELAUNCH, "a candidate could not be run")                                                   \
  X(13, ESTALLED, "the outer function no longer reaches a kernel that is being tuned")

/* What every call that can fail returns: TDT_OK, or the kind of failure to branch on. */
typedef enum tdt_status {
#define TDT_STATUS_ENUM_(number, name, text) TDT_##name = (number),
  TDT_STATUS_LIST(TDT_STATUS_ENUM_)
#undef TDT_STATUS_ENUM_
} tdt_status;

/* The constant's name ("TDT_EIO"); "TDT_?" for a number that is no status. Never NULL. */
TDT_EXPORT const char *tdt_status_name(tdt_status status);

/* The kind of failure in a few words; "unknown status" for a number that is none. Never NULL. */
TDT_EXPORT const char *tdt_status_text(tdt_status status);

/*
 * The sentence to print for one failure, owned by the caller. Start it with TDT_ERROR_INIT, give
 * it to any number of calls in turn, and clear it at the end. Wherever a call takes a tdt_error it
 * may be NULL, and it is written on failure only. One error must not be used by two threads at
 * once. There is no global "last error".
 */
typedef struct tdt_error {
  tdt_status code;
  char *long_text; /* heap, or NULL where the sentence fits into text; use tdt_error_text() */
  char text[240];
} tdt_error;

#define TDT_ERROR_INIT                                                                             \
  {                                                                                                \
    TDT_OK, NULL, {                                                                                \
      0                                                                                            \
    }                                                                                              \
  }

/* The whole sentence, "" where nothing failed. Borrowed until the error is written or cleared. */
TDT_EXPORT const char *tdt_error_text(const tdt_error *error);

/* Writes a failure from a callback of the caller's: printf-style, returns `code`. */
TDT_EXPORT tdt_status tdt_error_set(tdt_error *error, tdt_status code, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

/* Frees what the error holds and makes it as after TDT_ERROR_INIT. NULL is allowed. */
TDT_EXPORT void tdt_error_clear(tdt_error *error);

#ifdef __cplusplus
}
#endif

#endif
