/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A description as SBPL. Everything is denied first; then a fixed start that opens no file and no
 * host; then the rules in their order, of which the last decides. All rules use the same few
 * operations, because in SBPL a rule for one kind of writing would win over a rule for all of them.
 *
 * Words of the input appear in two places: in strings, quoted by buf_sbpl(), and in comments, where
 * buf_safe() leaves no byte that ends a line.
 */

#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "import/import-int.h"

static const char start[] =
    "(version 1)\n"
    "(deny default)\n"
    "(deny file-test-existence nvram*)\n"
    "\n"
    ";; Programs see and signal each other, and no other processes.\n"
    "(allow process-fork sysctl-read ipc-posix* ipc-sysv* pseudo-tty)\n"
    "(allow process-info* signal system-sched (target self) (target same-sandbox))\n"
    "(allow network-bind network-inbound network-outbound\n"
    "    (require-all (prefix \"@\") (extension \"buckle.created-socket\")))\n";

static const struct {
    unsigned may;
    const char *ops;
} classes[] = {
    {MAY_READ, "file-read* file-test-existence"},
    {MAY_WRITE, "file-write*"},
    {MAY_EXEC, "process-exec*"},
    {MAY_EXEC, "file-map-executable"}, /* unless imp.maps */
    {MAY_SOCKET, "network-outbound network-bind network-inbound"},
    {MAY_DEVICE, "file-ioctl"},
};
enum { CLASSES = sizeof(classes) / sizeof(classes[0]), MAPS = 3 };

/* ---- which rules matter ---- */

static bool in_folder(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    return strcmp(folder, "/") == 0 ||
           (strncmp(path, folder, n) == 0 && (!path[n] || path[n] == '/'));
}

/* Whether two rules can be about one path; true if that is not known. */
static bool overlap(const struct imp_rule *a, const struct imp_rule *b)
{
    if (a->where == IMP_PATTERN || b->where == IMP_PATTERN || a->below != b->below)
        return true;
    return in_folder(a->path, b->path) || in_folder(b->path, a->path);
}

/* What the rules before it may have granted there. */
static unsigned granted_before(const struct imp *im, size_t i)
{
    unsigned may = 0;
    for (size_t j = 0; j < i && may != MAY_ALL; j++)
        if (overlap(&im->rules[j], &im->rules[i]))
            may |= im->rules[j].grant;
    return may;
}

/* Where a folder is that is known later is not known: it comes after the others. */
static size_t depth(const struct imp_rule *r)
{
    size_t n = 0;
    if (r->below != IMP_ROOT)
        return SIZE_MAX;
    for (const char *s = r->path; *s; s++)
        n += *s == '/' && s[1];
    return n;
}

static unsigned bits(unsigned may)
{
    unsigned n = 0;
    for (; may; may >>= 1)
        n += may & 1;
    return n;
}

/* Shallow paths first; of one path the rule that takes most away last. */
static bool comes_after(const struct imp_rule *a, const struct imp_rule *b, bool by_depth)
{
    if (a->last != b->last || !by_depth)
        return a->last && !b->last;
    size_t da = depth(a), db = depth(b);
    if (da != db)
        return da > db;
    return strcmp(a->path, b->path) == 0 && bits(a->revoke) > bits(b->revoke);
}

static int order(struct imp *im, struct bk_err *err)
{
    struct imp_rule *sorted = arena_array(&im->arena, im->nrules + 1, sizeof(*sorted));
    size_t n = 0;
    if (!sorted)
        return err_nomem(err);
    for (size_t i = 0; i < im->nrules; i++) {
        if (im->rules[i].gone)
            continue;
        size_t at = n++;
        for (; at && comes_after(&sorted[at - 1], &im->rules[i], im->by_depth); at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = im->rules[i];
    }
    im->rules = sorted;
    im->nrules = n;
    return 0;
}

/* ---- rules ---- */

static const char *const params[] = {[IMP_CWD] = "CWD", [IMP_TMPDIR] = "TMPDIR"};

static void put_path(const struct imp_rule *r, struct buf *out)
{
    if (r->below == IMP_ROOT)
        buf_sbpl(out, r->path, strlen(r->path));
    else if (!*r->path)
        buf_fmt(out, "(param \"%s\")", params[r->below]);
    else {
        buf_fmt(out, "(string-append (param \"%s\") ", params[r->below]);
        buf_sbpl(out, r->path, strlen(r->path));
        buf_chr(out, ')');
    }
}

static void put_ops(const struct imp *im, unsigned may, struct buf *out)
{
    for (size_t c = 0; c < CLASSES; c++)
        if (may & classes[c].may && !(c == MAPS && im->maps))
            buf_fmt(out, " %s", classes[c].ops);
}

static void put_line(const struct imp *im, uint32_t line, struct buf *out)
{
    if (line)
        buf_fmt(out, " ; %s %u", im->arguments ? "argument" : "line", line);
}

/* One form for n rules that say the same about different paths. */
static void put_form(const struct imp *im, const struct imp_rule *r, size_t n, const char *word,
                     unsigned may, struct buf *out)
{
    static const char *const filters[] = {
        [IMP_FOLDER] = "subpath", [IMP_FILE] = "literal", [IMP_PATTERN] = "regex"};
    if (!may)
        return;
    if (r->below != IMP_ROOT)
        buf_fmt(out, "(if (param \"%s\") ", params[r->below]);
    buf_fmt(out, "(%s", word);
    put_ops(im, may, out);
    put_line(im, r->line, out);
    for (size_t i = 0; i < n; i++) {
        buf_fmt(out, "\n    (%s ", filters[r[i].where]);
        put_path(&r[i], out);
        buf_chr(out, ')');
    }
    buf_str(out, r->below == IMP_ROOT ? ")\n" : "))\n");
}

static unsigned taken_away(const struct imp *im, size_t i)
{
    const struct imp_rule *r = &im->rules[i];
    return r->revoke & granted_before(im, i) & ~(unsigned)r->grant;
}

static void put_rules(const struct imp *im, struct buf *out)
{
    buf_str(out,
            "\n;; Files, programs, sockets and devices. The last rule that matches decides.\n");
    for (size_t i = 0, n; i < im->nrules; i += n) {
        const struct imp_rule *r = &im->rules[i];
        unsigned revoke = taken_away(im, i);
        n = 1;
        if (r->grant | revoke)
            while (i + n < im->nrules && r[n].grant == r->grant && r[n].below == r->below &&
                   r[n].line == r->line && taken_away(im, i + n) == revoke)
                n++;
        put_form(im, r, n, "allow", r->grant, out);
        put_form(im, r, n, "deny", revoke, out);
    }
}

/* Whether the folders above can be seen anyway. */
static bool parents_seen(const struct imp *im, const struct imp_rule *r)
{
    bool seen = false;
    for (size_t j = 0; j < im->nrules; j++) {
        const struct imp_rule *o = &im->rules[j];
        if (o->where != IMP_FOLDER || o->below != IMP_ROOT)
            continue;
        seen |= strcmp(o->path, "/") == 0 && o->grant & MAY_READ;
        if (o->revoke & MAY_READ && in_folder(r->path, o->path) && strcmp(r->path, o->path) != 0)
            return false;
    }
    return seen;
}

/* Whether the folders above it need a rule. */
static bool leads(const struct imp *im, const struct imp_rule *r)
{
    return r->grant & MAY_READ && r->where != IMP_PATTERN && r->below == IMP_ROOT &&
           strcmp(r->path, "/") != 0 && !parents_seen(im, r);
}

/* The folder that a rule's path is in; its length. */
static size_t parent(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash > path ? (size_t)(slash - path) : 0;
}

/* Whether the folders above rule i are also above a rule that is printed for them. */
static bool parents_shown(const struct imp *im, size_t i)
{
    const char *path = im->rules[i].path;
    size_t n = parent(path);
    for (size_t j = 0; j < im->nrules; j++) {
        const struct imp_rule *o = &im->rules[j];
        size_t m = parent(o->path);
        if (j == i || !o->leads || m < n || strncmp(o->path, path, n) != 0 ||
            (o->path[n] != '/' && o->path[n]))
            continue;
        if (m > n || j < i)
            return true;
    }
    return false;
}

/* The names, not the contents, of the folders that lead to what is opened. */
static void put_parents(const struct imp *im, struct buf *out)
{
    static const char intro[] = "\n;; Folders on the way: that they exist, not what is in them.\n";
    bool any = false, below[IMP_TMPDIR + 1] = {false};
    for (size_t i = 0; i < im->nrules; i++)
        im->rules[i].leads = leads(im, &im->rules[i]);
    for (size_t i = 0; i < im->nrules; i++) {
        const struct imp_rule *r = &im->rules[i];
        if (!r->leads || parents_shown(im, i))
            continue;
        if (!any)
            buf_fmt(out, "%s(allow file-read-metadata file-test-existence", intro);
        any = true;
        buf_str(out, "\n    (path-ancestors ");
        put_path(r, out);
        buf_chr(out, ')');
    }
    buf_str(out, any ? ")\n" : "");
    for (size_t i = 0; i < im->nrules; i++) {
        const struct imp_rule *r = &im->rules[i];
        if (r->below == IMP_ROOT || !(r->grant & MAY_READ) || below[r->below])
            continue;
        below[r->below] = true;
        buf_fmt(out,
                "(if (param \"%s\") (allow file-read-metadata file-test-existence\n"
                "    (path-ancestors (param \"%s\"))))\n",
                params[r->below], params[r->below]);
    }
}

/* ---- the network ---- */

static void put_port(const struct imp *im, const struct imp_port *p, struct buf *out)
{
    OWN(buf) struct buf to = {0};
    const char *host = p->peer == IMP_PEER_ANY         ? "*"
                       : p->peer == IMP_PEER_LOCALHOST ? "localhost"
                                                       : p->host;
    bool six = p->peer == IMP_PEER_ADDRESS && strchr(host, ':');
    buf_fmt(&to, "%s%s%s", six ? "[" : "", host, six ? "]" : "");
    if (p->lo == 0 && p->hi == 65535)
        buf_str(&to, p->peer == IMP_PEER_DOMAIN ? "" : ":*");
    else if (p->lo == p->hi)
        buf_fmt(&to, ":%u", p->lo);
    else
        buf_fmt(&to, ":%u-%u", p->lo, p->hi);
    buf_fmt(out, "(%s %s (", p->deny ? "deny" : "allow",
            p->bind ? "network-bind network-inbound" : "network-outbound");
    if (p->peer == IMP_PEER_DOMAIN)
        buf_str(out, "domain ");
    else
        buf_fmt(out, "%s %s ", p->bind ? "local" : "remote", p->protocol);
    buf_sbpl(out, to.s ? to.s : "", to.n);
    buf_str(out, "))");
    put_line(im, p->line, out);
    buf_chr(out, '\n');
    out->failed = out->failed || to.failed;
}

static void put_network(const struct imp *im, struct buf *out)
{
    if (im->net == IMP_NET_NONE) {
        buf_str(out, "\n;; No network.\n");
        return;
    }
    buf_str(out, "\n;; The network.\n");
    if (im->net == IMP_NET_ALL)
        buf_str(out, "(allow network-outbound (remote ip \"*:*\"))\n"
                     "(allow network-bind network-inbound (local ip \"*:*\"))\n");
    for (size_t i = 0; i < im->nports; i++)
        put_port(im, &im->ports[i], out);
}

/* ---- notes ---- */

static void put_note(const struct imp *im, const struct imp_note *n, struct buf *out)
{
    if (n->source) {
        buf_safe(out, n->source, strlen(n->source));
        buf_fmt(out, ":%u: ", n->line);
    } else if (n->line)
        buf_fmt(out, "%s %u: ", im->arguments ? "argument" : "line", n->line);
    buf_safe(out, n->what, strlen(n->what));
    buf_fmt(out, ": %s\n", n->why);
}

static void put_notes(const struct imp *im, bool lost, const char *title, struct buf *out)
{
    bool any = false;
    for (size_t i = 0; i < im->nnotes; i++) {
        if (im->notes[i].lost != lost)
            continue;
        if (!any)
            buf_fmt(out, ";;\n;; %s\n", title);
        any = true;
        buf_str(out, ";;   ");
        put_note(im, &im->notes[i], out);
    }
}

void imp_warnings(const struct imp *im, struct buf *out)
{
    for (size_t i = 0; i < im->nnotes; i++) {
        if (!im->notes[i].lost)
            continue;
        buf_str(out, "warning: no counterpart: ");
        put_note(im, &im->notes[i], out);
    }
}

int imp_print(struct imp *im, struct buf *out, struct bk_err *err)
{
    struct imp_rule tmp = {.below = IMP_TMPDIR, .path = "", .grant = MAY_ALL & ~MAY_DEVICE};
    if (im->scratch && imp_add(im, tmp, err) < 0)
        return -1;
    if (order(im, err) < 0)
        return -1;
    buf_fmt(out, ";; Imported from %s (", im->tool);
    buf_safe(out, im->arguments ? "its command line" : im->source,
             strlen(im->arguments ? "its command line" : im->source));
    buf_str(out, ").\n");
    put_notes(im, true, "NOT in this profile, because it has no counterpart:", out);
    put_notes(im, false, "Different:", out);
    buf_str(out, start);
    /* what cannot be read cannot be loaded either */
    im->maps = true;
    for (size_t i = 0; i < im->nrules; i++)
        if (im->rules[i].revoke & MAY_EXEC && !(im->rules[i].revoke & MAY_READ))
            im->maps = false;
    if (!im->maps)
        buf_str(out, "(deny file-map-executable)\n");
    put_network(im, out);
    put_parents(im, out);
    put_rules(im, out);
    if (im->secrets)
        buf_str(out, "\n;; Known secret stores stay closed.\n(import \"secrets.sb\")\n");
    return buf_ok(out) ? 0 : err_nomem(err);
}
