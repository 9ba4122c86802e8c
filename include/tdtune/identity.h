/* SPDX-License-Identifier: MIT */
#ifndef TDTUNE_IDENTITY_H
#define TDTUNE_IDENTITY_H

#include <tdtune/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What a stored result belongs to. All texts are NUL-terminated UTF-8 and borrowed; whoever keeps
 * them longer than a call copies them.
 */
typedef struct tdt_function {
  const char *name;     /* names the folder of the records; required, not empty */
  const char *module;   /* where the function lives; NULL means "" */
  const char *qualname; /* its full name there; NULL means `name` */
  const char *source;   /* a digest of its source (tdt_digest()); NULL means "" */
} tdt_function;

typedef struct tdt_identity {
  tdt_function function;
  const char *hardware; /* text of a JSON object; NULL means {} */
  const char *key;      /* canonical text of the business key; NULL means "" */
} tdt_identity;

/* Bytes of a digest as text, its NUL included. */
#define TDT_DIGEST_SIZE 33

/* 128-bit digest of `size` bytes as 32 lower-case hex digits. `data` may be NULL if size is 0. */
TDT_EXPORT void tdt_digest(const void *data, size_t size, char digest[TDT_DIGEST_SIZE]);

/*
 * Digest over every field of the identity (function, hardware in canonical form, key): the file
 * name of its record.
 *
 * Returns TDT_EINVAL where name is missing, a text is no UTF-8 or hardware is no JSON object,
 * TDT_ENOMEM.
 */
TDT_EXPORT tdt_status tdt_identity_digest(const tdt_identity *identity,
                                          char digest[TDT_DIGEST_SIZE], tdt_error *error);

/*
 * The facts about this machine's processor as the text of a JSON object: device (model name), arch
 * and cores (those this process may run on). For programs that tune work on the CPU.
 * *json is the caller's, to be freed with tdt_text_free(). Returns TDT_ENOMEM.
 */
TDT_EXPORT tdt_status tdt_host_hardware(char **json, tdt_error *error);

/* Frees a text that a function of this library handed over. NULL is allowed. */
TDT_EXPORT void tdt_text_free(char *text);

#ifdef __cplusplus
}
#endif

#endif
