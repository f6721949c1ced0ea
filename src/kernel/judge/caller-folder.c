/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Opening a caller's working folder through /proc takes longer than anything else that the judge
 * does before it acts. So it keeps the folder's descriptor, from a thread's second call on.
 * The path is read anew for each call, because folders can be moved.
 *
 * The judge checks and acts in the folder that it holds, so a wrong one could not get anything past
 * the policy. But the caller would act in a folder that it has left.
 *
 * Only chdir() and fchdir() change a working folder: the filter refuses chroot(), pivot_root(),
 * setns() and mount namespaces, and where it does not, nothing is kept (plan_reports_folders). It
 * reports both calls. Each invalidates every kept folder; then the kernel performs the call, at any
 * later time. Threads share a working folder, and so do processes that clone() has told to. So
 * nothing is kept for a thread that shares it with one whose change may not be complete. kcmp()
 * tells who shares; tasks cannot begin to share later. A change is complete when its caller makes
 * another call or is gone.
 *
 * A thread that no longer shares can execute a program and take over the first thread's number. The
 * judge knows that threads stop sharing from the calls that it watches for umasks (thread-cache.c).
 * It keeps nothing from then on.
 *
 * A descriptor keeps its mount busy. So only folders on the mount where the run was started are
 * kept: the controller is there anyway.
 */

#include "kernel/judge/caller-folder.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/judge/handlers.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/target.h"
#include "kernel/judge/thread-cache.h"

void caller_folders_begin(struct judge *j, const char *cwd)
{
    struct caller_folders *f = &j->folders;
    struct statx at;
    f->as_of = 1;
    f->kept = cwd[0] == '/' &&
              syscall(SYS_statx, AT_FDCWD, cwd, AT_STATX_DONT_SYNC, KABI_STATX_MNT_ID, &at) == 0 &&
              (at.stx_mask & KABI_STATX_MNT_ID);
    f->mount = f->kept ? kabi_statx_mnt_id(&at) : 0;
}

/* ---- changes ---- */

/* Threads for which nothing was kept because of it have another chance. */
static void change_is_complete(struct caller_folders *f, size_t i)
{
    f->changing[i] = f->changing[--f->nchanging];
    f->as_of++;
}

void caller_folder_observe(struct judge *j, const struct request *r)
{
    struct caller_folders *f = &j->folders;
    for (size_t i = 0; i < f->nchanging; i++)
        if (f->changing[i] == r->tid) {
            change_is_complete(f, i);
            return;
        }
}

static void drop_the_dead(struct judge *j)
{
    struct caller_folders *f = &j->folders;
    char name[16];
    for (size_t i = f->nchanging; i-- > 0;) {
        snprintf(name, sizeof(name), "%d", f->changing[i]);
        if (faccessat(j->proc, name, F_OK, 0) < 0 && errno == ENOENT)
            change_is_complete(f, i);
    }
}

/* It does not matter which path the kernel reads: the policy is not asked about it. */
struct answer handle_chdir(struct judge *j, const struct request *r)
{
    struct caller_folders *f = &j->folders;
    f->as_of++;
    thread_cache_close_folders(j);
    if (f->nchanging == FOLDERS_CHANGING)
        drop_the_dead(j);
    if (f->nchanging == FOLDERS_CHANGING)
        f->kept = false;
    else
        f->changing[f->nchanging++] = r->tid;
    return answer_continue();
}

/* ---- keeping ---- */

/* Whether a change that may not be complete could be the caller's as well. */
static bool may_change(struct judge *j, const struct request *r)
{
    struct caller_folders *f = &j->folders;
    for (size_t i = f->nchanging; i-- > 0;) {
        long shared = syscall(SYS_kcmp, r->tid, f->changing[i], KCMP_FS, 0, 0);
        /* while the request is valid, the caller is not the one who is gone */
        if (shared < 0 && errno == ESRCH && request_is_valid(j, r))
            change_is_complete(f, i);
        else if (shared <= 0)
            return true;
    }
    return false;
}

int caller_folder(struct judge *j, const struct request *r)
{
    if (!j->folders.kept || j->threads.umask_unsteady)
        return -1;
    const struct cached_thread *k = thread_cache_caller(j, r);
    return k && k->cwd_as_of == j->folders.as_of ? k->cwd : -1;
}

static bool is_plain(const struct judge *j, int folder)
{
    struct statx at;
    return guarded_paths_glance(folder, &at) == 0 && !guarded_paths_shows(j->guarded, &at) &&
           !procfs_may_be(j, at.stx_dev_major, at.stx_blksize) &&
           (at.stx_mask & KABI_STATX_MNT_ID) && kabi_statx_mnt_id(&at) == j->folders.mount;
}

void caller_folder_keep(struct judge *j, const struct request *r, int folder)
{
    struct caller_folders *f = &j->folders;
    struct cached_thread *k = f->kept ? thread_cache_caller(j, r) : NULL;
    if (!k || k->cwd_as_of == f->as_of || j->threads.umask_unsteady)
        return;
    if (k->called_as_of != f->as_of) { /* many processes call only once */
        k->called_as_of = f->as_of;
        return;
    }
    bool keep = is_plain(j, folder) && !may_change(j, r);
    thread_cache_set_folder(j, r, keep ? folder : -1, f->as_of);
}
