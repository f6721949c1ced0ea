/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* There is no page on macOS. */

#include "net/window-port.h"

#include <errno.h>

int window_port_mark(uint16_t port)
{
    (void)port;
    errno = ENOTSUP;
    return -1;
}

bool window_port_is(const uint8_t addr[16], uint16_t port)
{
    (void)addr;
    (void)port;
    return false;
}
