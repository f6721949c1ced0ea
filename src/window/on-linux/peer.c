/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The kernel's table of sockets has the user, and /proc/PID/fd the processes.
 *
 * A gate that connects for its command holds the socket itself, and is known by its name. A process
 * whose descriptors cannot be read is of another user, or does not want to be looked at; if nobody
 * else holds the socket, the answer is no.
 */

#include "window/peer.h"

#include <ctype.h>
#include <dirent.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/caller.h"
#include "base/own.h"

/* The inode of the socket whose own end is `theirs` and whose other end is `ours`; 0: none, or of
 * another user. */
static unsigned long find_inode(const struct sockaddr_in *theirs, const struct sockaddr_in *ours)
{
    char line[512];
    unsigned la, lp, ra, rp, uid;
    unsigned long inode;
    OWN(file) FILE *f = fopen("/proc/net/tcp", "re");
    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, " %*u: %8X:%4X %8X:%4X %*X %*X:%*X %*X:%*X %*X %u %*u %lu", &la, &lp, &ra,
                   &rp, &uid, &inode) == 6 &&
            la == theirs->sin_addr.s_addr && lp == ntohs(theirs->sin_port) &&
            ra == ours->sin_addr.s_addr && rp == ntohs(ours->sin_port))
            return uid == getuid() ? inode : 0;
    return 0;
}

static bool holds(const char *pid, const char *wanted)
{
    char path[64], link[64];
    snprintf(path, sizeof(path), "/proc/%.16s/fd", pid);
    OWN(dir) DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        ssize_t n = readlinkat(dirfd(d), e->d_name, link, sizeof(link) - 1);
        if (n > 0 && (size_t)n == strlen(wanted) && memcmp(link, wanted, (size_t)n) == 0)
            return true;
    }
    return false;
}

bool peer_is_user(int sock)
{
    struct sockaddr_in theirs, ours;
    socklen_t n = sizeof(theirs), m = sizeof(ours);
    char wanted[48];
    bool found = false;
    if (getpeername(sock, (struct sockaddr *)&theirs, &n) < 0 || theirs.sin_family != AF_INET ||
        getsockname(sock, (struct sockaddr *)&ours, &m) < 0)
        return false;
    unsigned long inode = find_inode(&theirs, &ours);
    snprintf(wanted, sizeof(wanted), "socket:[%lu]", inode);
    OWN(dir) DIR *d = inode ? opendir("/proc") : NULL;
    for (struct dirent *e; d && (e = readdir(d));) {
        if (!isdigit((unsigned char)e->d_name[0]) || !holds(e->d_name, wanted))
            continue;
        if (!caller_is_outside((pid_t)strtol(e->d_name, NULL, 10)))
            return false;
        found = true;
    }
    return found;
}
