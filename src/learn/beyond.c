/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * How much a rule allows that was not used: the files that are below its folder now. The walk is
 * bounded in entries, for one rule and for all of them, and never leaves through a symlink.
 */

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "learn/learned.h"

enum { MAX_EACH = 20000, MAX_ALL = 100000, MAX_FOLDERS = 4000 };

struct walker {
    char **folders; /* still to come, as a stack */
    size_t n;
    uint64_t seen, limit;
    bool cut;
};

static void push(struct walker *w, const char *folder, const char *name)
{
    OWN(buf) struct buf path = {0};
    buf_fmt(&path, "%s/%s", folder, name);
    if (w->n >= MAX_FOLDERS || !buf_ok(&path))
        w->cut = true;
    else
        w->folders[w->n++] = steal_ptr(&path.s);
}

static void list(struct walker *w, const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (struct dirent *e; !w->cut && (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        w->cut = ++w->seen >= w->limit;
        if (e->d_type == DT_DIR)
            push(w, folder, e->d_name);
    }
    closedir(d);
}

static uint64_t count_files(const char *folder, uint64_t limit, bool *cut)
{
    struct walker w = {.folders = calloc(MAX_FOLDERS, sizeof(*w.folders)), .limit = limit};
    char *first = strdup(folder);
    if (w.folders && first)
        w.folders[w.n++] = steal_ptr(&first);
    while (w.n) {
        char *at = w.folders[--w.n];
        if (!w.cut)
            list(&w, at);
        free(at);
    }
    free(first);
    free(w.folders);
    *cut = w.cut;
    return w.seen;
}

void learn_look_beyond(struct learned *l, const struct learn_request *q)
{
    uint64_t left = MAX_ALL;
    for (size_t i = 0; i < l->n; i++) {
        struct learned_rule *r = &l->rules[i];
        OWN(buf) struct buf path = {0};
        bool cut = false;
        r->beyond = 0;
        if (r->dropped || r->kind != LEARNED_SUBPATH || r->node == UINT32_MAX)
            continue;
        trace_path(q->trace, r->node, &path);
        if (!buf_ok(&path) || (q->anchors->at[ANCHOR_TMPDIR] && r->in == ANCHOR_TMPDIR))
            continue; /* of this run alone */
        uint64_t seen = count_files(path.s, left < MAX_EACH ? left : MAX_EACH, &cut);
        left -= seen < left ? seen : left;
        r->beyond = cut ? UINT64_MAX : seen > r->files ? seen - r->files : 0;
    }
}
