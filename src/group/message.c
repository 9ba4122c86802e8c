/* SPDX-License-Identifier: MIT */
#include "group/message.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

tdt_status tdt_message_set(tdt_message *message, const void *bytes, size_t size, tdt_error *error) {
  char *copy = size < SIZE_MAX ? malloc(size + 1) : NULL;
  if (copy == NULL) {
    return tdt__fail_memory(error);
  }
  if (size > 0) {
    memcpy(copy, bytes, size);
  }
  copy[size] = '\0';
  free(message->bytes);
  *message = (tdt_message){copy, size};
  return TDT_OK;
}

void tdt__message_clear(tdt_message *message) {
  free(message->bytes);
  *message = (tdt_message){0};
}
