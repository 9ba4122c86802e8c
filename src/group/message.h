/* SPDX-License-Identifier: MIT */
#ifndef TDT_GROUP_MESSAGE_H
#define TDT_GROUP_MESSAGE_H

#include <jansson.h>

#include <tdtune/group.h>

/* Bytes of another rank. Starts zeroed: nothing has come. */
struct tdt_message {
  char *bytes; /* owned, a NUL follows them; NULL: nothing has come */
  size_t size;
};

/* Lets go of the bytes; then nothing has come. */
void tdt__message_clear(tdt_message *message);

/* The object of which the bytes are the text; a new reference. `from` whom they are, for the error.
 * TDT_EGROUP, TDT_ENOMEM. */
tdt_status tdt__message_read(const tdt_message *message, unsigned from, json_t **object,
                             tdt_error *error);

#endif
