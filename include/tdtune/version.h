/* SPDX-License-Identifier: MIT */
#ifndef TDTUNE_VERSION_H
#define TDTUNE_VERSION_H

#include <tdtune/export.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TDT_VERSION_MAJOR 0
#define TDT_VERSION_MINOR 1
#define TDT_VERSION_PATCH 0
#define TDT_VERSION       "0.1.0"

/* The version of the library that is loaded, which may differ from TDT_VERSION, the header's. */
TDT_EXPORT const char *tdt_version(void);

#ifdef __cplusplus
}
#endif

#endif
