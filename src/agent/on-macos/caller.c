/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Seatbelt knows which processes it confines, so nothing has to be derived from ancestors. Buckle's
 * proxies act for a command, but they connect to hosts only.
 */

#include "agent/caller.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "system/process.h"
#include "system/seatbelt.h"

bool caller_is_user(int sock, pid_t *pid)
{
    uid_t uid;
    gid_t gid;
    socklen_t n = sizeof(*pid);
    if (getsockopt(sock, SOL_LOCAL, LOCAL_PEERPID, pid, &n) < 0) {
        *pid = 0;
        return false;
    }
    return getpeereid(sock, &uid, &gid) == 0 && uid == getuid() && *pid > 0 &&
           (!seatbelt_confines_peer(sock) || seatbelt_confines(getpid()));
}

/* Browsers confine themselves, so only their ancestors tell. A command that has lost its parents
 * cannot be told from them. */
bool caller_is_outside(pid_t pid)
{
    char name[PROCESS_NAME];
    for (pid_t up; pid > 1; pid = up) {
        up = process_parent(pid, name);
        if (up < 0 || strcmp(name, "buckle") == 0)
            return false;
    }
    return true;
}
