/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "run/on-linux/policy-cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/shared/build-id.h"
#include "kernel/shared/image.h"
#include "command/state-folder.h"
#include "run/on-linux/run-kernel.h"

enum { IMAGE_BYTES = 2 << 20, FILES_MOST = 32, NAME_BYTES = 32 };

/* What an image holds. */
struct kept {
    const struct graph *graph;
    const struct plan *plan;
};

/* ---- what they are made from ---- */

static void put_mounts(struct buf *out, const struct mounts_view *v)
{
    buf_sized(out, v->folding, v->nfolding * sizeof(v->folding[0]));
    for (size_t i = 0; i < v->now.n; i++) {
        struct mount_at m = v->now.list[i];
        buf_sized(out, m.root, m.root_len);
        buf_sized(out, m.at, m.at_len);
        m.root = m.at = NULL;
        buf_sized(out, &m, sizeof(m));
    }
}

/* Structures are put as they are, so that a field that is added later counts by itself; a pointer
 * has another value in each run, so forgetting one here means that nothing is ever found. */
static bool put_inputs(const struct run *r, struct buf *out)
{
    size_t n = 0;
    const void *program = build_id(&n);
    struct plan_options plain = r->kernel->options;
    if (!program || !sbpl_put_inputs(&r->policy.unit, out))
        return false;
    buf_sized(out, program, n);
    buf_sized(out, plain.cwd, plain.cwd ? strlen(plain.cwd) : 0);
    if (plain.mounts)
        put_mounts(out, plain.mounts);
    plain.cwd = NULL;
    plain.mounts = NULL;
    plain.terse = false;
    buf_sized(out, &plain, sizeof(plain));
    buf_sized(out, &r->kernel->host, sizeof(r->kernel->host));
    return buf_ok(out);
}

/* Whether a later run can have the same policy: not if the name of its TMPDIR is random. Inside
 * another sandbox, the command chose the variables that name the folder. */
static bool is_worth_keeping(const struct run *r)
{
    return r->policy.shipped && !r->spec->may_leave && !r->kernel->around &&
           (r->spec->bare || r->spec->tmpdir || r->private_tmpdir.number);
}

/* ---- files ---- */

/* The user's own folder, which nobody else can change. */
static int open_folder(bool create)
{
    char path[PATH_MAX];
    struct stat st;
    if (!state_path(path, "policies"))
        return -1;
    OWN(fd) int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT && create && state_make_folders(path, STATE_FOLDERS + 1))
        fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool own = fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & 077);
    return own ? steal_fd(&fd) : -1;
}

static void name_file(const struct buf *inputs, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "%016" PRIx64, image_sum(inputs->s, inputs->n));
}

bool policy_cache_load(struct run *r)
{
    OWN(buf) struct buf inputs = {0};
    char name[NAME_BYTES];
    struct stat st;
    if (!is_worth_keeping(r) || r->policy.graph || !put_inputs(r, &inputs))
        return false;
    OWN(fd) int folder = open_folder(false);
    name_file(&inputs, name);
    OWN(fd)
    int fd = folder < 0
                 ? -1
                 : openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || !state_file_is_private(fd, &st))
        return false;
    const struct image_inputs from = {inputs.s, inputs.n};
    const struct kept *kept = image_map(fd, (size_t)st.st_size, &from);
    if (!kept)
        return false;
    r->policy.graph = graph_unpack(kept->graph);
    if (r->policy.graph)
        plan_unpack(kept->plan, &r->kernel->options, &r->kernel->plan);
    return r->policy.graph != NULL;
}

/* ---- keeping ---- */

struct file_age {
    char name[NAME_BYTES];
    struct timespec written;
};

static bool is_older(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

/* Makes room for one more: removes the oldest file while there are too many. */
static void prune(int folder)
{
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = again < 0 ? NULL : fdopendir(again);
    struct file_age oldest = {0};
    size_t n = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        struct stat st;
        if (e->d_name[0] == '.' || strlen(e->d_name) >= NAME_BYTES ||
            fstatat(folder, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        if (n++ == 0 || is_older(&st.st_mtim, &oldest.written)) {
            snprintf(oldest.name, sizeof(oldest.name), "%s", e->d_name);
            oldest.written = st.st_mtim;
        }
    }
    if (d)
        closedir(d);
    if (n >= FILES_MOST)
        unlinkat(folder, oldest.name, 0);
}

/* The kernel kills a process that writes more than its limit. */
static bool may_write(size_t n)
{
    struct rlimit most;
    return getrlimit(RLIMIT_FSIZE, &most) == 0 && n < most.rlim_cur;
}

/* Copies everything into an image and writes it under another name first. */
static void write_file(int folder, const char *name, const struct graph *g, const struct plan *p,
                       const struct buf *inputs)
{
    OWN(image) struct image image;
    char fresh[NAME_BYTES + 16];
    const struct image_inputs from = {inputs->s, inputs->n};
    if (image_begin(&image, IMAGE_BYTES) < 0)
        return;
    struct kept *root = arena_new(&image.arena, struct kept);
    if (!root)
        return;
    root->graph = graph_pack(g, &image.arena);
    root->plan = plan_pack(p, &image.arena);
    if (!root->graph || !root->plan)
        return;
    snprintf(fresh, sizeof(fresh), ".%s.%d", name, (int)getpid());
    OWN(fd)
    int fd = openat(folder, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || image_write(&image, fd, root, &from) < 0 ||
        renameat(folder, fresh, folder, name) < 0)
        unlinkat(folder, fresh, 0);
}

void policy_cache_save(struct run *r)
{
    OWN(buf) struct buf inputs = {0};
    struct plan plan;
    struct bk_err err;
    char name[NAME_BYTES];
    if (!is_worth_keeping(r) || !may_write(IMAGE_BYTES) || !put_inputs(r, &inputs))
        return;
    OWN(fd) int folder = open_folder(true);
    if (folder < 0 || run_policy_compile(&r->policy, &err) < 0)
        return;
    struct plan_options opt = r->kernel->options;
    opt.terse = true;
    if (plan_make(r->policy.graph, &opt, &r->kernel->host, &plan, &err) < 0)
        return;
    name_file(&inputs, name);
    prune(folder);
    write_file(folder, name, r->policy.graph, &plan, &inputs);
    plan_free(&plan);
}
