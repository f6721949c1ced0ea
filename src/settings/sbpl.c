/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Access → SBPL. The text has two readers: users, who see it with `buckle profile`, and a compiler,
 * ours or Apple's. The same access gives the same text on every machine.
 *
 * Three facts about the language decide how it is written. An operation's own rules come before its
 * parent's, so every denial names the operation and its children; then later rules cannot hide it.
 * Among the rules of one operation the last wins, so denials follow permissions. And a denied place
 * with an allowed one inside is one condition ("this but not that"), because patterns may have no
 * valid order as two rules.
 */

#include <string.h>

#include "base/own.h"
#include "settings/links.h"
#include "settings/sbpl-int.h"

static void write_header(struct writer *w)
{
    buf_str(w->out, "(version 1)\n");
    if (w->p->else_open)
        buf_str(w->out, "(allow default)\n(deny file-write*)\n");
    else
        write_open(w, "deny", "default"), write_close(w, NULL);
    if (!w->p->tag)
        return;
    buf_str(w->out, "\n; LogTag: ");
    buf_safe(w->out, w->p->tag, strlen(w->p->tag));
    buf_chr(w->out, '\n');
}

static int check_all(const struct places *list, struct bk_err *err)
{
    for (size_t i = 0; i < list->n; i++)
        if (place_check(&list->at[i], err) < 0)
            return -1;
    return 0;
}

static int check_places(const struct access *p, struct bk_err *err)
{
    const struct place tmpdir = {.path = p->tmpdir};
    if (check_all(&p->deny_read, err) < 0 || check_all(&p->allow_read, err) < 0 ||
        check_all(&p->allow_write, err) < 0 || check_all(&p->deny_write, err) < 0 ||
        check_all(&p->unix_sockets, err) < 0 || check_all(&p->layered, err) < 0)
        return -1;
    return p->tmpdir ? place_check(&tmpdir, err) : 0;
}

static int write_all(struct writer *w)
{
    write_header(w);
    if (!w->p->else_open) {
        write_process(w);
        write_mach(w);
        write_posix_ipc(w);
        write_iokit(w);
        write_sysctl(w);
    }
    write_devices(w);
    if (write_network(w) < 0 || write_reads(w) < 0 || write_writes(w) < 0)
        return -1;
    write_terminals(w);
    return write_commands(w);
}

/* What denied reads except. */
static int find_readable(struct writer *w)
{
    const struct places *allow = &w->p->allow_read, *writable = &w->writable;
    w->readable = *allow;
    if (!w->p->allowed_reads_win)
        return 0;
    struct place *at = arena_array(&w->arena, allow->n + writable->n + 1, sizeof(*at));
    if (!at)
        return err_nomem(w->err);
    if (allow->n)
        memcpy(at, allow->at, allow->n * sizeof(*at));
    memcpy(at + allow->n, writable->at, writable->n * sizeof(*at));
    w->readable = (struct places){at, allow->n + writable->n};
    return 0;
}

/* Finds writable places and the exceptions of denials. Of denied writes only those that yield have
 * exceptions; of denied reads, those that are not final. */
static int prepare(struct writer *w)
{
    const struct access *p = w->p;
    size_t own = p->tmpdir ? 1 : 0;
    struct place *at = arena_array(&w->arena, p->allow_write.n + 1, sizeof(*at));
    if (!at)
        return err_nomem(w->err);
    at[0] = (struct place){.path = p->tmpdir, .origin = "TMPDIR"};
    if (p->allow_write.n)
        memcpy(at + own, p->allow_write.at, p->allow_write.n * sizeof(*at));
    w->writable = (struct places){at, p->allow_write.n + own};
    if (find_readable(w) < 0)
        return -1;
    w->reads = (struct carving){.deny = &p->deny_read,
                                .allow = &w->readable,
                                .same = p->allowed_reads_win ? p->allow_read.n : 0};
    w->writes = (struct carving){.deny = &p->deny_write, .allow = &w->writable};
    if (carve(&w->arena, &w->reads, w->err) < 0 || carve(&w->arena, &w->writes, w->err) < 0)
        return -1;
    for (size_t d = 0; d < p->deny_read.n; d++)
        if (p->deny_read.at[d].final)
            memset(w->reads.inside + d * w->readable.n, 0, w->readable.n * sizeof(bool));
    for (size_t d = 0; d < p->deny_write.n; d++)
        if (!p->deny_write.at[d].yields)
            memset(w->writes.inside + d * w->writable.n, 0, w->writable.n * sizeof(bool));
    return 0;
}

static bool every_host(const struct access *p)
{
    for (size_t i = 0; i < p->allowed_domains.n; i++)
        if (strcmp(p->allowed_domains.at[i], "*") == 0)
            return p->all_unix_sockets && p->local_binding && !p->denied_addresses.n;
    return p->network_open;
}

int access_note(struct arena *a, struct access *p, bool writes, const struct places *links,
                const char *target, const char *from)
{
    OWN(buf) struct buf all = {0};
    if (!links->n)
        return 0;
    buf_add(&all, p->links ? p->links : "", p->nlinks);
    for (size_t i = 0; i < links->n; i++)
        links_note(&all, writes, links->at[i].path, target, from);
    p->links = buf_ok(&all) ? arena_strndup(a, all.s, all.n) : NULL;
    p->nlinks = p->links ? all.n : 0;
    return p->links ? 0 : -1;
}

bool access_is_open(const struct access *p)
{
    return every_host(p) && !p->requests_only && !p->denied_domains.n && !p->denied_requests.n &&
           p->writes_everything && !p->protects_names && !p->reads_nothing && !p->deny_read.n &&
           !p->ncommands;
}

int access_sbpl(const struct access *p, const struct access_target *t, struct buf *out,
                struct bk_err *err)
{
    struct buf text = {0};
    struct writer w = {.p = p, .t = t, .out = &text, .err = err};
    if (check_places(p, err) < 0)
        return -1;
    arena_init(&w.arena, 256 << 20);
    int result = prepare(&w) < 0 || write_all(&w) < 0 ? -1 : 0;
    if (result == 0 && buf_ok(&text))
        buf_add(out, text.s, text.n);
    if (result == 0 && (!buf_ok(&text) || !buf_ok(out)))
        result = err_nomem(err);
    arena_free(&w.arena);
    buf_free(&text);
    return result;
}
