/* SPDX-License-Identifier: MIT */
#include "memory.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include <jansson.h>

static _Thread_local struct {
  long at; /* 0: never */
  bool from_then_on;
  long n_calls;
} script;

static atomic_long n_live;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *block, size_t size);
void __real_free(void *block);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *block, size_t size);
char *__wrap_strdup(const char *text);
void __wrap_free(void *block);

void memory_arm(long at, bool from_then_on) {
  script.at = at;
  script.from_then_on = from_then_on;
  script.n_calls = 0;
}

bool memory_disarm(void) {
  bool reached = script.n_calls >= script.at;
  script.at = 0;
  return reached;
}

long memory_live(void) {
  return n_live;
}

void memory_give_to_jansson(void) {
  json_set_alloc_funcs(__wrap_malloc, __wrap_free);
}

void memory_spare_jansson(void) {
  json_set_alloc_funcs(__real_malloc, __real_free);
}

static bool refuses(void) {
  if (script.at == 0) {
    return false;
  }
  script.n_calls++;
  return script.n_calls == script.at || (script.from_then_on && script.n_calls > script.at);
}

static void *counted(void *block) {
  n_live += block != NULL;
  return block;
}

void *__wrap_malloc(size_t size) {
  return refuses() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size) {
  return refuses() ? NULL : counted(__real_calloc(n, size));
}

void *__wrap_realloc(void *block, size_t size) {
  if (refuses()) {
    return NULL;
  }
  void *moved = __real_realloc(block, size);
  n_live += block == NULL && moved != NULL;
  return moved;
}

char *__wrap_strdup(const char *text) {
  size_t size = strlen(text) + 1;
  char *copy = __wrap_malloc(size);
  return copy != NULL ? memcpy(copy, text, size) : NULL;
}

void __wrap_free(void *block) {
  n_live -= block != NULL;
  __real_free(block);
}
