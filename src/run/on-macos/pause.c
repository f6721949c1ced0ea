/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Stops the command and all that descends from it, by libproc's lists of children. Processes that
 * start meanwhile are found in the next round: a stopped parent has no more of them.
 */

#include "command/pause.h"

#include <errno.h>
#include <libproc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "system/process.h"

enum { MOST = 4096, ROUNDS = 8 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pid_t command_pid; /* 0: none runs */
static pid_t stopped[MOST];
static size_t nstopped;
static bool on;

void pause_begin(pid_t init, pid_t command)
{
    (void)init;
    pthread_mutex_lock(&lock);
    command_pid = command;
    pthread_mutex_unlock(&lock);
}

void pause_end(void)
{
    pthread_mutex_lock(&lock);
    command_pid = 0;
    nstopped = 0;
    on = false;
    pthread_mutex_unlock(&lock);
}

static bool is_listed(pid_t pid)
{
    for (size_t i = 0; i < nstopped; i++)
        if (stopped[i] == pid)
            return true;
    return false;
}

/* Remembers only what runs: what has stopped by itself stays so. */
static bool stop_one(pid_t pid)
{
    if (pid <= 0 || nstopped == MOST || is_listed(pid) || pause_is_stopped(pid) ||
        kill(pid, SIGSTOP) < 0)
        return false;
    stopped[nstopped++] = pid;
    return true;
}

/* Whether there was any that had not been stopped. */
static bool stop_children(pid_t parent)
{
    pid_t children[256];
    bool any = false;
    int bytes = proc_listchildpids(parent, children, sizeof(children));
    for (int i = 0; i < bytes / (int)sizeof(pid_t) && i < 256; i++)
        any |= stop_one(children[i]);
    return any;
}

void pause_stop(void)
{
    pthread_mutex_lock(&lock);
    on = command_pid > 0;
    stop_one(on ? command_pid : 0);
    bool more = on;
    for (int round = 0; round < ROUNDS && more; round++) {
        more = stop_children(command_pid);
        for (size_t i = 0; i < nstopped; i++)
            more |= stop_children(stopped[i]);
    }
    pthread_mutex_unlock(&lock);
}

void pause_release(void)
{
    pthread_mutex_lock(&lock);
    while (nstopped)
        kill(stopped[--nstopped], SIGCONT);
    on = false;
    pthread_mutex_unlock(&lock);
}

bool pause_is_on(void)
{
    pthread_mutex_lock(&lock);
    bool now = on;
    pthread_mutex_unlock(&lock);
    return now;
}

bool pause_is_stopped(pid_t pid)
{
    struct proc_bsdshortinfo about;
    enum { STOPPED = 4 }; /* SSTOP */
    return proc_pidinfo(pid, PROC_PIDT_SHORTBSDINFO, 0, &about, sizeof(about)) ==
               (int)sizeof(about) &&
           about.pbsi_status == STOPPED;
}

bool pause_contains(pid_t pid)
{
    char name[PROCESS_NAME];
    enum { GENERATIONS = 256 };
    pthread_mutex_lock(&lock);
    pid_t command = command_pid;
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < GENERATIONS && pid > 1; i++) {
        if (pid == command)
            return true;
        pid = process_parent(pid, name);
    }
    return false;
}
