/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "run/on-linux/search-record.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/own.h"
#include "base/packer.h"
#include "kernel/shared/name-search.h"
#include "run/on-linux/kept-files.h"
#include "run/on-linux/policy-cache.h"
#include "run/on-linux/run-kernel.h"

/* More than a launch may search: from then on only what changes is searched. */
enum { NAMES_MOST = 150000, TOO_BIG_S = 3600 };

static const char in_folder[] = "searches";

const struct name_record *search_record_load(struct run *r)
{
    OWN(buf) struct buf inputs = {0};
    if (!policy_cache_inputs(r, &inputs))
        return NULL;
    const struct name_record *found = kept_load(in_folder, &inputs);
    if (!found || (found->too_big ? found->too_big < time(NULL) : found->nfolders == 0))
        return NULL;
    return found;
}

/* ---- keeping ---- */

static int count_found(void *arg, const char *path, size_t len)
{
    size_t *n = arg;
    (void)path;
    (void)len;
    return ++*n > NAME_SEARCH_FOUND ? -E2BIG : 0;
}

static const void *pack_record(struct arena *arena, const struct name_record *from)
{
    struct packer k = {.into = arena};
    struct name_record *copy = pack(&k, from, 1, sizeof(*from));
    if (!copy)
        return NULL;
    copy->folders = pack(&k, from->folders, from->nfolders, sizeof(*from->folders));
    copy->names = pack(&k, from->names, from->nnames, sizeof(*from->names));
    copy->in = pack(&k, from->in, from->nnames, sizeof(*from->in));
    for (uint32_t i = 0; i < from->nfolders && !k.full; i++)
        copy->folders[i].path = pack_word(&k, copy->folders[i].path);
    for (uint32_t i = 0; i < from->nnames && !k.full; i++)
        copy->names[i] = pack_word(&k, copy->names[i]);
    return k.full ? NULL : copy;
}

static int search(struct name_search *s, const struct plan *p, const struct name_record *before)
{
    bool changed = false;
    int err = before && !before->too_big ? name_search_again(s, before, &changed) : 0;
    for (size_t i = 0; i < p->nsearches && err == 0; i++)
        if (!before || before->too_big || !name_record_has(before, p->searches[i].path))
            err = name_search(s, p->searches[i].path, p->searches[i].len);
    return err;
}

struct saving {
    struct run *run;
    const struct name_record *before;
};

static const void *search_all(struct saving *w, const struct plan *p, struct arena *arena)
{
    struct name_recorder recorder;
    size_t found = 0;
    OWN(fd) int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct name_search s = {.graph = w->run->policy.graph,
                            .cache = graph_cache_new(w->run->policy.graph),
                            .root = root,
                            .uid = geteuid(),
                            .gid = getegid(),
                            .left = NAMES_MOST,
                            .found = count_found,
                            .recorder = &recorder,
                            .arg = &found};
    name_recorder_begin(&recorder);
    int err = !s.cache || root < 0 ? -ENOMEM : search(&s, p, w->before);
    struct name_record none = {.too_big = time(NULL) + TOO_BIG_S};
    bool whole = err == 0 && !recorder.failed;
    const void *packed =
        err == -ENOMEM ? NULL : pack_record(arena, whole ? &recorder.record : &none);
    graph_cache_free(s.cache);
    name_search_free(&s);
    name_recorder_free(&recorder);
    return packed;
}

static const void *make_record(struct arena *arena, void *arg)
{
    struct saving *w = arg;
    struct run *r = w->run;
    struct plan plan;
    struct bk_err err;
    struct plan_options opt = r->kernel->options;
    opt.terse = true;
    opt.no_search = false;
    if (run_policy_compile(&r->policy, &err) < 0 ||
        plan_make(r->policy.graph, &opt, &r->kernel->host, &plan, &err) < 0)
        return NULL;
    const void *packed = plan.nsearches ? search_all(w, &plan, arena) : NULL;
    plan_free(&plan);
    return packed;
}

void search_record_save(struct run *r)
{
    OWN(buf) struct buf inputs = {0};
    struct saving w = {r, search_record_load(r)};
    if (policy_cache_inputs(r, &inputs))
        kept_save(in_folder, &inputs, make_record, &w);
}
