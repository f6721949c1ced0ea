/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Reads and searches the kernel's texts about processes. Nothing is allocated: the judge does this
 * while a call waits.
 */

#include "base/proc-text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"

int proc_read(int proc, char *text, size_t cap, const char *format, ...)
{
    char name[64];
    va_list ap;
    va_start(ap, format);
    int len = vsnprintf(name, sizeof(name), format, ap);
    va_end(ap);
    text[0] = '\0';
    if (len < 0 || (size_t)len >= sizeof(name))
        return -ENAMETOOLONG;
    OWN(fd) int fd = openat(proc, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t n = read(fd, text, cap - 1);
    if (n <= 0)
        return n < 0 ? -errno : -ESRCH;
    text[n] = '\0';
    return 0;
}

const char *proc_field(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    return at ? at + strlen(key) : NULL;
}

const char *proc_after_name(const char *text)
{
    const char *at = strrchr(text, ')');
    return at && at[1] == ' ' ? at + 1 : NULL;
}

int proc_status_field(int proc, pid_t tid, const char *key, char *out, size_t cap)
{
    char text[4096];
    const char *at = proc_read(proc, text, sizeof(text), "%d/status", (int)tid) < 0
                         ? NULL
                         : proc_field(text, key);
    size_t len = at ? strcspn(at, "\n") : 0;
    if (!at || len >= cap)
        return -EPERM;
    memcpy(out, at, len);
    out[len] = '\0';
    return 0;
}

pid_t pidfd_process(int pidfd)
{
    char text[1024];
    const char *at = proc_read(-1, text, sizeof(text), "/proc/self/fdinfo/%d", pidfd) < 0
                         ? NULL
                         : proc_field(text, "\nPid:");
    return at ? (pid_t)strtol(at, NULL, 10) : -1;
}
