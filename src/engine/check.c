/* SPDX-License-Identifier: MIT */
#include "engine/check.h"

#include "base/error.h"

tdt_status tdt__device_check(const tdt_device *device, tdt_error *error) {
  const tdt_device_table *table = device->table;
  if (table == NULL || device->clock == NULL || device->id == NULL) {
    return tdt__fail(error, TDT_EINVAL, "device: table, clock or id is missing");
  }
  const size_t first_version = offsetof(tdt_device_table, delay);
  if (table->abi != TDT_DEVICE_ABI || table->size < first_version) {
    return tdt__fail(error, TDT_EINVAL, "device: abi %u of %u bytes, this library knows %d of %zu",
                     table->abi, table->size, TDT_DEVICE_ABI, sizeof *table);
  }
  if (table->reserve == NULL || table->mark == NULL || table->elapsed_ms == NULL ||
      table->synchronize == NULL) {
    return tdt__fail(error, TDT_EINVAL, "device %s: a required function is missing",
                     table->name != NULL ? table->name : "");
  }
  return TDT_OK;
}

tdt_status tdt__group_check(const tdt_group *group, tdt_error *error) {
  const tdt_group_table *table = group->table;
  if (table == NULL || group->rank >= group->n_ranks) {
    return tdt__fail(error, TDT_EINVAL, "group: table is missing or rank %u is not below %u",
                     group->rank, group->n_ranks);
  }
  if (table->abi != TDT_GROUP_ABI || table->size < sizeof *table) {
    return tdt__fail(error, TDT_EINVAL, "group: abi %u of %u bytes, this library knows %d of %zu",
                     table->abi, table->size, TDT_GROUP_ABI, sizeof *table);
  }
  if (table->post == NULL || table->take == NULL || table->start_max == NULL ||
      table->wait_max == NULL || (group->rounds == NULL && group->n_ranks > 1)) {
    return tdt__fail(error, TDT_EINVAL, "group %s: a required function, or rounds, is missing",
                     table->name != NULL ? table->name : "");
  }
  return TDT_OK;
}
