/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/host/own-capabilities.h"

uint64_t caps_permitted(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    if (syscall(SYS_capget, &head, data) < 0)
        return 0;
    return (uint64_t)data[1].permitted << 32 | data[0].permitted;
}
