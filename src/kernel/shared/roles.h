/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_SHARED_ROLES_H
#define BK_KERNEL_SHARED_ROLES_H

#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>

/* Abstract names of the control sockets (agent/control-socket.h): the prefix, a kind, a dash, and
 * more. */
#define CONTROL_PREFIX "buckle-"
static const char *const control_socket_kinds[] = {"run", "session", "ui"};

static inline bool control_socket_is_name(const char *name, size_t n)
{
    enum { PREFIX = sizeof(CONTROL_PREFIX) - 1 };
    for (size_t i = 0; i < sizeof(control_socket_kinds) / sizeof(control_socket_kinds[0]); i++) {
        size_t kind = strlen(control_socket_kinds[i]);
        if (n > PREFIX + kind && memcmp(name, CONTROL_PREFIX, PREFIX) == 0 &&
            memcmp(name + PREFIX, control_socket_kinds[i], kind) == 0 && name[PREFIX + kind] == '-')
            return true;
    }
    return false;
}

enum role {
#define ROLE(id, name) ROLE_##id,
#include "kernel/shared/roles.def"
#undef ROLE
    ROLE_COUNT
};

static const char *const role_names[ROLE_COUNT] = {
#define ROLE(id, name) name,
#include "kernel/shared/roles.def"
#undef ROLE
};

/* Gives this process and its later threads the role's name. No other process can rename it. */
static inline void role_take(enum role r)
{
    prctl(PR_SET_NAME, role_names[r], 0, 0, 0);
}

static inline bool role_is(const char *name)
{
    for (int i = 0; i < ROLE_COUNT; i++)
        if (strcmp(name, role_names[i]) == 0)
            return true;
    return false;
}

#endif
