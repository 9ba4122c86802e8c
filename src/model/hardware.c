/* SPDX-License-Identifier: MIT */
#include "model/hardware.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include <jansson.h>

#include <tdtune/identity.h>

#include "base/cpus.h"
#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"

/* Splits "key : value\n" in place. */
static char *split_line(char *line) {
  char *colon = strchr(line, ':');
  if (colon == NULL) {
    return NULL;
  }
  char *value = colon + 1 + strspn(colon + 1, " \t");
  value[strcspn(value, "\r\n")] = '\0';
  while (colon > line && strchr(" \t", colon[-1]) != NULL) {
    colon--;
  }
  *colon = '\0';
  return value;
}

/* How the kernels of different machines name the processor, best first. */
static const char *const model_fields[] = {
    "model name", /* x86 */
    "Hardware",   /* 32-bit Arm */
    "uarch",      /* RISC-V */
    "cpu",        /* POWER */
};

enum { N_MODEL_FIELDS = sizeof model_fields / sizeof model_fields[0], VALUE_SIZE = 128 };

typedef struct cpu_facts {
  char model[N_MODEL_FIELDS][VALUE_SIZE];
  char implementer[VALUE_SIZE]; /* 64-bit Arm has no names, but these two numbers */
  char part[VALUE_SIZE];
} cpu_facts;

/* The first core that tells something speaks for all. */
static void set_once(char fact[VALUE_SIZE], const char *value) {
  if (fact[0] == '\0') {
    (void)snprintf(fact, VALUE_SIZE, "%s", value);
  }
}

static void take_line(cpu_facts *facts, char *line) {
  const char *value = split_line(line);
  if (value == NULL) {
    return;
  }
  for (size_t i = 0; i < N_MODEL_FIELDS; i++) {
    if (strcmp(line, model_fields[i]) == 0) {
      set_once(facts->model[i], value);
    }
  }
  if (strcmp(line, "CPU implementer") == 0) {
    set_once(facts->implementer, value);
  }
  if (strcmp(line, "CPU part") == 0) {
    set_once(facts->part, value);
  }
}

void tdt__cpu_model(FILE *cpuinfo, char *model, size_t size) {
  cpu_facts facts = {0};
  char line[4096];
  /* The kernel makes this file up while it is read, core by core: read no more than is needed. */
  while (facts.model[0][0] == '\0' && fgets(line, sizeof line, cpuinfo) != NULL) {
    take_line(&facts, line);
  }
  model[0] = '\0';
  for (size_t i = 0; i < N_MODEL_FIELDS && model[0] == '\0'; i++) {
    (void)snprintf(model, size, "%s", facts.model[i]);
  }
  if (model[0] == '\0' && facts.part[0] != '\0') {
    (void)snprintf(model, size, "implementer %s part %s", facts.implementer, facts.part);
  }
}

static void find_model(char *model, size_t size) {
  model[0] = '\0';
  FILE *cpuinfo = fopen("/proc/cpuinfo", "re");
  if (cpuinfo != NULL) {
    tdt__cpu_model(cpuinfo, model, size);
    (void)fclose(cpuinfo);
  }
  if (model[0] == '\0') {
    (void)snprintf(model, size, "unknown");
  }
}

tdt_status tdt_host_hardware(char **json, tdt_error *error) {
  char model[2 * VALUE_SIZE + 32];
  find_model(model, sizeof model);
  char *device = tdt__utf8_copy(model);
  if (device == NULL) {
    return tdt__fail_memory(error);
  }
  struct utsname system = {0};
  const char *arch = uname(&system) == 0 ? system.machine : "unknown";

  json_t *facts = json_pack("{s:s, s:s, s:I}", "device", device, "arch", arch, "cores",
                            (json_int_t)tdt__cpus_usable());
  char *text = facts != NULL ? tdt__json_text(facts) : NULL;
  json_decref(facts);
  free(device);
  if (text == NULL) {
    return tdt__fail_memory(error);
  }
  *json = text;
  return TDT_OK;
}
