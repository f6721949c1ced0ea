/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * After any change of a file, all settings are read again, and the resulting policies are compared.
 * A file that is missing, half written or wrong changes nothing.
 *
 * Watching starts after a while, because closing a watch is slow; another reading finds earlier
 * changes. Settings are in folders that the command works in, and waking up for each new file would
 * double the cost of creating it. So after an irrelevant change watching pauses for a moment.
 *
 * No process of the sandbox has the control descriptor.
 */

#include "cli/run/run-watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "cli/run/debug.h"
#include "system/fd-group.h"

enum { AFTER_MS = 100, REST_MS = 50, LOOK_MS = 1000 };

/* ---- taking over ---- */

static void report(const struct watch_settings *w, const char *what)
{
    if (w->quiet)
        debug_print("%s", what);
    else
        fprintf(stderr, "buckle: %s\n", what);
}

/* Reports once, however often a wrong file is read. */
static void refuse(struct watch_settings *w, const struct bk_err *err)
{
    OWN(buf) struct buf line = {0};
    buf_str(&line, "the old settings stay in force: ");
    err_line(err, &line);
    if (!buf_ok(&line) || (w->refused.s && strcmp(line.s, w->refused.s) == 0))
        return;
    report(w, line.s);
    buf_free(&w->refused);
    w->refused = line;
    line = (struct buf){0};
}

static bool same_words(const struct words *a, const struct words *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->at[i], b->at[i]) != 0)
            return false;
    return true;
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same_handling(const struct settings_handling *a, const struct settings_handling *b)
{
    return a->ends_tls == b->ends_tls && a->tunnels == b->tunnels &&
           a->handshake_ms == b->handshake_ms && a->plain_headers == b->plain_headers &&
           same_words(&a->keep_tls, &b->keep_tls) && same_words(&a->extra_cas, &b->extra_cas) &&
           same_words(&a->strip, &b->strip) && same_words(&a->via_hosts, &b->via_hosts) &&
           same_text(a->ca_cert, b->ca_cert) && same_text(a->ca_key, b->ca_key) &&
           same_text(a->via, b->via) && same_text(a->decider, b->decider) &&
           same_text(a->targets, b->targets);
}

/* Reports settings that a running command already has. */
static void report_fixed(const struct watch_settings *w, const struct settings_result *was,
                         const struct settings_result *is)
{
    if (!same_words(&was->env, &is->env))
        report(w,
               "takes effect with the next command: network.httpProxyPort, network.socksProxyPort");
    if (!same_text(was->upstream, is->upstream) || !same_text(was->no_proxy, is->no_proxy))
        report(w, "takes effect with the next command: network.parentProxy");
    if (!same_handling(&was->handling, &is->handling))
        report(
            w,
            "takes effect with the next command: network.tlsTerminate, mitmProxy, filterRequest, "
            "stripResponseHeaders, allowPlaintextHeaderSet, ambiguousRequestTarget");
    if (was->nested_userns != is->nested_userns)
        report(w, "takes effect with the next command: allowNestedUserNamespaces");
    if (was->strict_allowlist && !is->strict_allowlist && args_has(w->settings->args, "ask"))
        report(w, "takes effect with the next command: network.strictAllowlist");
}

static void report_waits(const struct watch_settings *w, const struct buf *waits)
{
    for (const char *at = waits->s; at && *at;) {
        const char *end = strchr(at, '\n');
        size_t n = end ? (size_t)(end - at) : strlen(at);
        char line[400];
        snprintf(line, sizeof(line), "takes effect with the next command: %.*s", (int)n, at);
        if (n)
            report(w, line);
        at += n + (end != NULL);
    }
}

static bool same_policy(const struct assembly *a, const struct assembly *b)
{
    if (a->nsources != b->nsources)
        return false;
    for (size_t i = 0; i < a->nsources; i++)
        if (a->sources[i].n != b->sources[i].n ||
            (a->sources[i].n &&
             memcmp(a->sources[i].text, b->sources[i].text, a->sources[i].n) != 0))
            return false;
    return true;
}

/* A layer that disappeared: perhaps it is being replaced. */
static bool lost_layer(const struct assembly *was, const struct assembly *is, struct bk_err *err)
{
    for (enum layer_id id = LAYER_USER; id <= LAYER_POLICY; id++)
        if (settings_has(&was->settings, id) && !settings_has(&is->settings, id)) {
            err_set(err, BK_E_INPUT,
                    "the %s settings are gone; that takes effect with the next command",
                    settings_layer_name(id));
            return true;
        }
    return false;
}

static void use_policy(struct watch_settings *w, struct assembly *next)
{
    struct assembly *now = w->settings->now;
    OWN(buf) struct buf waits = {0};
    struct bk_err err;
    bool change = !same_policy(now, next);
    if (lost_layer(now, next, &err) || (change && grants_base(&w->live->grants, next->sources,
                                                              next->nsources, &waits, &err) < 0)) {
        refuse(w, &err);
        run_settings_free_policy(next);
        return;
    }
    buf_free(&w->refused);
    if (change && !atomic_exchange(&w->own, false)) {
        report(w, "the new settings are in force");
        report_waits(w, &waits);
    }
    report_fixed(w, &now->result, &next->result);
    if (!change)
        grants_moved(&w->live->grants, next->sources, next->nsources);
    w->settings->now = next;
    run_settings_free_policy(now);
}

static bool update_settings(struct watch_settings *w, const char *control, size_t n)
{
    struct bk_err err;
    struct assembly *next = run_settings_again(w->settings, control, n, &err);
    if (!next)
        return refuse(w, &err), false;
    const struct assembly *now = w->settings->now;
    if (!now->by_settings && !now->settings.n && !next->settings.n)
        return run_settings_free_policy(next), false;
    use_policy(w, next);
    return w->settings->now == next;
}

/* ---- files ---- */

/* Watches settings' files, and places where they could be created. */
static void name_files(struct watch_settings *w)
{
    static const enum layer_id found[] = {LAYER_USER, LAYER_PROJECT, LAYER_LOCAL, LAYER_POLICY};
    const struct run_settings *rs = w->settings;
    OWN(settings) struct settings s = {0};
    struct bk_err err;
    for (size_t i = 0; i < rs->now->settings.n; i++)
        if (rs->now->settings.layers[i].path)
            watch_path(&w->files, rs->now->settings.layers[i].path);
    if (!run_settings_found(rs) || settings_init(&s, rs->request.cwd, &err) < 0)
        return;
    for (size_t i = 0; i < sizeof(found) / sizeof(found[0]); i++)
        if (settings_layer_path(&s, found[i]))
            watch_path(&w->files, settings_layer_path(&s, found[i]));
}

static void read_again(struct watch_settings *w)
{
    watch_forget(&w->files);
    name_files(w);
    update_settings(w, w->last_line.n ? w->last_line.s : NULL, w->last_line.n);
}

static void watch_later(struct watch_settings *w, unsigned ms);

static void on_files(void *arg, int fd)
{
    struct watch_settings *w = arg;
    if (watch_read_changes(&w->files)) {
        read_again(w);
        return;
    }
    fd_watch_drop(&w->live->fd_watch, fd);
    watch_later(w, REST_MS);
}

/* Without a watch (a user has 128 of them) the files are read every second. */
static void look_instead(struct watch_settings *w)
{
    if (!w->looking && w->settings->now->settings.n) {
        char line[160];
        snprintf(line, sizeof(line), "cannot watch settings, and reads them every second: %s",
                 strerror(errno));
        report(w, line);
    }
    w->looking = true;
    update_settings(w, w->last_line.n ? w->last_line.s : NULL, w->last_line.n);
    watch_later(w, LOOK_MS);
}

/* Starts to watch files, or continues. */
static void on_later(void *arg, int fd)
{
    struct watch_settings *w = arg;
    struct bk_err err;
    bool again = w->files.fd >= 0;
    fd_watch_drop(&w->live->fd_watch, fd);
    close(fd);
    w->later = -1;
    if (!again && !watch_open(&w->files))
        return look_instead(w);
    if (fd_watch_add(&w->live->fd_watch, w->files.fd, on_files, w, &err) < 0)
        watch_close(&w->files);
    else if (!again)
        read_again(w);
}

static void watch_later(struct watch_settings *w, unsigned ms)
{
    struct bk_err err;
    w->later = fd_timer_open();
    if (w->later < 0)
        return;
    if (fd_timer_set(w->later, ms) < 0 ||
        fd_watch_add(&w->live->fd_watch, w->later, on_later, w, &err) < 0) {
        close(w->later);
        w->later = -1;
    }
}

/* ---- the control descriptor ---- */

static void on_line(struct watch_settings *w)
{
    if (w->line.n && !w->skipping && update_settings(w, w->line.s, w->line.n)) {
        struct buf was = w->last_line;
        w->last_line = w->line;
        w->line = was;
    }
    w->skipping = false;
    w->line.n = 0;
}

static void on_control(void *arg, int fd)
{
    struct watch_settings *w = arg;
    char bytes[16384];
    struct bk_err err;
    ssize_t n = read(fd, bytes, sizeof(bytes));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        fd_watch_drop(&w->live->fd_watch, fd);
        return;
    }
    for (const char *at = bytes, *end = bytes + n; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((newline ? newline : end) - at);
        if (w->line.n + len > JSON_MAX && !w->skipping) {
            err_set(&err, BK_E_LIMIT, "--control-fd: line too long");
            refuse(w, &err);
            w->skipping = true;
        }
        if (!w->skipping)
            buf_add(&w->line, at, len);
        if (newline)
            on_line(w);
        at += len + (newline != NULL);
    }
}

int watch_check(struct watch_settings *w, const struct cli_args *args, struct bk_err *err)
{
    const char *text = args_value(args, "control-fd");
    char *end;
    w->later = w->files.fd = w->control = -1;
    if (!text)
        return 0;
    long fd = strtol(text, &end, 10);
    struct stat st;
    int flags = *text && !*end && fd > 2 && fd < 65536 ? fcntl((int)fd, F_GETFL) : -1;
    if (flags < 0 || (flags & O_ACCMODE) == O_WRONLY || fstat((int)fd, &st) < 0 ||
        S_ISREG(st.st_mode)) {
        err_set(err, BK_E_INPUT, "--control-fd: %s is not a readable pipe or socket", text);
        err_hint(err, "give a descriptor of 3 or more; for a file, use --settings");
        return -1;
    }
    fcntl((int)fd, F_SETFD, FD_CLOEXEC);
    w->control = (int)fd;
    return 0;
}

void watch_begin(struct watch_settings *w, struct run_settings *rs, struct live *live)
{
    struct bk_err err;
    w->settings = rs;
    w->live = live;
    if (rs->now->settings.n || run_settings_found(rs))
        watch_later(w, AFTER_MS);
    if (w->control >= 0 && fd_watch_add(&live->fd_watch, w->control, on_control, w, &err) < 0)
        refuse(w, &err);
}

void watch_end(struct watch_settings *w)
{
    if (w->later >= 0)
        close(w->later);
    watch_close(&w->files);
    buf_free(&w->line);
    buf_free(&w->last_line);
    buf_free(&w->refused);
}
