/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SETTINGS_PRESET_INT_H
#define BK_SETTINGS_PRESET_INT_H

#include <limits.h>

#include "settings/preset.h"

/* Shared by the files about presets. */
extern const char *const preset_flag_keys[]; /* by enum preset_flag */
extern const char *const preset_list_keys[]; /* by enum preset_list */

#endif
