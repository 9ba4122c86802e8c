/* SPDX-License-Identifier: MIT */
#ifndef TDT_MODEL_IDENTITY_H
#define TDT_MODEL_IDENTITY_H

#include <stdbool.h>

#include <tdtune/identity.h>

/* Owning copy: every text allocated, none NULL, hardware in canonical form. TDT_EINVAL where the
 * name is missing, a text is no UTF-8 or hardware no JSON object; TDT_ENOMEM. */
tdt_status tdt__identity_copy(const tdt_identity *from, tdt_identity *to, tdt_error *error);
void tdt__identity_clear(tdt_identity *identity);

tdt_status tdt__function_copy(const tdt_function *from, tdt_function *to, tdt_error *error);
void tdt__function_clear(tdt_function *function);

/* An owning copy of nothing: every text "", hardware {}. TDT_ENOMEM. */
tdt_status tdt__identity_empty(tdt_identity *identity, tdt_error *error);

/* Both are owning copies (or as complete and canonical as one). */
bool tdt__identity_equal(const tdt_identity *a, const tdt_identity *b);

/* Digest of an owning copy; cannot fail. */
void tdt__identity_digest(const tdt_identity *identity, char digest[TDT_DIGEST_SIZE]);

#endif
