/* SPDX-License-Identifier: MIT */
#ifndef TDT_ENGINE_CHECK_H
#define TDT_ENGINE_CHECK_H

#include <tdtune/device.h>
#include <tdtune/group.h>

/* TDT_EINVAL, saying what is missing or of another version, unless every required field is there.
 */
tdt_status tdt__device_check(const tdt_device *device, tdt_error *error);
tdt_status tdt__group_check(const tdt_group *group, tdt_error *error);

#endif
