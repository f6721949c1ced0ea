/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "macos/system-version.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "macos/child.h"

extern char **environ;

/* Only what a version consists of: it is printed. */
static void copy_value(char out[32], const char *s, size_t n)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._ ";
    size_t used = 0;
    while (n > 0 && (*s == ' ' || *s == '\t'))
        s++, n--;
    for (size_t i = 0; i < n && used < 31 && s[i] && strchr(plain, s[i]); i++)
        out[used++] = s[i];
    out[used] = '\0';
}

bool system_version_parse(struct system_version *v, const char *text, size_t n)
{
    const struct {
        const char *key;
        char *to;
    } keys[] = {
        {"ProductName:", v->name}, {"ProductVersion:", v->number}, {"BuildVersion:", v->build}};
    *v = (struct system_version){0};
    for (size_t at = 0; at < n;) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t len = end ? (size_t)(end - (text + at)) : n - at;
        for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
            size_t key = strlen(keys[i].key);
            if (len > key && memcmp(text + at, keys[i].key, key) == 0)
                copy_value(keys[i].to, text + at + key, len - key);
        }
        at += len + 1;
    }
    return v->number[0] != '\0';
}

bool system_version_find(struct system_version *v)
{
    static const char *const argv[] = {"sw_vers", NULL};
    char text[512];
    size_t n = 0;
    ssize_t got;
    int ends[2], status;
    pid_t pid;
    struct bk_err err;
    *v = (struct system_version){0};
    if (child_pipe(ends, &err) < 0)
        return false;
    OWN(fd) int from = ends[0];
    OWN(fd) int to = ends[1];
    OWN(fd) int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    struct child c = {
        .argv = (char *const *)argv, .env = environ, .in = null, .out = to, .err = null};
    if (child_start(&c, &pid, &err) < 0)
        return false;
    own_close_fd(&to);
    to = -1;
    while (n < sizeof(text) &&
           ((got = read(from, text + n, sizeof(text) - n)) > 0 || (got < 0 && errno == EINTR)))
        n += got > 0 ? (size_t)got : 0;
    enum { PATIENCE_MS = 2000 };
    if (!child_await(pid, PATIENCE_MS, &status))
        child_stop(pid, 0);
    return system_version_parse(v, text, n);
}
