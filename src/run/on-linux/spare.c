/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * What a sandbox depends on: all that policy and plan are made from; variables; the folders that
 * Landlock's rules mean, which are inodes and not names; and files that a launch copies or lists.
 * Sentries are watched, and what the judge needs it looks up for each call.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/own.h"
#include "command/own-record.h"
#include "run/credentials.h"
#include "run/ssh-agent.h"
#include "run/on-linux/input-watch.h"
#include "run/on-linux/policy-cache.h"
#include "run/on-linux/run-kernel.h"
#include "run/run-int.h"

/* Which file a path means. A missing one counts, too: its nearest ancestor took its place. */
static void put_file(struct buf *out, const char *path, bool contents)
{
    struct statx st;
    uint64_t facts[7] = {0};
    const unsigned identity = STATX_TYPE | STATX_INO, all = STATX_BASIC_STATS;
    if (statx(AT_FDCWD, path, 0, contents ? all : identity, &st) == 0) {
        facts[0] = st.stx_dev_major + UINT64_C(1);
        facts[1] = st.stx_dev_minor;
        facts[2] = st.stx_ino;
    }
    if (facts[0] && contents) {
        facts[3] = st.stx_size;
        facts[4] = (uint64_t)st.stx_mtime.tv_sec;
        facts[5] = st.stx_mtime.tv_nsec;
        facts[6] = st.stx_ctime.tv_nsec;
    }
    buf_sized(out, facts, sizeof(facts));
}

static void put_files(const struct plan *p, struct buf *out)
{
    static const char *const copied[] = {"/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf"};
    for (size_t i = 0; i < p->nwalls; i++)
        put_file(out, p->walls[i].path, false);
    for (size_t i = 0; p->gate && i < sizeof(copied) / sizeof(copied[0]); i++)
        put_file(out, copied[i], true);
    if (p->device_scan)
        put_file(out, "/dev", true);
}

static void put_words(const char *const *words, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n; i++)
        buf_sized(out, words[i], strlen(words[i]));
    buf_sized(out, "", 0);
}

static void put_places(const struct places *p, struct buf *out)
{
    for (size_t i = 0; p && i < p->n; i++) {
        buf_sized(out, &p->at[i].kind, sizeof(p->at[i].kind));
        buf_sized(out, p->at[i].path, strlen(p->at[i].path));
    }
    buf_sized(out, "", 0);
}

/* All that the command's variables are made from, apart from this process's own. */
static void put_environ(const struct run *r, struct buf *out)
{
    const struct run_spec *s = r->spec;
    const char *tmpdir = run_tmpdir(r);
    put_words(s->keep_env, s->nkeep_env, out);
    put_words(s->set_env, s->nset_env, out);
    put_words(s->opened, s->nopened, out);
    put_words(&tmpdir, 1, out);
    put_places(s->writable, out);
    const bool facts[] = {s->whole_env, s->bare, s->private_places};
    buf_sized(out, facts, sizeof(facts));
}

/* Not inside another sandbox, whose controller decides; and a record begins with the command. */
static bool can_wait(const struct run *r)
{
    return r->kernel->channel < 0 && !run_system_is_inside(r) && !r->spec->record.path &&
           !r->spec->may_leave && !run_credentials_count(r->spec) && !run_ssh_count(r->spec);
}

/* Reading them takes longer than everything else. The first comparison does so, after the watch was
 * opened. */
bool run_mounts_unchanged(struct run *r)
{
    struct pollfd p = {r->kernel->mounts_watch, POLLPRI, 0};
    bool compared = r->kernel->mounts_compared;
    r->kernel->mounts_compared = true;
    r->kernel->mounts_changed |= p.fd < 0 || poll(&p, 1, 0) != 0; /* the kernel says so once */
    return compared && !r->kernel->mounts_changed;
}

static void watch_mounts(struct run_kernel *k)
{
    k->mounts_watch = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    poll(&(struct pollfd){k->mounts_watch, POLLPRI, 0}, 1, 0); /* from now on */
}

bool run_put_inputs(struct run *r, struct run *planned, struct buf *out)
{
    struct bk_err err;
    const struct run_spec *s = r->spec;
    if (!can_wait(r) || r->has_handling ||
        (!planned->kernel->plan.opt.cwd && run_plan(planned, &err) < 0))
        return false;
    if (!s->like)
        watch_mounts(r->kernel);
    if (!policy_put_inputs(r, &r->kernel->first, out))
        return false;
    put_environ(r, out);
    put_places(s->caches, out);
    buf_sized(out, &r->parents, sizeof(r->parents));
    buf_sized(out, s->upstream ? s->upstream : "", s->upstream ? strlen(s->upstream) : 0);
    put_files(&planned->kernel->plan, out);
    return buf_ok(out);
}

bool run_watch_inputs(struct run *r, bool (*look)(void *arg), void *arg)
{
    bool same;
    r->kernel->watch = input_watch_make(look, arg, &same);
    return same;
}

bool run_inputs_are_quiet(struct run *r)
{
    return run_mounts_unchanged(r) && input_watch_is_quiet(r->kernel->watch);
}

/* As a launch does (kernel/judge/judge-setup.c): the user works here from now on. */
void run_adopt_folders(struct run *r)
{
    const char *cwd = r->spec->launch.cwd;
    r->kernel->adopted_ms = now_ms();
    char path[PATH_MAX];
    const char *home = getenv("HOME");
    OWN(fd) int record = own_record_path(path) ? own_record_open(path, false) : -1;
    own_record_adopt(record, cwd);
    if (home && home[0] == '/')
        own_record_adopt(record, home);
}

bool run_is_whole(const struct run *r)
{
    (void)r;
    return launch_is_whole();
}

int run_release(struct run *r, const struct launch_order *order)
{
    enum { MOMENT_MS = 3 };
    if (!r->kernel->adopted_ms || now_ms() - r->kernel->adopted_ms >= MOMENT_MS)
        run_adopt_folders(r);
    return launch_release(order);
}
