/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "net/window-port.h"

#include <string.h>

/* 127.0.0.0/8, and 0.0.0.0, :: and ::1, which lead there. */
static bool is_here(const uint8_t addr[16])
{
    static const uint8_t four[12] = {[10] = 0xff, [11] = 0xff}, none[15];
    if (memcmp(addr, four, sizeof(four)) == 0)
        return addr[12] == 127 || memcmp(addr + 12, none, 4) == 0;
    return memcmp(addr, none, sizeof(none)) == 0 && addr[15] <= 1;
}

bool window_port_is(const uint8_t addr[16], uint16_t port)
{
    return is_here(addr) && window_port_is_marked(port);
}
