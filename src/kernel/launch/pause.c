/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A shell reports when its job stops. So processes stop one by one, the eldest first, and continue
 * the youngest first: while a job is stopped, so is its shell. Init catches processes that start
 * meanwhile: it stops all others in one call. Processes that were stopped before stay so.
 */

#include "command/pause.h"

#include <dirent.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "base/proc-text.h"
#include "kernel/launch/init.h"

enum {
    HOLD_TRIES = 100, /* for one of them to stop, which it does as soon as it is at rest */
    HOLD_US = 50,
    HOLD_MANY = 4096, /* processes handled one by one */
};

static struct {
    atomic_int init, command;
    atomic_bool is_on;
    pid_t stopped[HOLD_MANY]; /* stopped before we came */
    size_t nstopped;
} paused;

void pause_begin(pid_t init, pid_t command)
{
    paused.init = init;
    paused.command = command;
    paused.is_on = false;
}

void pause_end(void)
{
    paused.init = paused.command = 0;
}

bool pause_is_on(void)
{
    return paused.is_on;
}

/* ---- finding processes ---- */

/* As ps shows it; 0 if it is gone. */
static char state_of(pid_t pid)
{
    char text[512];
    (void)proc_read(-1, text, sizeof(text), "/proc/%d/stat", pid);
    const char *state = proc_after_name(text);
    return state ? state[1] : '\0';
}

bool pause_is_stopped(pid_t pid)
{
    return state_of(pid) == 'T';
}

/* Whether it will stop as soon as its call returns: a judged call is not interrupted for that. */
static bool is_stopping(pid_t pid)
{
    char text[4096];
    (void)proc_read(-1, text, sizeof(text), "/proc/%d/status", pid);
    const char *at = proc_field(text, "\nShdPnd:");
    return at && (strtoull(at, NULL, 16) >> (SIGSTOP - 1) & 1);
}

/* It runs none of its code: it is stopped, or will be before its call returns. */
static bool is_at_rest(pid_t pid)
{
    char state = state_of(pid);
    return state == 'T' || ((state == 'S' || state == 'D') && is_stopping(pid));
}

static bool pid_space(pid_t pid, char out[64])
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
    ssize_t n = pid > 0 ? readlink(path, out, 63) : -1;
    out[n > 0 ? n : 0] = '\0';
    return n > 0;
}

bool pause_contains(pid_t pid)
{
    char its[64], ours[64];
    return pid > 0 && pid_space(paused.init, ours) && pid_space(pid, its) && strcmp(its, ours) == 0;
}

static int youngest_first(const void *a, const void *b)
{
    pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;
    return (x < y) - (x > y);
}

static bool is_running(pid_t pid)
{
    return !pause_is_stopped(pid);
}

static bool is_to_continue(pid_t pid)
{
    return pause_is_stopped(pid) || is_stopping(pid);
}

/* Lists the processes inside that pass the test. */
static size_t list_inside(bool (*test)(pid_t), pid_t list[HOLD_MANY])
{
    OWN(dir) DIR *d = opendir("/proc");
    struct dirent *e;
    size_t n = 0;
    while (d && n < HOLD_MANY && (e = readdir(d))) {
        pid_t pid = (pid_t)atoi(e->d_name);
        if (pid > 0 && pid != paused.init && pause_contains(pid) && test(pid))
            list[n++] = pid;
    }
    qsort(list, n, sizeof(*list), youngest_first);
    return n;
}

/* ---- stopping and continuing ---- */

static void await_rest(pid_t pid)
{
    for (int i = 0; i < HOLD_TRIES && !is_at_rest(pid); i++)
        usleep(HOLD_US);
}

void pause_stop(void)
{
    static pid_t list[HOLD_MANY];
    pid_t init = paused.init, command = paused.command;
    if (paused.is_on || command <= 0)
        return;
    paused.nstopped = init > 0 ? list_inside(pause_is_stopped, paused.stopped) : 0;
    size_t n = init > 0 ? list_inside(is_running, list) : 0;
    paused.is_on = true;
    for (size_t i = n; i-- > 0;) {
        kill(list[i], SIGSTOP);
        await_rest(list[i]);
    }
    kill(init > 0 ? init : command, init > 0 ? (int)INIT_STOP_ALL : SIGSTOP);
    await_rest(command);
}

static bool was_stopped(pid_t pid)
{
    return bsearch(&pid, paused.stopped, paused.nstopped, sizeof(pid), youngest_first);
}

void pause_release(void)
{
    static pid_t list[HOLD_MANY];
    pid_t init = paused.init, command = paused.command;
    if (!paused.is_on || command <= 0)
        return;
    size_t n = init > 0 ? list_inside(is_to_continue, list) : 0;
    for (size_t i = 0; i < n; i++)
        if (!was_stopped(list[i]))
            kill(list[i], SIGCONT);
    if (n == 0)
        kill(command, SIGCONT);
    for (int i = 0; i < HOLD_TRIES && pause_is_stopped(command); i++) /* the stop is still ours */
        usleep(HOLD_US);
    paused.is_on = false;
}
