/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* There is no abstract namespace, but libproc says who listens at a port. So a mark is nothing. */

#include "net/window-port.h"

#include <fcntl.h>
#include <string.h>

#include "system/process.h"
#include "system/tcp-holders.h"

int window_port_mark(uint16_t port)
{
    (void)port;
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static int is_window(void *arg, pid_t pid)
{
    char name[PROCESS_NAME];
    (void)arg;
    return process_parent(pid, name) >= 0 && strcmp(name, "buckle-window") == 0;
}

bool window_port_is_marked(uint16_t port)
{
    return tcp_holders(port, 0, is_window, NULL) != 0;
}
