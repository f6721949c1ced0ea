/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_WORLD_LINUX_ROOM_H
#define BK_WORLD_LINUX_ROOM_H

#include "world/world.h"

/* What a world took when it was last measured; 0: it was not. world: its folder. */
uint64_t room_of(int world);
/* Fails if all worlds together take too much. */
int room_for_another(struct bk_err *err);

#endif
