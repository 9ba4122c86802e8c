/* SPDX-License-Identifier: MIT */
#ifndef TDT_STORE_PLACE_H
#define TDT_STORE_PLACE_H

#include <tdtune/identity.h>

/* Where the files of an identity are: `<root>/<folder>/<digest><ending>`. Owns what is in it. */
typedef struct tdt__place {
  tdt_identity identity; /* an owning copy */
  char digest[TDT_DIGEST_SIZE];
  char *folder; /* its name below the root */
} tdt__place;

/* TDT_EINVAL as tdt_identity_digest(), TDT_ENOMEM; then there is nothing to leave. */
tdt_status tdt__place_find(const tdt_identity *identity, tdt__place *place, tdt_error *error);
void tdt__place_leave(tdt__place *place);

/* `<digest><ending>`, and the same below `root`. NULL: out of memory. free() it. */
char *tdt__place_name(const tdt__place *place, const char *ending);
char *tdt__place_path(const tdt__place *place, const char *root, const char *ending);

/* Tells its lock from those of others in the folder. Two identities that share one wait for one
 * another, which costs time and nothing else. */
unsigned long long tdt__place_number(const tdt__place *place);

#endif
