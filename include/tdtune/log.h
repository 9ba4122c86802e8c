/* SPDX-License-Identifier: MIT */
#ifndef TDTUNE_LOG_H
#define TDTUNE_LOG_H

#ifdef __cplusplus
extern "C" {
#endif

/* The library prints nothing: it calls the function it was given. */
typedef enum tdt_log_level {
  TDT_LOG_DEBUG = 0,
  TDT_LOG_INFO = 1,
  TDT_LOG_WARNING = 2,
} tdt_log_level;

/*
 * Called on the thread that made the call being logged, never under a lock, with one line without
 * its newline. `message` is borrowed for the call.
 */
typedef void (*tdt_log_fn)(void *user, tdt_log_level level, const char *message);

typedef struct tdt_log {
  tdt_log_fn write; /* NULL: say nothing */
  void *user;
  tdt_log_level least; /* messages below this level are not even formatted */
} tdt_log;

#ifdef __cplusplus
}
#endif

#endif
