/* SPDX-License-Identifier: MIT */
#ifndef TDT_ENGINE_TUNER_H
#define TDT_ENGINE_TUNER_H

#include <tdtune/tuner.h>

#include "store/memory.h"

struct tdt_tuner {
  tdt_context *context;
  tdt_function function; /* an owning copy */
  const tdt_space *space;
  tdt_plan plan;       /* its name is an owning copy */
  tdt__memory *memory; /* read by anybody, written under the context's mutex */
};

#endif
