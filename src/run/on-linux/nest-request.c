/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A run as bytes, from the inner side to the outer. The inner side has read all files, under the
 * outer policy; only texts travel. One record each:
 *
 * record = tag, two numbers, bytes of the name, bytes of the text (u32 each), name, NUL, text, NUL
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "run/on-linux/nest.h"
#include "run/own-rules.h"

enum tag {
    TAG_SOURCE,
    TAG_PARAM,
    TAG_SEQUEL,
    TAG_GIVEN,
    TAG_ARG,
    TAG_VAR,
    TAG_KEEP,
    TAG_CWD,
    TAG_START,
    TAG_COUNT
};

struct record {
    uint32_t tag, a, b, name, text;
};

/* ---- writing ---- */

static void put(struct buf *out, enum tag tag, uint32_t a, uint32_t b, const char *name,
                const char *text, size_t n)
{
    struct record h = {(uint32_t)tag, a, b, (uint32_t)strlen(name), (uint32_t)n};
    buf_add(out, (const char *)&h, sizeof(h));
    buf_add(out, name, h.name + 1);
    buf_add(out, text ? text : "", n);
    buf_chr(out, '\0');
}

static bool is_main_text(const struct sbpl_unit *u, const struct source *s)
{
    const struct source *text;
    for (size_t i = 0; (text = sbpl_text_at(u, i)); i++)
        if (text == s)
            return true;
    return false;
}

/* Files that the texts import. */
static void put_given(struct buf *out, const struct sbpl_unit *u)
{
    for (const struct source *s = u->map.first; s; s = s->next)
        if (strncmp(s->name, "<buckle>/", 9) != 0 && !is_main_text(u, s))
            put(out, TAG_GIVEN, 0, 0, s->name, s->text, s->len);
}

static int put_sources(struct buf *out, const struct run *r, struct bk_err *err)
{
    struct run_source sources[NEST_SOURCES];
    size_t n = run_sources(r, sources, NEST_SOURCES);
    if (n == 0 && r->spec->nsources)
        return err_set(err, BK_E_LIMIT, "the policy has too many texts");
    for (size_t i = 0; i < n; i++) {
        const struct run_source *s = &sources[i];
        bool text = s->kind == RUN_TEXT;
        put(out, TAG_SOURCE, text, (uint32_t)s->from << 1 | s->apart, s->name, text ? s->text : "",
            text ? s->n : 0);
    }
    if (r->own_rules.n)
        put(out, TAG_SOURCE, true, SOURCE_OWN << 1 | 1, OWN_RULES, r->own_rules.s, r->own_rules.n);
    return 0;
}

int nest_write(const struct run *r, const struct launch *l, struct buf *out, struct bk_err *err)
{
    const struct sbpl_options *o = &r->policy.unit.opt;
    if (put_sources(out, r, err) < 0)
        return -1;
    for (size_t i = 0; i < o->nparams; i++)
        put(out, TAG_PARAM, 0, 0, o->params[i].key, o->params[i].value, strlen(o->params[i].value));
    for (size_t i = 0; i < o->nsequels; i++)
        put(out, TAG_SEQUEL, 0, 0, o->sequels[i].after, o->sequels[i].text, o->sequels[i].n);
    put_given(out, &r->policy.unit);
    for (char *const *a = l->argv; *a; a++)
        put(out, TAG_ARG, 0, 0, "", *a, strlen(*a));
    for (char *const *v = r->env.env; *v; v++)
        put(out, TAG_VAR, 0, 0, "", *v, strlen(*v));
    for (size_t i = 0; i < l->nkeep; i++)
        put(out, TAG_KEEP, (uint32_t)l->keep_fds[i], 0, "", "", 0);
    put(out, TAG_CWD, 0, 0, "", l->cwd, strlen(l->cwd));
    if (l->start)
        put(out, TAG_START, 0, 0, "", l->start, strlen(l->start));
    return buf_ok(out) ? 0 : err_nomem(err);
}

static int by_number(const void *a, const void *b)
{
    return *(const int32_t *)a - *(const int32_t *)b;
}

/* Those that a command inherits. The outer judge closes what it always closes. */
static int list_descriptors(struct nest_request *q, struct bk_err *err)
{
    OWN(dir) DIR *d = opendir("/proc/self/fd");
    for (struct dirent *e; d && (e = readdir(d));) {
        int fd = (int)strtol(e->d_name, NULL, 10), flags = fcntl(fd, F_GETFD);
        if (e->d_name[0] == '.' || fd == dirfd(d) || flags < 0 || flags & FD_CLOEXEC)
            continue;
        if (q->nfds == NEST_FDS)
            return err_set(err, BK_E_LIMIT, "more than %d open files for the command", NEST_FDS);
        q->fds[q->nfds++] = fd;
    }
    for (int fd = 0; !d && fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            q->fds[q->nfds++] = fd;
    qsort(q->fds, q->nfds, sizeof(q->fds[0]), by_number);
    return 0;
}

void nest_options(const struct run *r, const struct launch *l, enum nest_wish wish,
                  struct nest_request *q)
{
    const struct plan_options *o = &r->kernel->options;
    mode_t mask = umask(0);
    umask(mask);
    *q = (struct nest_request){.wish = wish,
                               .umask = mask,
                               .caps = o->caps,
                               .max_memory = l->max_memory,
                               .max_procs = l->max_procs,
                               .timeout_ms = l->timeout_ms,
                               .keep_userns = o->keep_userns,
                               .strict_reads = o->strict_reads,
                               .no_masks = o->no_masks,
                               .core_dumps = o->core_dumps,
                               .accept_weaker = o->accept_weaker,
                               .watch_net = o->watch_net,
                               .late_names = l->late_names,
                               .wait_all = l->wait_all,
                               .give_stdio = l->give_stdio,
                               .no_job_control = l->no_job_control};
}

int nest_fill(const struct run *r, const struct launch *l, struct nest_request *q,
              struct bk_err *err)
{
    nest_options(r, l, NEST_RUNS, q);
    return list_descriptors(q, err);
}

/* ---- reading ---- */

static bool take_source(struct nest_spec *s, const struct record *h, const char *name,
                        const char *text)
{
    if (s->nsources == NEST_SOURCES || h->a > 1 || h->b >> 1 > SOURCE_OWN)
        return false;
    s->sources[s->nsources++] = (struct run_source){.kind = h->a ? RUN_TEXT : RUN_SHIPPED,
                                                    .from = h->b >> 1,
                                                    .name = name,
                                                    .text = text,
                                                    .n = h->text,
                                                    .apart = h->b & 1};
    return true;
}

static bool take_place(const char **out, const char *path)
{
    bool good = !*out && path[0] == '/' && strlen(path) < PATH_MAX;
    *out = path;
    return good;
}

static bool take_record(struct nest_spec *s, const struct record *h, char *name, char *text)
{
    switch ((enum tag)h->tag) {
    case TAG_SOURCE:
        return take_source(s, h, name, text);
    case TAG_PARAM:
        if (s->nparams < NEST_PARAMS)
            s->params[s->nparams] = (struct sbpl_param){name, text};
        return s->nparams++ < NEST_PARAMS;
    case TAG_SEQUEL:
        if (s->nsequels < NEST_SEQUELS)
            s->sequels[s->nsequels] = (struct sbpl_sequel){name, text, h->text};
        return s->nsequels++ < NEST_SEQUELS;
    case TAG_GIVEN:
        if (s->ngiven < NEST_GIVEN)
            s->given[s->ngiven] = (struct sbpl_given){name, text, h->text};
        return s->ngiven++ < NEST_GIVEN;
    case TAG_ARG:
        s->argv[s->nargs++] = text;
        return true;
    case TAG_VAR:
        s->env[s->nvars++] = text;
        return true;
    case TAG_KEEP:
        if (s->nkeep < NEST_FDS && h->a <= INT32_MAX)
            s->keep_fds[s->nkeep] = (int)h->a;
        return s->nkeep++ < NEST_FDS && h->a <= INT32_MAX;
    case TAG_CWD:
        return take_place(&s->cwd, text);
    case TAG_START:
        return take_place(&s->start, text);
    default:
        return false;
    }
}

/* Texts of policies may contain NULs, other texts may not. */
static bool is_whole(const struct record *h, const char *name, const char *text)
{
    bool free_text = h->tag == TAG_SOURCE || h->tag == TAG_SEQUEL || h->tag == TAG_GIVEN;
    return strlen(name) == h->name && !text[h->text] && (free_text || strlen(text) == h->text);
}

/* Returns the record's size with *name and *text, or 0. */
static size_t next_record(char *at, size_t left, struct record *h, char **name, char **text)
{
    if (left < sizeof(*h))
        return 0;
    memcpy(h, at, sizeof(*h));
    size_t size = sizeof(*h) + (size_t)h->name + 1 + (size_t)h->text + 1;
    if (h->tag >= TAG_COUNT || size > left)
        return 0;
    *name = at + sizeof(*h);
    *text = *name + h->name + 1;
    return !(*name)[h->name] && is_whole(h, *name, *text) ? size : 0;
}

static int make_lists(char *bytes, size_t n, struct arena *arena, struct nest_spec *out)
{
    struct record h;
    char *name, *text;
    size_t counts[TAG_COUNT] = {0}, size;
    for (size_t at = 0; at < n; at += size) {
        if ((size = next_record(bytes + at, n - at, &h, &name, &text)) == 0)
            return -1;
        counts[h.tag]++;
    }
    if (counts[TAG_ARG] == 0 || counts[TAG_ARG] > NEST_WORDS || counts[TAG_VAR] > NEST_WORDS ||
        counts[TAG_CWD] != 1)
        return -1;
    out->argv = arena_array(arena, counts[TAG_ARG] + 1, sizeof(char *));
    out->env = arena_array(arena, counts[TAG_VAR] + 1, sizeof(char *));
    return out->argv && out->env ? 0 : -1;
}

int nest_read(char *bytes, size_t n, struct arena *arena, struct nest_spec *out)
{
    struct record h;
    char *name = NULL, *text = NULL;
    memset(out, 0, sizeof(*out));
    if (make_lists(bytes, n, arena, out) < 0)
        return -1;
    for (size_t at = 0; at < n;) {
        at += next_record(bytes + at, n - at, &h, &name, &text);
        if (!take_record(out, &h, name, text))
            return -1;
    }
    out->argv[out->nargs] = out->env[out->nvars] = NULL;
    return out->nsources ? 0 : -1;
}
