/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "system/tcp-holders.h"

#include <arpa/inet.h>
#include <libproc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/proc_info.h>
#include <unistd.h>

#include "base/own.h"

enum { SPARE = 64 }; /* for what starts between two calls */

static bool is_between(pid_t pid, int fd, uint16_t local, uint16_t remote)
{
    struct socket_fdinfo s;
    if (proc_pidfdinfo(pid, fd, PROC_PIDFDSOCKETINFO, &s, sizeof(s)) != (int)sizeof(s) ||
        s.psi.soi_kind != SOCKINFO_TCP)
        return false;
    const struct in_sockinfo *in = &s.psi.soi_proto.pri_tcp.tcpsi_ini;
    return ntohs((uint16_t)in->insi_lport) == local && ntohs((uint16_t)in->insi_fport) == remote;
}

static bool holds(pid_t pid, uint16_t local, uint16_t remote)
{
    int most = proc_pidinfo(pid, PROC_PIDLISTFDS, 0, NULL, 0);
    if (most <= 0)
        return false;
    most += SPARE * (int)sizeof(struct proc_fdinfo);
    OWN(mem) struct proc_fdinfo *fds = malloc((size_t)most);
    int n = fds ? proc_pidinfo(pid, PROC_PIDLISTFDS, 0, fds, most) : 0;
    for (int i = 0; i < n / (int)sizeof(*fds); i++)
        if (fds[i].proc_fdtype == PROX_FDTYPE_SOCKET &&
            is_between(pid, fds[i].proc_fd, local, remote))
            return true;
    return false;
}

int tcp_holders(uint16_t local, uint16_t remote, int (*each)(void *arg, pid_t pid), void *arg)
{
    int most = proc_listpids(PROC_UID_ONLY, getuid(), NULL, 0), got = 0;
    if (most <= 0)
        return 0;
    most += SPARE * (int)sizeof(pid_t);
    OWN(mem) pid_t *pids = malloc((size_t)most);
    int n = pids ? proc_listpids(PROC_UID_ONLY, getuid(), pids, most) : 0;
    for (int i = 0; got == 0 && i < n / (int)sizeof(*pids); i++)
        if (pids[i] > 0 && holds(pids[i], local, remote))
            got = each(arg, pids[i]);
    return got;
}
