/* SPDX-License-Identifier: MIT */
#include <tdtune/version.h>

const char *tdt_version(void) {
  return TDT_VERSION;
}
