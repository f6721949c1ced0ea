/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The build makes the list of names (precompiled_names), sorted, so that names of one folder are
 * neighbours. Each folder is listed once and compared with them: most homes have few of the two
 * hundred names, and a system call for each would take longer. At a symlink the walk continues at
 * its target; from there on every name counts, whether it exists or not.
 */

#include "run/link-targets.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "sbpl/precompiled.h"
#include "system/files.h"
#include "vocab/protected-classes.h"

enum {
    RECORDS = 512,    /* more than there are */
    FOUND_MAX = 2000, /* links with a built-in name */
    ENTRIES_MAX = 4096 /* of one folder */,
    HOPS = 40,
    ABOVE = 16 /* folders above the working folder */
};

struct record {
    const char *path;
    char kind;
    enum protected_class class;
};

/* A folder on the way, or what a name leads to. */
struct spot {
    int fd;     /* -1: it is no folder, or not there */
    bool read;  /* already listed */
    bool moved; /* behind a link */
    char path[PATH_MAX];
};

struct finder {
    struct link_targets *out;
    struct record records[RECORDS];
    size_t lists[PRECOMPILED_LISTS + 1]; /* where each begins */
    const char *home;
    char named[PATH_MAX]; /* the current built-in name */
    bool hops;            /* links on the way to it are protected … */
    enum protected_class hop_class;
    struct link_watcher *watcher;
    struct bk_err *err;
};

/* ---- for the watcher ---- */

static void watch(const struct finder *f, int fd, const char *path)
{
    if (f->watcher)
        f->watcher->folder(f->watcher, fd, path);
}

/* The result of a call. If it failed, and not because of what a watched folder has, it may succeed
 * another time. */
static int watched(const struct finder *f, ssize_t result)
{
    if (result < 0 && f->watcher)
        f->watcher->unsure |= errno != ENOENT && errno != ENOTDIR && errno != EINVAL;
    return (int)result;
}

/* ---- rules ---- */

/* The end of a rule: its message, and the class that the message ends in. */
static void end_rule(struct buf *out, const char *message)
{
    enum protected_class class = protected_class_of_message(message);
    buf_chr(out, ' ');
    buf_sbpl(out, message, strlen(message));
    if (class != PROTECTED_NO_CLASS)
        buf_fmt(out, " \"%s\"", protected_classes[class].name);
    buf_str(out, ")\n");
}

static int add_target(struct finder *f, char kind, enum protected_class class, const char *path,
                      const char *named)
{
    static const struct {
        char kind;
        const char *rule, *word;
    } rules[] = {{PRECOMPILED_SECRET, "secret-place", "secret"},
                 {PRECOMPILED_SECRET_ROOT, "secret-place", "secret"},
                 {PRECOMPILED_SECRET_ALL, "secret-place", "secret"},
                 {PRECOMPILED_KEYS, "secret-keys-place", "secret"},
                 {PRECOMPILED_TRACE, "secret-trace", "secret"},
                 {PRECOMPILED_WRITE, "protect", "protected"},
                 {PRECOMPILED_ANYWHERE, "protect", "protected"},
                 {PRECOMPILED_AT_HOME, "protect", "protected"},
                 {PRECOMPILED_NO_ACCESS, "protect-no-access", "protected"}};
    size_t i = 0, n = f->home ? strlen(f->home) : 0;
    while (rules[i].kind != kind)
        i++;
    if (f->out->count++ == FOUND_MAX) {
        err_set(f->err, BK_E_LIMIT, "more than %d symlinks lead to protected or secret names",
                FOUND_MAX);
        err_hint(f->err, "the last was %.200s", named);
        return -1;
    }
    bool at_home = n > 1 && strncmp(named, f->home, n) == 0 && named[n] == '/';
    OWN(buf) struct buf message = {0};
    buf_fmt(&message, "%s: %s%s leads here", rules[i].word, at_home ? "~" : "",
            named + (at_home ? n : 0));
    if (class != PROTECTED_NO_CLASS)
        buf_fmt(&message, " (%s)", protected_classes[class].name);
    struct buf *out = rules[i].word[0] == 's' ? &f->out->secrets : &f->out->protect;
    buf_fmt(out, "(%s ", rules[i].rule);
    buf_sbpl(out, path, strlen(path));
    end_rule(out, message.s ? message.s : "");
    return buf_ok(out) && buf_ok(&message) ? 0 : err_nomem(f->err);
}

static bool is_written(char kind)
{
    return kind == PRECOMPILED_WRITE || kind == PRECOMPILED_AT_HOME ||
           kind == PRECOMPILED_ANYWHERE || kind == PRECOMPILED_NO_ACCESS;
}

/* Whether links on the way to these names are protected, because one of the names is; and their
 * class, if all have the same. */
static void find_hops(struct finder *f, size_t lo, size_t hi)
{
    f->hops = false;
    for (size_t i = lo; i < hi; i++) {
        enum protected_class class = f->records[i].class;
        if (!is_written(f->records[i].kind))
            continue;
        f->hop_class = f->hops && f->hop_class != class ? PROTECTED_NO_CLASS : class;
        f->hops = true;
    }
}

/* ---- what a link leads to ---- */

/* Appends a part to a path, or removes the last. */
static bool append_part(char path[PATH_MAX], const char *part, size_t n)
{
    size_t len = strlen(path);
    if (n == 0 || (n == 1 && part[0] == '.'))
        return true;
    if (n == 2 && memcmp(part, "..", 2) == 0) {
        char *slash = strrchr(path, '/');
        if (slash)
            *slash = '\0';
        return true;
    }
    if (len + 1 + n >= PATH_MAX)
        return false;
    path[len] = '/';
    memcpy(path + len + 1, part, n);
    path[len + 1 + n] = '\0';
    return true;
}

/* Puts a link's target before the rest of the path. */
static bool turn(char rest[2 * PATH_MAX], const char *text, size_t n)
{
    size_t left = strlen(rest);
    if (n + 1 + left >= 2 * PATH_MAX)
        return false;
    memmove(rest + n + 1, rest, left + 1);
    memcpy(rest, text, n);
    rest[n] = '/';
    return true;
}

/* Resolves a link's text from a real folder. What does not exist is kept as written. With f->hops,
 * links on the way are protected: replacing one would change the target. Returns 1, 0 if it leads
 * nowhere, or -1. */
static int follow(struct finder *f, char at[PATH_MAX], const char *text)
{
    char rest[2 * PATH_MAX], link[PATH_MAX];
    snprintf(rest, sizeof(rest), "%s", text);
    for (int links = 0;;) {
        size_t from = strspn(rest, "/"), n = strcspn(rest + from, "/");
        if (n == 0)
            return 1;
        if (!append_part(at, rest + from, n))
            return 0;
        watch(f, -1, at);
        int got = watched(f, readlink(at[0] ? at : "/", link, sizeof(link) - 1));
        memmove(rest, rest + from + n, strlen(rest + from + n) + 1);
        if (got < 0)
            continue;
        link[got] = '\0';
        if (++links > HOPS || !turn(rest, link, (size_t)got))
            return 0;
        if (f->hops && add_target(f, PRECOMPILED_WRITE, f->hop_class, at, f->named) < 0)
            return -1;
        if (link[0] == '/')
            at[0] = '\0';
        else
            append_part(at, "..", 2);
    }
}

/* Resolves the link `name` in a folder into next->path. Returns 1, 0 or -1 as above; *there says
 * whether the name exists. */
static int resolve(struct finder *f, const struct spot *in, const char *name, struct spot *next,
                   bool *there)
{
    char text[PATH_MAX];
    int n = watched(f, readlinkat(in->fd, name, text, sizeof(text) - 1));
    *there = n >= 0 || errno == EINVAL;
    if (n <= 0)
        return 0;
    text[n] = '\0';
    snprintf(next->path, sizeof(next->path), "%s", text[0] == '/' ? "" : in->path);
    int found = follow(f, next->path, text);
    if (found > 0 && !next->path[0])
        memcpy(next->path, "/", 2);
    return found;
}

/* ---- listing ---- */

typedef int entry_fn(struct finder *f, const struct spot *in, const struct folder_entry *e,
                     void *arg);

struct folder_walk {
    struct finder *f;
    const struct spot *in;
    entry_fn *fn;
    void *arg;
    size_t entries;
    bool failed;
};

static int count_entry(void *arg, const struct folder_entry *e)
{
    struct folder_walk *l = arg;
    if (++l->entries > ENTRIES_MAX)
        return 1;
    l->failed = l->fn(l->f, l->in, e, l->arg) < 0;
    return l->failed;
}

/* Calls fn for each entry. Returns 1 if those were all, 0 if there are too many or the folder
 * cannot be listed, or -1. */
static int each_entry(struct finder *f, struct spot *in, entry_fn *fn, void *arg)
{
    struct folder_walk l = {f, in, fn, arg, 0, false};
    int result = watched(f, folder_list(in->fd, in->read, count_entry, &l));
    in->read = true;
    return l.failed ? -1 : result == 0;
}

/* ---- names ---- */

/* Records from lo to hi begin with the same parts, `skip` bytes of each. */
struct range {
    size_t lo, hi, skip;
};

static size_t part_len(const struct record *r, size_t skip)
{
    return strcspn(r->path + skip, "/");
}

static int compare_part(const struct record *r, size_t skip, const char *name, size_t n)
{
    size_t len = part_len(r, skip);
    int c = memcmp(r->path + skip, name, len < n ? len : n);
    return c ? c : (len > n) - (len < n);
}

/* Those of the range whose next part is that of the record at lo. */
static struct range same_part(const struct finder *f, const struct range *in, size_t lo)
{
    const struct record *r = f->records;
    size_t n = part_len(&r[lo], in->skip), hi = lo + 1;
    while (hi < in->hi && compare_part(&r[hi], in->skip, r[lo].path + in->skip, n) == 0)
        hi++;
    return (struct range){lo, hi, in->skip + n};
}

static bool is_wild(const struct finder *f, const struct range *part, size_t skip)
{
    return memchr(f->records[part->lo].path + skip, '*', part->skip - skip) != NULL;
}

static int visit(struct finder *f, struct spot *in, const struct range *names);

/* ssh's public files, as in secrets.sb. */
static bool is_public_key(const char *name)
{
    size_t n = strlen(name);
    return strncmp(name, "known_hosts", 11) == 0 || strncmp(name, "authorized_keys", 15) == 0 ||
           strcmp(name, "config") == 0 || strcmp(name, "config.d") == 0 ||
           strcmp(name, "allowed_signers") == 0 || (n > 4 && strcmp(name + n - 4, ".pub") == 0);
}

/* A link in a folder that is denied as a whole. */
static int inside_entry(struct finder *f, const struct spot *in, const struct folder_entry *e,
                        void *arg)
{
    const struct range *leaves = arg;
    struct spot to = {.fd = -1};
    size_t named = strlen(f->named), n = strlen(in->path);
    bool there;
    if (e->type != DT_LNK && e->type != DT_UNKNOWN)
        return 0;
    if (named + 1 + strlen(e->name) >= sizeof(f->named))
        return 0;
    find_hops(f, leaves->lo, leaves->hi);
    snprintf(f->named + named, sizeof(f->named) - named, "/%s", e->name);
    int found = resolve(f, in, e->name, &to, &there);
    bool outside = found > 0 && !(strncmp(to.path, in->path, n) == 0 &&
                                  (to.path[n] == '/' || to.path[n] == '\0'));
    for (size_t i = leaves->lo; outside && i < leaves->hi; i++) {
        char kind = f->records[i].kind;
        if (kind == PRECOMPILED_KEYS && is_public_key(e->name))
            continue;
        /* of one key, there is nothing public in it */
        if (add_target(f, kind == PRECOMPILED_KEYS ? PRECOMPILED_SECRET : kind, f->records[i].class,
                       to.path, f->named) < 0)
            return -1;
    }
    f->named[named] = '\0';
    return found < 0 ? -1 : 0;
}

/* Whether a record of the range ends here. */
static int reach(struct finder *f, struct spot *at, const struct range *leaves)
{
    for (size_t i = leaves->lo; at->moved && i < leaves->hi; i++)
        if (add_target(f, f->records[i].kind, f->records[i].class, at->path, f->named) < 0)
            return -1;
    return at->fd < 0 || leaves->lo == leaves->hi ? 0
                                                  : each_entry(f, at, inside_entry, (void *)leaves);
}

/* Behind a link, missing files could be created. */
static int expect(struct finder *f, const struct spot *in, const struct range *names)
{
    for (size_t i = names->lo; i < names->hi; i++) {
        const char *rest = f->records[i].path + names->skip;
        char path[PATH_MAX], named[PATH_MAX];
        if (strchr(rest, '*'))
            continue;
        bool root = strcmp(in->path, "/") == 0;
        if (snprintf(path, sizeof(path), "%s%s", root ? "" : in->path, rest) >= PATH_MAX ||
            snprintf(named, sizeof(named), "%s%s", f->named, rest) >= PATH_MAX)
            continue;
        if (add_target(f, f->records[i].kind, f->records[i].class, path, named) < 0)
            return -1;
    }
    return 0;
}

static int open_folder(const struct finder *f, int at, const char *name, const char *path,
                       bool pass)
{
    int fd = watched(f, folder_open(at, name, pass));
    if (fd >= 0)
        watch(f, fd, path);
    return fd;
}

/* One step into a folder: records `part` have this entry as their next part. */
static int step(struct finder *f, const struct spot *in, const char *name, unsigned char type,
                struct range part)
{
    struct spot next = {.fd = -1, .moved = in->moved};
    size_t named = strlen(f->named);
    if (snprintf(f->named + named, sizeof(f->named) - named, "/%s", name) >=
            (int)(sizeof(f->named) - named) ||
        snprintf(next.path, sizeof(next.path), "%s/%s", strcmp(in->path, "/") ? in->path : "",
                 name) >= PATH_MAX)
        return f->named[named] = '\0', 0;
    find_hops(f, part.lo, part.hi);
    size_t deeper = part.lo;
    bool pass = false;
    for (; deeper < part.hi && !f->records[deeper].path[part.skip]; deeper++)
        pass |= f->out->quiet && !is_written(f->records[deeper].kind);
    bool link = (type == DT_LNK || type == DT_UNKNOWN) && in->fd >= 0, there = true;
    int led = link ? resolve(f, in, name, &next, &there) : 0;
    next.moved |= led > 0;
    if (led > 0)
        next.fd = open_folder(f, AT_FDCWD, next.path, next.path, pass);
    else if (in->fd >= 0 && there && (type == DT_DIR || type == DT_UNKNOWN))
        next.fd = open_folder(f, in->fd, name, next.path, pass);
    OWN(fd) int folder = next.fd;
    struct range leaves = {part.lo, deeper, part.skip}, rest = {deeper, part.hi, part.skip};
    int err = led < 0 || reach(f, &next, &leaves) < 0 || visit(f, &next, &rest) < 0 ? -1 : 0;
    (void)folder;
    f->named[named] = '\0';
    return err;
}

enum { WILD = 8, FEW = 12 };

/* What to find in a folder; some parts have wildcards. */
struct search {
    struct range names;
    struct range wild[WILD];
    size_t nwild, nparts;
    bool begins[256]; /* by first byte: most entries of most folders don't matter */
};

static void prepare(const struct finder *f, const struct range *names, struct search *s)
{
    *s = (struct search){.names = *names};
    for (size_t i = names->lo; i < names->hi; s->nparts++) {
        struct range part = same_part(f, names, i);
        unsigned char first = (unsigned char)f->records[i].path[names->skip];
        s->begins[first] = true;
        if (first == '*')
            memset(s->begins, true, sizeof(s->begins));
        if (is_wild(f, &part, names->skip) && s->nwild < WILD)
            s->wild[s->nwild++] = part;
        i = part.hi;
    }
}

static void copy_part(const struct finder *f, const struct range *part, size_t skip, char name[256])
{
    snprintf(name, 256, "%.*s", (int)(part->skip - skip), f->records[part->lo].path + skip);
}

/* Compares one entry of a listed folder with the names. */
static int entry_named(struct finder *f, const struct spot *in, const struct folder_entry *e,
                       void *arg)
{
    const struct search *s = arg;
    const struct range *names = &s->names;
    size_t n = strlen(e->name), lo = names->lo, hi = names->hi;
    char pattern[256];
    if (!s->begins[(unsigned char)e->name[0]])
        return 0;
    for (size_t i = 0; i < s->nwild; i++) {
        copy_part(f, &s->wild[i], names->skip, pattern);
        if (fnmatch(pattern, e->name, 0) == 0 && step(f, in, e->name, e->type, s->wild[i]) < 0)
            return -1;
    }
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (compare_part(&f->records[mid], names->skip, e->name, n) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == names->hi || compare_part(&f->records[lo], names->skip, e->name, n) != 0)
        return 0;
    return step(f, in, e->name, e->type, same_part(f, names, lo));
}

/* Tries each name, where listing would take too long or missing names count. */
static int visit_each(struct finder *f, const struct spot *in, const struct range *names)
{
    for (size_t i = names->lo; i < names->hi;) {
        struct range part = same_part(f, names, i);
        char name[256];
        i = part.hi;
        if (is_wild(f, &part, names->skip))
            continue;
        copy_part(f, &part, names->skip, name);
        if (step(f, in, name, DT_UNKNOWN, part) < 0)
            return -1;
    }
    return 0;
}

static int visit(struct finder *f, struct spot *in, const struct range *names)
{
    struct range here = *names;
    if (here.lo == here.hi)
        return 0;
    if (in->fd < 0)
        return in->moved ? expect(f, in, names) : 0;
    here.skip += f->records[here.lo].path[here.skip] == '/';
    struct search s;
    prepare(f, &here, &s);
    bool list = s.nwild || (!in->moved && s.nparts > FEW);
    int all = list ? each_entry(f, in, entry_named, &s) : 0;
    if (all < 0 || (all > 0 && !in->moved))
        return all < 0 ? -1 : 0;
    return visit_each(f, in, &here);
}

/* ---- where ---- */

static int search_folder(struct finder *f, const char *folder, int list)
{
    struct spot at = {.fd = -1};
    struct range names = {f->lists[list], f->lists[list + 1], 0};
    OWN(fd) int fd = open_folder(f, AT_FDCWD, folder, folder, false);
    at.fd = fd;
    snprintf(at.path, sizeof(at.path), "%s", folder);
    snprintf(f->named, sizeof(f->named), "%s", strcmp(folder, "/") ? folder : "");
    return fd < 0 ? 0 : visit(f, &at, &names);
}

static struct link_part part_of(const struct link_targets *m)
{
    return (struct link_part){m->protect.n, m->secrets.n, m->count};
}

static void begin_watch(struct finder *f, struct link_watcher *w)
{
    f->watcher = w;
    if (w)
        w->from = part_of(f->out);
}

static void end_watch(struct finder *f)
{
    if (f->watcher)
        f->watcher->to = part_of(f->out);
    f->watcher = NULL;
}

/* Some hundred entries, with most file systems. */
static bool is_large(const char *folder)
{
    enum { LARGE = 8192 };
    struct stat st;
    return stat(folder, &st) == 0 && st.st_size > LARGE;
}

static int search_parent(struct finder *f, const char *folder)
{
    struct link_recall *k = f->out->recall;
    struct link_watcher *w = NULL;
    if (k && is_large(folder) && k->known(k, f->out, folder, &w))
        return buf_ok(&f->out->protect) && buf_ok(&f->out->secrets) ? 0 : err_nomem(f->err);
    begin_watch(f, w);
    int err = search_folder(f, folder, PRECOMPILED_IN_ANY);
    end_watch(f);
    return err;
}

/* The working folder and its parents; no project is above the home folder. */
static int search_parents(struct finder *f, const char *cwd)
{
    char at[PATH_MAX];
    if (snprintf(at, sizeof(at), "%s", cwd) >= PATH_MAX)
        return 0;
    for (int i = 0; i < ABOVE && at[0] && strcmp(at, "/") != 0; i++) {
        if (f->home && strcmp(at, f->home) == 0)
            return 0;
        if (search_parent(f, at) < 0)
            return -1;
        *strrchr(at, '/') = '\0';
    }
    return 0;
}

static void read_records(struct finder *f)
{
    size_t n = 0;
    int list = 0;
    for (const char *s = precompiled_names; *s && n < RECORDS; s += strlen(s) + 1) {
        while (list < precompiled_list(*s))
            f->lists[++list] = n;
        f->records[n++] =
            (struct record){s + 2, s[0], (enum protected_class)(s[1] - PRECOMPILED_CLASS)};
    }
    while (list < PRECOMPILED_LISTS)
        f->lists[++list] = n;
}

/* Where the names are whatever the working folder is. */
static int search_usual(struct finder *f, bool stores)
{
    int list = stores ? PRECOMPILED_IN_HOME : PRECOMPILED_IN_ANY;
    int err = f->home ? search_folder(f, f->home, list) : 0;
    /* file modes already keep the machine's secrets from everybody except root */
    list = geteuid() == 0 ? PRECOMPILED_IN_ROOT : PRECOMPILED_IN_ALL;
    return err < 0 ? err : search_folder(f, "/", list);
}

int link_targets_find(struct link_targets *m, const char *home, bool stores, const char *cwd,
                      struct bk_err *err)
{
    struct finder f = {.out = m, .home = home, .err = err};
    read_records(&f);
    if (!buf_ok(&m->protect) || !buf_ok(&m->secrets)) /* what was recalled */
        return err_nomem(err);
    begin_watch(&f, m->watcher);
    if (!m->recalled && search_usual(&f, stores) < 0)
        return -1;
    end_watch(&f);
    return search_parents(&f, cwd);
}

int link_targets_protect(struct link_targets *m, const char *path, const char *message,
                         struct bk_err *err)
{
    struct buf *out = &m->protect;
    buf_str(out, "(protect ");
    buf_sbpl(out, path, strlen(path));
    end_rule(out, message);
    return buf_ok(out) ? 0 : err_nomem(err);
}

const struct sbpl_sequel *link_targets_sequels(struct link_targets *m, size_t *count)
{
    size_t k = 0;
    if (m->protect.n) {
        m->sequels[k++] = (struct sbpl_sequel){"protected.sb", m->protect.s, m->protect.n};
        m->sequels[k++] = (struct sbpl_sequel){"links.sb", m->protect.s, m->protect.n};
    }
    if (m->secrets.n)
        m->sequels[k++] = (struct sbpl_sequel){"secrets.sb", m->secrets.s, m->secrets.n};
    *count = k;
    return m->sequels;
}

void link_targets_free(struct link_targets *m)
{
    buf_free(&m->protect);
    buf_free(&m->secrets);
}
