/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Without a pid namespace, every process of a sandbox descends from its judge: the reaper adopts
 * orphans, and if the reaper dies, so does the judge. So walking up from a process finds the judge.
 * Pids could be reused during the walk, so it is checked again: a process keeps its parent only
 * while that parent lives, so a parent that is unchanged at the end was there all the time.
 */

#include "agent/caller.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/own.h"
#include "base/proc-text.h"
#include "kernel/shared/roles.h"
#include "system/process.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* ---- environment ---- */

enum {
    NAMESPACE = 48
}; /* such as user:[4026531837], the number that stat() gives, in half the time */

static bool namespace_of(const char *who, const char *which, char text[NAMESPACE])
{
    char link[64];
    snprintf(link, sizeof(link), "/proc/%s/ns/%s", who, which);
    ssize_t n = readlink(link, text, NAMESPACE - 1);
    text[n < 0 ? 0 : n] = '\0';
    return n > 0;
}

static bool same_namespace(const char *who, const char *which)
{
    char theirs[NAMESPACE], ours[NAMESPACE];
    return namespace_of(who, which, theirs) && namespace_of("self", which, ours) &&
           strcmp(theirs, ours) == 0;
}

static bool same_namespaces(pid_t pid)
{
    static const char *const spaces[] = {"user", "pid", "mnt", "net"};
    char who[16];
    snprintf(who, sizeof(who), "%d", (int)pid);
    for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++)
        if (!same_namespace(who, spaces[i]))
            return false;
    return true;
}

enum { STATUS = 4096 };

/* A number in a text of /proc/PID/status; -1 if it is missing. */
static long number_in(const char *text, const char *key)
{
    const char *at = proc_field(text, key);
    return at ? strtol(at, NULL, 10) : -1;
}

static long own_number(const char *key)
{
    char text[STATUS];
    (void)proc_read(-1, text, sizeof(text), "/proc/self/status");
    return number_in(text, key);
}

/* Every sandbox adds a filter to those of its creator. */
static bool is_filtered_no_more(const char *status)
{
    static const char count[] = "\nSeccomp_filters:", mode[] = "\nSeccomp:";
    long theirs = number_in(status, count);
    if (theirs >= 0)
        return theirs == 0 || theirs <= own_number(count);
    theirs = number_in(status, mode); /* before Linux 5.11: only whether there are any */
    return theirs >= 0 && theirs <= own_number(mode);
}

/* ---- ancestry ---- */

enum { GENERATIONS = 256 };

/* If Buckle itself runs inside a sandbox, that sandbox's processes are our own ancestors. */
static bool is_above_us(pid_t pid)
{
    char name[PROCESS_NAME];
    pid_t at = getpid();
    for (int i = 0; i < GENERATIONS && at > 0; i++) {
        if (at == pid)
            return true;
        at = process_parent(at, name);
    }
    return false;
}

enum descent { FROM_COMMAND, FROM_ELSEWHERE, UNSTEADY };

static enum descent descent_of(pid_t pid)
{
    pid_t line[GENERATIONS + 1] = {pid};
    char name[PROCESS_NAME];
    int n = 0;
    for (; line[n] > 0; n++) {
        if (n == GENERATIONS)
            return FROM_COMMAND; /* too deep to be a user's shell */
        line[n + 1] = process_parent(line[n], name);
        if (line[n + 1] >= 0 && role_is(name) && !is_above_us(line[n]))
            return FROM_COMMAND;
    }
    for (int i = 0; i < n; i++)
        if (line[i + 1] < 0 || process_parent(line[i], name) != line[i + 1])
            return UNSTEADY;
    return FROM_ELSEWHERE;
}

/* Retries, because a parent may exit during the walk. */
static bool is_from_elsewhere(pid_t pid)
{
    enum { TRIES = 5 };
    enum descent d = UNSTEADY;
    for (int i = 0; i < TRIES && d == UNSTEADY; i++)
        d = descent_of(pid);
    return d == FROM_ELSEWHERE;
}

/* Processes of ours that hold a sandbox are known by their names. */
static bool is_ours(pid_t pid)
{
    char name[PROCESS_NAME];
    return process_parent(pid, name) < 0 || role_is(name);
}

/* A process without a filter is in no sandbox of ours, whatever it descends from, because it cannot
 * have lost one. Those of ours that hold a sandbox may have none. */
static bool is_surely_outside(const char *status)
{
    char name[PROCESS_NAME];
    const char *at = strncmp(status, "Name:\t", 6) == 0 ? status + 6 : "";
    size_t n = strcspn(at, "\n");
    if (!n || n >= sizeof(name) || number_in(status, "\nSeccomp_filters:") != 0)
        return false;
    memcpy(name, at, n);
    name[n] = '\0';
    return !role_is(name);
}

/* ---- the check ---- */

/* Whether the process that was checked is still the one that connected. */
static bool is_still_there(int sock)
{
    OWN(fd) int pidfd = -1;
    socklen_t n = sizeof(pidfd);
    if (getsockopt(sock, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &n) < 0)
        return errno == ENOPROTOOPT; /* before Linux 6.5 */
    struct pollfd ended = {pidfd, POLLIN, 0};
    return poll(&ended, 1, 0) == 0;
}

bool caller_is_outside(pid_t pid)
{
    return !is_ours(pid) && is_from_elsewhere(pid);
}

bool caller_is_user(int sock, pid_t *pid)
{
    struct ucred who;
    socklen_t n = sizeof(who);
    char status[STATUS];
    *pid = 0;
    if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &who, &n) < 0)
        return false;
    *pid = who.pid;
    return who.uid == getuid() && who.pid > 0 && same_namespaces(who.pid) &&
           proc_read(-1, status, sizeof(status), "/proc/%d/status", (int)who.pid) == 0 &&
           is_filtered_no_more(status) &&
           (is_surely_outside(status) || is_from_elsewhere(who.pid)) && is_still_there(sock);
}
