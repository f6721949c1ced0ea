/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Rules for the end of a profile, after those of flags and other front ends: what stays denied. A
 * list that is a ceiling denies everything outside of it.
 */

#include <string.h>

#include "graph/net.h"
#include "settings/flag-rule.h"
#include "settings/request-rule.h"
#include "settings/sbpl-int.h"

static int deny_places(struct writer *w, const char *operations, const struct places *list,
                       bool only_final)
{
    bool open = false;
    for (size_t i = 0; i < list->n; i++) {
        struct buf filter = {0};
        if (only_final && !list->at[i].final)
            continue;
        if (!open)
            write_open(w, "deny", operations);
        open = true;
        int result = denied_place_filter(w, &list->at[i], &filter);
        if (result == 0)
            write_filter(w, list->at[i].origin, &filter);
        buf_free(&filter);
        if (result < 0)
            return -1;
    }
    if (open)
        write_close(w, "denied by settings");
    return 0;
}

/* A list of folders is not about devices and /proc/PID. */
static int cap_writes(struct writer *w)
{
    struct place tmpdir = {.path = w->p->tmpdir, .origin = "TMPDIR"};
    struct places own = {&tmpdir, w->p->tmpdir ? 1 : 0};
    write_open(w, "deny", write_operations(w));
    buf_str(w->out, "\n    (require-not (subpath \"/dev\" \"/proc\")");
    if (write_places(w, &own) < 0 || write_places(w, &w->p->allow_write) < 0)
        return -1;
    buf_chr(w->out, ')');
    write_close(w, "the machine's policy does not allow writing there");
    return 0;
}

static int cap_hosts(struct writer *w)
{
    const struct words *allowed = &w->p->allowed_domains;
    struct net_endpoint end;
    const struct words *requests = &w->p->allowed_requests;
    bool some = allowed->n || requests->n;
    write_open(w, "deny", "network-outbound");
    buf_str(w->out, "\n    (require-all (remote ip \"*:*\")");
    buf_str(w->out, some ? " (require-not" : "");
    for (size_t i = 0; i < allowed->n; i++) {
        const char *host = allowed->at[i];
        size_t n = strlen(host);
        bool remote = net_endpoint_parse(host, n, &end, NULL, NULL) == 0;
        buf_fmt(w->out, "\n        (%s ", remote ? "remote ip" : "domain");
        buf_sbpl(w->out, host, n);
        buf_chr(w->out, ')');
    }
    for (size_t i = 0; i < requests->n; i++) {
        buf_str(w->out, "\n        ");
        if (request_rule_filter(requests->at[i], w->out, w->err) < 0)
            return -1;
    }
    buf_str(w->out, some ? "))" : ")");
    write_close(w, "the machine's policy does not allow this host");
    return 0;
}

/* The command may use the sockets that it creates itself. */
static int cap_sockets(struct writer *w)
{
    write_open(w, "deny", "network-outbound");
    buf_str(w->out, "\n    (require-all (regex #\"^/\")\n"
                    "        (require-not (extension \"buckle.created-socket\")");
    if (write_places(w, &w->p->unix_sockets) < 0)
        return -1;
    buf_str(w->out, "))");
    write_close(w, "the machine's policy does not allow this socket");
    return 0;
}

static int write_caps(struct writer *w, unsigned ceilings)
{
    buf_str(w->out, "; These rules override everything above.\n");
    if ((ceilings & CEILING_WRITES && cap_writes(w) < 0) ||
        (ceilings & CEILING_HOSTS && cap_hosts(w) < 0) ||
        (ceilings & CEILING_SOCKETS && cap_sockets(w) < 0))
        return -1;
    if (ceilings & CEILING_PROTECTED)
        rule_classes(w->out, "keep-protected", ~w->p->allow_protected);
    bool hides = false;
    for (size_t i = 0; i < w->p->deny_read.n; i++)
        hides |= w->p->deny_read.at[i].final;
    if (hides)
        buf_fmt(w->out, "(deny file-read-data %s)\n", rule_disks);
    if (deny_places(w, read_operations(w), &w->p->deny_read, true) < 0 ||
        deny_places(w, write_operations(w), &w->p->deny_write, false) < 0)
        return -1;
    return write_denied_hosts(w) < 0 ? -1 : write_commands(w);
}

int access_ceilings_sbpl(const struct access *p, unsigned ceilings, struct buf *out,
                         struct bk_err *err)
{
    const struct access_target target = {0};
    struct buf text = {0};
    struct writer w = {.p = p, .t = &target, .out = &text, .err = err};
    arena_init(&w.arena, 64 << 20);
    int result = write_caps(&w, ceilings);
    if (result == 0)
        buf_add(out, text.s, text.n);
    if (result == 0 && (!buf_ok(&text) || !buf_ok(out)))
        result = err_nomem(err);
    arena_free(&w.arena);
    buf_free(&text);
    return result;
}
