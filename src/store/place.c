/* SPDX-License-Identifier: MIT */
#include "store/place.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/text.h"
#include "model/identity.h"
#include "store/paths.h"

tdt_status tdt__place_find(const tdt_identity *identity, tdt__place *place, tdt_error *error) {
  tdt_identity copy;
  tdt_status status = tdt__identity_copy(identity, &copy, error);
  if (status != TDT_OK) {
    return status;
  }
  char *folder = tdt__path_folder(copy.function.name);
  if (folder == NULL) {
    tdt__identity_clear(&copy);
    return tdt__fail_memory(error);
  }
  place->identity = copy;
  place->folder = folder;
  tdt__identity_digest(&copy, place->digest);
  return TDT_OK;
}

void tdt__place_leave(tdt__place *place) {
  tdt__identity_clear(&place->identity);
  free(place->folder);
}

char *tdt__place_name(const tdt__place *place, const char *ending) {
  tdt__text text = TDT__TEXT_INIT;
  tdt__text_add(&text, place->digest);
  tdt__text_add(&text, ending);
  return tdt__text_take(&text);
}

char *tdt__place_path(const tdt__place *place, const char *root, const char *ending) {
  tdt__text text = TDT__TEXT_INIT;
  tdt__text_format(&text, "%s/%s/%s%s", root, place->folder, place->digest, ending);
  return tdt__text_take(&text);
}

unsigned long long tdt__place_number(const tdt__place *place) {
  enum { HEX_DIGITS = 15 };
  return strtoull(place->digest + TDT_DIGEST_SIZE - 1 - HEX_DIGITS, NULL, 16);
}
