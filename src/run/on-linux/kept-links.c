/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "run/on-linux/kept-links.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/own.h"
#include "kernel/shared/build-id.h"
#include "run/on-linux/kept-files.h"

/* File systems store times in ticks of up to a second. Working folders change often; keeping what
 * the next change makes useless takes longer than most searches. */
enum { SETTLED_SECONDS = 1, SETTLED_LARGE = 8, FOLDERS_MOST = 128 };

static const char in_links[] = "links", in_large[] = "links-large";

struct folder {
    uint64_t dev, ino;
    int64_t sec, nsec; /* of its ctime */
    const char *path;
};

/* What an image holds. */
struct kept {
    const struct folder *folders;
    const char *protect, *secrets;
    size_t nfolders, nprotect, nsecrets, count;
};

struct kept_links {
    struct link_watcher watcher; /* the first member */
    const char *in_folder;
    struct buf inputs;
    time_t began; /* the search */
    time_t settled;
    size_t n;
    struct folder folders[FOLDERS_MOST];
    struct arena arena;
};

/* What it is made from, apart from the folders. large: the folder, or NULL. */
static bool put_inputs(const char *home, bool stores, const char *large, struct buf *out)
{
    size_t n = 0;
    const void *program = build_id(&n);
    const uint64_t who[] = {geteuid(), home != NULL, stores, large != NULL};
    if (!program)
        return false;
    buf_sized(out, program, n);
    buf_sized(out, home, home ? strlen(home) : 0);
    buf_sized(out, large, large ? strlen(large) : 0);
    buf_sized(out, who, sizeof(who));
    return buf_ok(out);
}

/* ---- watching ---- */

/* Local ones that change a folder's ctime with its names. Others may answer from a cache. */
static bool has_true_times(int fd, const char *path)
{
    static const uint64_t types[] = {0xef53 /* ext */,          0x58465342 /* xfs */,
                                     0x9123683e /* btrfs */,    0x01021994 /* tmpfs */,
                                     0xf2f52010 /* f2fs */,     0x794c7630 /* overlayfs */,
                                     0x2fc12fc1 /* zfs */,      0xca451a4e /* bcachefs */,
                                     0x73717368 /* squashfs */, 0xe0f5e1e2 /* erofs */};
    struct statfs s;
    if ((fd < 0 ? statfs(path, &s) : fstatfs(fd, &s)) < 0)
        return false;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if ((uint64_t)s.f_type == types[i])
            return true;
    return false;
}

static bool get_folder(int fd, const char *path, struct folder *out)
{
    struct stat st;
    if ((fd < 0 ? lstat(path, &st) : fstat(fd, &st)) < 0 || !S_ISDIR(st.st_mode))
        return false;
    *out = (struct folder){st.st_dev, st.st_ino, st.st_ctim.tv_sec, st.st_ctim.tv_nsec, path};
    return true;
}

static bool has_path(const struct kept_links *k, const char *path)
{
    for (size_t i = 0; i < k->n; i++)
        if (strcmp(k->folders[i].path, path) == 0)
            return true;
    return false;
}

static bool add_folder(struct kept_links *k, int fd, const char *path)
{
    struct folder *f = &k->folders[k->n];
    if (k->n == FOLDERS_MOST)
        return false;
    if (!get_folder(fd, path, f)) /* missing, so its parent tells when it appears */
        return fd < 0;
    bool known = k->n > 0 && k->folders[k->n - 1].dev == f->dev;
    f->path = arena_strndup(&k->arena, path, strlen(path));
    k->n += f->path != NULL;
    return f->path && f->sec + k->settled < k->began && (known || has_true_times(fd, path));
}

static void watch_folder(struct link_watcher *w, int fd, const char *path)
{
    struct kept_links *k = (struct kept_links *)w;
    char around[PATH_MAX];
    const char *slash = fd < 0 ? strrchr(path, '/') : NULL;
    if (slash) {
        snprintf(around, sizeof(around), "%.*s", slash > path ? (int)(slash - path) : 1, path);
        path = around;
    }
    if (!w->unsure && !has_path(k, path))
        w->unsure = !add_folder(k, fd, path);
}

/* ---- recalling ---- */

static bool is_same(const struct folder *then)
{
    struct folder now;
    return get_folder(-1, then->path, &now) && now.dev == then->dev && now.ino == then->ino &&
           now.sec == then->sec && now.nsec == then->nsec;
}

static bool add_same(const struct kept *kept, struct link_targets *targets)
{
    for (size_t i = 0; i < kept->nfolders; i++)
        if (!is_same(&kept->folders[i]))
            return false;
    buf_add(&targets->protect, kept->protect, kept->nprotect);
    buf_add(&targets->secrets, kept->secrets, kept->nsecrets);
    targets->count += kept->count;
    return true;
}

static bool recall(const char *in_folder, const struct buf *inputs, struct link_targets *targets)
{
    const struct kept *kept = kept_load(in_folder, inputs);
    bool same = kept && add_same(kept, targets);
    if (kept)
        image_unmap(kept); /* a spare asks again */
    return same;
}

/* The file itself was checked when it was read, and nobody can change the copy. */
static bool recall_seen(struct kept_seen *s, struct buf *inputs, struct link_targets *targets)
{
    if (s->kept && (s->inputs.n != inputs->n || memcmp(s->inputs.s, inputs->s, inputs->n) != 0))
        kept_seen_free(s);
    if (!s->kept && (s->kept = kept_load(in_links, inputs))) {
        s->inputs = (struct buf){0};
        buf_add(&s->inputs, inputs->s, inputs->n);
        if (!buf_ok(&s->inputs))
            kept_seen_free(s);
    }
    return s->kept && add_same(s->kept, targets);
}

void kept_seen_free(struct kept_seen *s)
{
    if (s->kept)
        image_unmap(s->kept);
    buf_free(&s->inputs);
    *s = (struct kept_seen){0};
}

static struct kept_links *watch_search(const char *in_folder, time_t settled, struct buf *inputs)
{
    struct timespec now;
    struct kept_links *k = malloc(sizeof(*k));
    if (!k || clock_gettime(CLOCK_REALTIME_COARSE, &now) < 0)
        return free(k), NULL;
    k->watcher = (struct link_watcher){.folder = watch_folder};
    k->in_folder = in_folder;
    k->settled = settled;
    k->inputs = *inputs;
    *inputs = (struct buf){0};
    k->began = now.tv_sec;
    k->n = 0;
    arena_init(&k->arena, 1 << 20);
    return k;
}

struct kept_links *kept_links_recall(struct link_targets *targets, const char *home, bool stores,
                                     struct kept_seen *seen)
{
    OWN(buf) struct buf inputs = {0};
    if (!put_inputs(home, stores, NULL, &inputs))
        return NULL;
    targets->recalled =
        seen ? recall_seen(seen, &inputs, targets) : recall(in_links, &inputs, targets);
    struct kept_links *k =
        targets->recalled ? NULL : watch_search(in_links, SETTLED_SECONDS, &inputs);
    targets->watcher = k ? &k->watcher : NULL;
    return k;
}

static bool recall_large(struct link_recall *of, struct link_targets *targets, const char *folder,
                         struct link_watcher **watcher)
{
    struct kept_large *k = (struct kept_large *)of;
    char home[PATH_MAX];
    const char *named = getenv("HOME");
    OWN(buf) struct buf inputs = {0};
    *watcher = NULL;
    if (k->n == KEPT_LARGE ||
        !put_inputs(named ? realpath(named, home) : NULL, false, folder, &inputs))
        return false;
    if (recall(in_large, &inputs, targets))
        return true;
    struct kept_links *found = watch_search(in_large, SETTLED_LARGE, &inputs);
    if (found) {
        k->found[k->n++] = found;
        *watcher = &found->watcher;
    }
    return false;
}

void kept_large_init(struct kept_large *k)
{
    *k = (struct kept_large){.recall.known = recall_large};
}

/* ---- keeping ---- */

/* What was found, to be copied into an image. */
struct found {
    const struct kept_links *links;
    const struct link_targets *targets;
};

static const void *make_kept(struct arena *arena, void *arg)
{
    const struct found *f = arg;
    const struct kept_links *k = f->links;
    const struct link_watcher *w = &k->watcher;
    struct kept *root = arena_new(arena, struct kept);
    struct folder *folders = arena_array(arena, k->n + 1, sizeof(*folders));
    if (!root || !folders)
        return NULL;
    for (size_t i = 0; i < k->n; i++) {
        folders[i] = k->folders[i];
        folders[i].path = arena_strndup(arena, k->folders[i].path, strlen(k->folders[i].path));
        if (!folders[i].path)
            return NULL;
    }
    const char *protect = f->targets->protect.s, *secrets = f->targets->secrets.s;
    const size_t nprotect = w->to.protect - w->from.protect;
    const size_t nsecrets = w->to.secrets - w->from.secrets;
    *root = (struct kept){folders,
                          arena_strndup(arena, protect ? protect + w->from.protect : "", nprotect),
                          arena_strndup(arena, secrets ? secrets + w->from.secrets : "", nsecrets),
                          k->n,
                          nprotect,
                          nsecrets,
                          w->to.count - w->from.count};
    return root->protect && root->secrets ? root : NULL;
}

void kept_links_save(struct kept_links *k, const struct link_targets *targets)
{
    struct found found = {k, targets};
    if (!k->watcher.unsure)
        kept_save(k->in_folder, &k->inputs, make_kept, &found);
}

void kept_links_free(struct kept_links *k)
{
    if (!k)
        return;
    buf_free(&k->inputs);
    arena_free(&k->arena);
    free(k);
}

void kept_large_save(struct kept_large *k, const struct link_targets *targets)
{
    for (size_t i = 0; i < k->n; i++)
        kept_links_save(k->found[i], targets);
}

void kept_large_free(struct kept_large *k)
{
    for (size_t i = 0; i < k->n; i++)
        kept_links_free(k->found[i]);
    k->n = 0;
}
