/* SPDX-License-Identifier: MIT */
#ifndef TDTUNE_EXPORT_H
#define TDTUNE_EXPORT_H

#if defined(__GNUC__)
#define TDT_EXPORT __attribute__((visibility("default")))
#else
#define TDT_EXPORT
#endif

#endif
