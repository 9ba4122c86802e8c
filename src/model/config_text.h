/* SPDX-License-Identifier: MIT */
#ifndef TDT_MODEL_CONFIG_TEXT_H
#define TDT_MODEL_CONFIG_TEXT_H

#include <stddef.h>

/*
 * A configuration for people to read: {"tile":32,"cfg":{"warps":4}} is "warps=4 tile=32", with
 * whole paths ("cfg.warps=4") where a name occurs twice. Cut to `most` characters; text that is no
 * JSON object stays as it is. NULL: out of memory. free() it.
 */
char *tdt__config_text(const char *config, size_t most);

#endif
