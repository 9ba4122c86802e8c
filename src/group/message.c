/* SPDX-License-Identifier: MIT */
#include "group/message.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"

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

tdt_status tdt__message_read(const tdt_message *message, unsigned from, json_t **object,
                             tdt_error *error) {
  tdt_error told = TDT_ERROR_INIT;
  tdt_status status = tdt__json_object(message->bytes, message->size, "its text", object, &told);
  if (status == TDT_EINVAL) {
    status = tdt__fail(error, TDT_EGROUP, "rank %u sent no message of this version: %s", from,
                       tdt_error_text(&told));
  } else if (status != TDT_OK) {
    status = tdt__fail_memory(error);
  }
  tdt_error_clear(&told);
  return status;
}
