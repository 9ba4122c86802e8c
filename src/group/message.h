/* SPDX-License-Identifier: MIT */
#ifndef TDT_GROUP_MESSAGE_H
#define TDT_GROUP_MESSAGE_H

#include <tdtune/group.h>

/* Bytes of another rank. Starts zeroed: nothing has come. */
struct tdt_message {
  char *bytes; /* owned, a NUL follows them; NULL: nothing has come */
  size_t size;
};

/* Lets go of the bytes; then nothing has come. */
void tdt__message_clear(tdt_message *message);

#endif
