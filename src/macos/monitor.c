/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Runs `log stream` as a child and passes its lines to logline.c.
 */

#include "macos/monitor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "macos/child.h"

extern char **environ;

enum { PATIENCE_MS = 500 };

static void debug(const struct monitor *m, const char *line)
{
    if (m->o->debug)
        m->o->debug(m->o->arg, line);
}

/* The command of a denial. The caller's own is known in full; a tag has only the start of it. */
static const char *command_of(const struct monitor *m, const struct tag *tag)
{
    bool ours = tag && tag->session_len == strlen(m->o->session) &&
                memcmp(tag->session, m->o->session, tag->session_len) == 0;
    if (ours && m->o->command)
        return m->o->command;
    return tag && tag->command_len ? tag->command : NULL;
}

static void on_denial(void *arg, const struct log_denial *d)
{
    struct monitor *m = arg;
    const char *command = command_of(m, d->tag);
    if (log_is_noise(d->line) || (m->o->ignore && ignore_line(m->o->ignore, d->line, command)))
        return;
    m->o->found(m->o->arg, d, command);
}

int monitor_start(struct monitor *m, const struct monitor_options *o, struct bk_err *err)
{
    char predicate[80];
    const char *argv[] = {"log", "stream", "--predicate", predicate, "--style", "compact", NULL};
    int out[2], errs[2];
    m->o = o;
    m->pid = -1;
    m->out = m->err = -1;
    log_reader_init(&m->reader, on_denial, m);
    snprintf(predicate, sizeof(predicate), "(eventMessage ENDSWITH \"%s\")", o->session);
    if (child_pipe(out, err) < 0)
        return -1;
    OWN(fd) int out_read = out[0];
    OWN(fd) int out_write = out[1];
    if (child_pipe(errs, err) < 0)
        return -1;
    OWN(fd) int err_read = errs[0];
    OWN(fd) int err_write = errs[1];
    OWN(fd) int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct child c = {.argv = (char *const *)argv,
                      .env = environ,
                      .in = null,
                      .out = out_write,
                      .err = err_write};
    if (child_start(&c, &m->pid, err) < 0) {
        debug(m, "monitor: log stream could not be started");
        return -1;
    }
    m->out = steal_fd(&out_read);
    m->err = steal_fd(&err_read);
    fcntl(m->out, F_SETFL, O_NONBLOCK);
    fcntl(m->err, F_SETFL, O_NONBLOCK);
    debug(m, "monitor: started");
    return 0;
}

void monitor_await(struct monitor *m, int timeout_ms)
{
    struct pollfd fds[] = {{.fd = m->out, .events = POLLIN}, {.fd = m->err, .events = POLLIN}};
    if (poll(fds, 2, timeout_ms) <= 0)
        debug(m, "monitor: no output from log stream yet");
}

/* Sends the program's error output to the debug log, one line at most. */
static void debug_stderr(const struct monitor *m, const char *bytes, size_t n)
{
    struct buf line = {0};
    buf_str(&line, "monitor: log stream: ");
    while (n > 0 && bytes[n - 1] == '\n')
        n--;
    buf_safe(&line, bytes, n);
    if (buf_ok(&line))
        debug(m, line.s);
    buf_free(&line);
}

static void debug_exit(struct monitor *m)
{
    char line[80] = "monitor: log stream has ended";
    int status;
    if (m->pid > 0 && child_await(m->pid, PATIENCE_MS, &status)) {
        m->pid = -1;
        snprintf(line, sizeof(line), "monitor: log stream exited with %s %d",
                 WIFEXITED(status) ? "code" : "signal",
                 WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    }
    debug(m, line);
}

void monitor_read(struct monitor *m, int fd)
{
    char bytes[4096];
    int *from = fd == m->out ? &m->out : &m->err;
    ssize_t n;
    while ((n = read(fd, bytes, sizeof(bytes))) > 0 || (n < 0 && errno == EINTR)) {
        if (n > 0 && fd == m->out)
            log_reader_feed(&m->reader, bytes, (size_t)n);
        else if (n > 0)
            debug_stderr(m, bytes, (size_t)n);
    }
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return;
    close(fd);
    *from = -1;
    if (from == &m->out)
        debug_exit(m);
}

void monitor_stop(struct monitor *m)
{
    if (m->pid > 0)
        child_stop(m->pid, PATIENCE_MS);
    if (m->pid > 0)
        debug(m, "monitor: stopped");
    m->pid = -1;
    if (m->out >= 0)
        monitor_read(m, m->out);
    log_reader_end(&m->reader);
    own_close_fd(&m->out);
    own_close_fd(&m->err);
    m->out = m->err = -1;
}
