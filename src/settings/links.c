/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A note is 'r' or 'w' and three strings, each with its NUL.
 *
 * Writing inside the link's own folder is harmless if the command can already write all of that
 * folder; links like current → releases/12 are of this kind.
 */

#include "settings/links.h"

#include <stdio.h>
#include <string.h>

#include "base/own.h"

enum { VNODE_SYMLINK = 5 };

void links_note(struct buf *out, bool writes, const char *link, const char *target,
                const char *from)
{
    const char *const texts[] = {link, target, from ? from : ""};
    buf_chr(out, writes ? 'w' : 'r');
    for (size_t i = 0; i < 3; i++)
        buf_add(out, texts[i], strlen(texts[i]) + 1);
}

static bool may_make(const struct graph *g, struct graph_cache *cache, const char *path)
{
    struct graph_fact facts[] = {
        {.filter = FILTER_PATH, .str = path, .len = (uint32_t)strlen(path)},
        {.filter = FILTER_VNODE_TYPE, .num = VNODE_SYMLINK}};
    struct graph_query q = {.op = OP_FILE_WRITE_CREATE, .facts = facts, .nfacts = 2};
    return graph_eval(g, cache, &q).allow;
}

static bool stays_in_folder(const struct graph *g, struct graph_cache *cache, const char *link,
                            const char *target)
{
    OWN(buf) struct buf any = {0};
    size_t folder = (size_t)(strrchr(link, '/') - link) + 1;
    buf_add(&any, link, folder);
    buf_str(&any, "\x01"); /* a name that no pattern is made for */
    return buf_ok(&any) && strncmp(link, target, folder) == 0 && may_make(g, cache, any.s);
}

static int refuse(const char *link, const char *target, const char *from, struct bk_err *err)
{
    err_set(err, BK_E_INPUT, "%.60s%s%.120s is a symlink that the command could redirect", from,
            *from ? ": " : "", link);
    err_hint(err, "to use its current target, name that: %.130s", target);
    return -1;
}

int links_check(const struct graph *g, const char *notes, size_t n, struct bk_err *err)
{
    if (n == 0)
        return 0;
    struct graph_cache *cache = graph_cache_new(g);
    int result = cache ? 0 : err_nomem(err);
    for (const char *at = notes, *end = notes + n; result == 0 && at < end;) {
        const char *link = at + 1, *target = link + strlen(link) + 1;
        const char *from = target + strlen(target) + 1;
        bool harmless =
            !may_make(g, cache, link) || (*at == 'w' && stays_in_folder(g, cache, link, target));
        if (!harmless)
            result = refuse(link, target, from, err);
        at = from + strlen(from) + 1;
    }
    graph_cache_free(cache);
    return result;
}
