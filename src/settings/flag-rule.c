/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Shipped profiles have procedures for later permissions and denials (protected.sb), which keep
 * protected names denied inside an opened folder. The user's own profiles get plain rules. An
 * operation's own rules come before its parent's, so these name all writing operations.
 */

#include "settings/flag-rule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/spelling.h"
#include "graph/command.h"
#include "graph/net.h"
#include "settings/links.h"
#include "settings/paths.h"
#include "settings/request-rule.h"
#include "vocab/protected-classes.h"
#include "vocab/rule-words.h"

#define READ_OPERATIONS                                                                            \
    "file-read* file-read-data file-read-metadata file-read-xattr file-test-existence"
#define WRITE_OPERATIONS                                                                           \
    "file-write* file-write-acl file-write-create file-write-data file-write-flags "               \
    "file-write-mode file-write-owner file-write-times file-write-unlink file-write-xattr"

const char rule_disks[] =
    "(vnode-type BLOCK-DEVICE)\n"
    "    (require-all (vnode-type CHARACTER-DEVICE)\n"
    "        (regex #\"^/dev/(k?mem|port|oldmem|crash|kmsg|sg[0-9]+|bsg/.*|n?st[0-9]+[alm]?|"
    "nvme[0-9]+|ng[0-9]+n[0-9]+|mtd[0-9]+(ro)?|ubi[0-9_]+|dax[0-9.]+|rawctl|raw/.*)$\"))";

/* The filter for a place. A denied pattern also covers everything below its matches. */
static void place_filter(struct buf *out, const struct place *p, bool denies)
{
    OWN(buf) struct buf below = {0};
    size_t n = strlen(p->path);
    if (n == 1) {
        buf_str(out, "(regex #\"^/\")"); /* "/" is no subpath that ends in a name */
        return;
    }
    buf_str(out, p->kind == PLACE_GLOB ? "(glob " : "(subpath ");
    buf_sbpl(out, p->path, n);
    if (denies && p->kind == PLACE_GLOB) {
        buf_fmt(&below, "%s/**", p->path);
        buf_chr(out, ' ');
        buf_sbpl(out, below.s ? below.s : "", below.n);
        out->failed |= !buf_ok(&below);
    }
    buf_chr(out, ')');
}

static void plain_rule(struct buf *out, const char *action, const char *operations,
                       const struct place *p)
{
    buf_fmt(out, "(%s %s ", action, operations);
    place_filter(out, p, strcmp(action, "deny") == 0);
    buf_str(out, ")\n");
}

/* Who may write to a device that was named may read it. */
static void device_rule(struct buf *out, const struct place *p)
{
    buf_str(out, "(allow file-read-data (require-all (require-any (vnode-type CHARACTER-DEVICE) "
                 "(vnode-type BLOCK-DEVICE)) ");
    place_filter(out, p, false);
    buf_str(out, "))\n");
}

static void shipped_rule(struct buf *out, bool allow, const struct place *p)
{
    if (allow && p->kind != PLACE_GLOB) {
        buf_str(out, "(allow-write ");
        buf_sbpl(out, p->path, strlen(p->path));
    } else {
        buf_str(out, allow ? "(allow-write-matching " : "(deny-write ");
        place_filter(out, p, !allow);
    }
    buf_str(out, ")\n");
}

int rule_places(struct arena *a, const char *option, const char *given, const char *cwd,
                enum rule_kind kind, struct places *out, struct buf *links, struct bk_err *err)
{
    const struct path_base base = {.cwd = cwd, .home = getenv("HOME")};
    struct places through = {0};
    const struct path_entry entry = {.text = given,
                                     .n = strlen(given),
                                     .from_shell = true,
                                     .denies = kind == RULE_DENIES,
                                     .links = kind == RULE_DENIES ? NULL : &through};
    char from[64];
    snprintf(from, sizeof(from), "--%s", option);
    if (path_places(a, &base, &entry, out, err) == 0) {
        for (size_t i = 0; i < through.n; i++)
            links_note(links, kind == RULE_WRITES, through.at[i].path, out->at[out->n - 1].path,
                       from);
        return 0;
    }
    struct bk_err why = *err;
    err_set(err, why.code, "--%s %.80s: %.200s", option, given, why.msg);
    return -1;
}

static int file_rule(const struct rule_word *w, const char *given, const char *cwd, bool shipped,
                     struct buf *out, struct buf *links, struct bk_err *err)
{
    bool write = w->op == OP_FILE_WRITE;
    enum rule_kind kind = !w->allow ? RULE_DENIES : write ? RULE_WRITES : RULE_READS;
    struct arena arena;
    struct places places = {0};
    /* Denied reads keep files visible, because programs look up more files than they read. A
     * writable device accepts ioctls as well. */
    const char *const operations[2][2] = {{"file-read-data", READ_OPERATIONS},
                                          {WRITE_OPERATIONS, WRITE_OPERATIONS " file-ioctl"}};
    arena_init(&arena, 1 << 20);
    int result = rule_places(&arena, w->word, given, cwd, kind, &places, links, err);
    for (size_t i = 0; i < places.n; i++)
        if (shipped && write)
            shipped_rule(out, w->allow, &places.at[i]);
        else
            plain_rule(out, w->allow ? "allow" : "deny", operations[write][w->allow],
                       &places.at[i]);
    for (size_t i = 0; i < places.n && !shipped && w->allow && write; i++)
        if (strncmp(places.at[i].path, "/dev/", 5) == 0)
            device_rule(out, &places.at[i]);
    arena_free(&arena);
    return result;
}

/* ---- the network ---- */

/* A host name is a domain; addresses, ranges, "*" and localhost are for (remote …). */
static bool is_domain(const char *s)
{
    struct net_endpoint end;
    return net_endpoint_parse(s, strlen(s), &end, NULL, NULL) < 0 &&
           net_domain_check(s, strlen(s), NULL) == 0;
}

static int net_rule(const char *option, const char *given, struct buf *out, struct bk_err *err)
{
    struct net_endpoint end;
    bool domain = is_domain(given);
    if (!domain && net_endpoint_parse(given, strlen(given), &end, NULL, err) < 0) {
        err_set(err, BK_E_INPUT, "--%s %.80s is not a host name or address", option, given);
        err_hint(err, "write a name, *.name, an address or a range; :port limits it to one port");
        return -1;
    }
    buf_fmt(out, "(%.*s network-outbound (%s ", (int)strcspn(option, "-"), option,
            domain ? "domain" : "remote ip");
    buf_sbpl(out, given, strlen(given));
    buf_str(out, "))\n");
    return 0;
}

static int request_rule(const char *option, const char *given, struct buf *out, struct bk_err *err)
{
    struct bk_err why;
    buf_fmt(out, "(%.*s network-outbound ", (int)strcspn(option, "-"), option);
    if (request_rule_filter(given, out, &why) < 0) {
        err_set(err, why.code, "--%s %.200s", option, why.msg);
        err_hint(err, "%s", why.hint);
        return -1;
    }
    buf_str(out, ")\n");
    return 0;
}

/* ---- protected names ---- */

static int unknown_class(const char *option, const char *word, size_t n, struct bk_err *err)
{
    const char *names[PROTECTED_CLASSES];
    OWN(buf) struct buf list = {0};
    char given[SPELLING_MAX + 1];
    for (size_t i = 0; i < PROTECTED_CLASSES; i++) {
        names[i] = protected_classes[i].name;
        buf_fmt(&list, "%s%s", i ? ", " : "", names[i]);
    }
    snprintf(given, sizeof(given), "%.*s", n < SPELLING_MAX ? (int)n : SPELLING_MAX, word);
    const char *near = spelling_nearest(given, names, PROTECTED_CLASSES);
    err_set(err, BK_E_INPUT, "--%s: there is no class %s", option, n ? given : "without a name");
    if (near)
        err_hint(err, "did you mean %s?", near);
    else
        err_hint(err, "the classes of protected names are %s", list.s ? list.s : "");
    return -1;
}

void rule_classes(struct buf *out, const char *procedure, unsigned set)
{
    if (!set)
        return;
    buf_fmt(out, "(%s", procedure);
    for (size_t i = 0; i < PROTECTED_CLASSES; i++)
        if (set >> i & 1)
            buf_fmt(out, " \"%s\"", protected_classes[i].name);
    buf_str(out, ")\n");
}

/* The procedure is built in, so that any base has it. */
static int class_rule(const char *option, const char *given, struct buf *out, struct bk_err *err)
{
    unsigned set = 0;
    const char *word;
    size_t n;
    if (!protected_classes_read(given, &set, &word, &n))
        return unknown_class(option, word, n, err);
    rule_classes(out, "allow-protected", set);
    return buf_ok(out) ? 0 : err_nomem(err);
}

/* ---- commands ---- */

static int command_rule(const char *option, const char *given, struct buf *out, struct bk_err *err)
{
    struct bk_err why;
    if (graph_command_check(given, strlen(given), &why) < 0)
        return err_set(err, BK_E_INPUT, "--%s: %.200s", option, why.msg);
    buf_str(out, "(allow-command ");
    buf_sbpl(out, given, strlen(given));
    buf_str(out, ")\n");
    return buf_ok(out) ? 0 : err_nomem(err);
}

int rule_write(const char *option, const char *value, const char *cwd, bool shipped,
               struct buf *out, struct buf *links, struct bk_err *err)
{
    const struct rule_word *w = rule_word_find(option);
    if (w && w->takes == RULE_VALUE_REQUEST)
        return request_rule(option, value, out, err);
    if (!w || rule_word_takes_host(w))
        return net_rule(option, value, out, err);
    if (w->takes == RULE_VALUE_CLASSES)
        return class_rule(option, value, out, err);
    if (w->takes == RULE_VALUE_COMMAND)
        return command_rule(option, value, out, err);
    if (file_rule(w, value, cwd, shipped, out, links, err) < 0)
        return -1;
    return buf_ok(out) && buf_ok(links) ? 0 : err_nomem(err);
}
