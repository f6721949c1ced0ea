/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The credentials that the judge acts with. Root's processes can change their credentials or drop
 * capabilities; then the judge must not act for them as root. So it takes over from the caller what
 * the kernel checks when a process uses files: fsuid, fsgid, supplementary groups and effective
 * capabilities.
 *
 * As long as no process inside has changed any of these, all have what the judge has, and it reads
 * nothing. The filter reports the calls that change them (setuid() and the like, capset()); after
 * the first of these, the judge reads the caller's credentials for every request. Set-id programs
 * change nothing, because nothing in the sandbox gains privileges.
 *
 * In a container, execve() and unshare() are reported, too: then nothing else can change a thread's
 * credentials. A thread that had the judge's when it called before, and no such call since, still
 * has them. The call that changes them comes between two others of the same thread, so the next one
 * finds another count. Only an execve() of a thread that is not its process's first moves
 * credentials to another number; from then on, nothing is remembered.
 *
 * To the kernel, these are properties of a thread. The C library would change all threads at once,
 * so the judge makes the system calls directly; a thread that waits for a caller inherits that
 * caller's credentials. The judge always keeps two capabilities: CAP_SYS_PTRACE, to read callers
 * (it only opens procfs, where procfs.c checks), and CAP_KILL, to send the signals that rules ask
 * for. Capabilities in another user namespace count for nothing here.
 */

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/proc-text.h"
#include "kernel/judge/creds.h"
#include "kernel/judge/handlers.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/target.h"
#include "kernel/judge/thread-cache.h"

enum { STATUS_BYTES = 16384 };

static const uint64_t own_caps = UINT64_C(1) << CAP_SYS_PTRACE | UINT64_C(1) << CAP_KILL;

/* ---- reading ---- */

static const char *line_of(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    return at ? at + strlen(key) : NULL;
}

/* The last of the four ids is the one for files. */
static bool read_ids(const char *text, const char *key, uint32_t *real, uint32_t *files)
{
    const char *at = line_of(text, key);
    unsigned effective, saved;
    return at && sscanf(at, "%u %u %u %u", real, &effective, &saved, files) == 4;
}

static bool read_groups(const char *text, struct creds *p)
{
    const char *at = line_of(text, "\nGroups:");
    char *end;
    if (!at)
        return false;
    for (p->ngroups = 0;; at = end) {
        at += strspn(at, " \t");
        if (*at == '\n')
            return true;
        unsigned long id = strtoul(at, &end, 10);
        if (end == at || p->ngroups == CREDS_GROUPS)
            return false;
        p->groups[p->ngroups++] = (gid_t)id;
    }
}

/* Whether the caller is in our user namespace, so that its capabilities count here. */
static bool shares_user_ns(const struct judge *j, const struct request *r)
{
    char name[32], its[64], own[64];
    snprintf(name, sizeof(name), "%d/ns/user", r->tid);
    ssize_t n = readlinkat(j->proc, name, its, sizeof(its));
    ssize_t m = readlinkat(j->proc, "self/ns/user", own, sizeof(own));
    return n > 0 && n == m && memcmp(its, own, (size_t)n) == 0;
}

static int read_creds(const struct judge *j, const struct request *r, struct creds *p)
{
    char text[STATUS_BYTES];
    if (proc_read(j->proc, text, sizeof(text), "%d/status", r->tid) < 0)
        return -EPERM;
    const char *caps = line_of(text, "\nCapEff:"), *all = line_of(text, "\nCapPrm:");
    memset(p, 0, sizeof(*p));
    if (!caps || !all || !read_ids(text, "\nUid:", &p->real_uid, &p->fsuid) ||
        !read_ids(text, "\nGid:", &p->real_gid, &p->fsgid) || !read_groups(text, p))
        return -EPERM;
    p->caps = strtoull(caps, NULL, 16);
    p->permitted = strtoull(all, NULL, 16);
    if (p->permitted && !shares_user_ns(j, r))
        p->caps = p->permitted = 0;
    return request_is_valid(j, r) ? 0 : -EPERM;
}

/* ---- switching ---- */

static int set_effective(uint64_t caps)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    if (syscall(SYS_capget, &head, data) < 0)
        return -errno;
    for (int i = 0; i < 2; i++)
        data[i].effective = data[i].permitted & (uint32_t)(caps >> (32 * i));
    return syscall(SYS_capset, &head, data) < 0 ? -errno : 0;
}

/* Some user namespaces forbid setgroups(); no process inside can have called it there either. */
static bool has_groups(const struct creds *p)
{
    static gid_t now[CREDS_GROUPS];
    int n = getgroups(CREDS_GROUPS, now);
    return n >= 0 && (uint32_t)n == p->ngroups &&
           memcmp(now, p->groups, p->ngroups * sizeof(now[0])) == 0;
}

static int assume_creds(const struct creds *p, bool alone)
{
    pid_t parent = getppid();
    int err = set_effective(UINT64_MAX);
    if (err < 0)
        return err;
    if (!has_groups(p) && syscall(SYS_setgroups, (size_t)p->ngroups, p->groups) < 0)
        return -errno;
    syscall(SYS_setfsgid, p->fsgid);
    syscall(SYS_setfsuid, p->fsuid);
    /* these calls return only the previous value, so read it back */
    if ((gid_t)syscall(SYS_setfsgid, -1) != p->fsgid ||
        (uid_t)syscall(SYS_setfsuid, -1) != p->fsuid)
        return -EPERM;
    /* changing them has cleared PR_SET_PDEATHSIG */
    if (!alone)
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (!alone && getppid() != parent)
        _exit(1);
    return set_effective(p->caps | own_caps);
}

static bool is_same_creds(const struct creds *a, const struct creds *b)
{
    return a->fsuid == b->fsuid && a->fsgid == b->fsgid && a->caps == b->caps &&
           a->ngroups == b->ngroups &&
           memcmp(a->groups, b->groups, a->ngroups * sizeof(a->groups[0])) == 0;
}

static int act_as(struct judge *j, const struct creds *p)
{
    if (j->creds.known && is_same_creds(p, &j->creds.now))
        return 0;
    j->creds.known = false;
    j->creds.as_of++;
    if (assume_creds(p, j->creds.alone) < 0)
        return -EPERM;
    j->creds.now = *p;
    j->creds.known = true;
    return 0;
}

/* Without CAP_SYS_PTRACE, only root can read root's processes. */
static void act_as_root(struct judge *j)
{
    j->creds.known = false;
    j->creds.as_of++;
    set_effective(UINT64_MAX);
    syscall(SYS_setfsuid, 0);
    syscall(SYS_setfsgid, getgid());
    if (!j->creds.alone)
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
}

int creds_take(struct judge *j, const struct request *r)
{
    struct creds p;
    if (!j->creds.vary)
        return 0;
    if (j->creds.known && j->creds.reported && thread_cache_has_creds(j, r))
        return 0;
    if (j->creds.known && !j->creds.may_ptrace &&
        (j->creds.now.fsuid != 0 || j->creds.now.fsgid != getgid()))
        act_as_root(j);
    int err = read_creds(j, r, &p);
    err = err < 0 ? err : act_as(j, &p);
    if (err == 0 && j->creds.reported)
        thread_cache_set_creds(j, r);
    return err;
}

void creds_change(struct judge *j, bool others)
{
    j->creds.as_of++;
    j->creds.reported &= !others;
}

/* As the kernel does: then root has its permitted capabilities, and other users have none. */
int creds_take_real(struct judge *j)
{
    if (!j->creds.vary)
        return 0;
    struct creds p = j->creds.now;
    p.fsuid = p.real_uid;
    p.fsgid = p.real_gid;
    p.caps = p.real_uid == 0 ? p.permitted : 0;
    return act_as(j, &p);
}

/* The kernel performs the call. It does not matter what it reads from memory: from now on the judge
 * reads the credentials of every caller. */
struct answer handle_creds(struct judge *j, const struct request *r)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    (void)r;
    creds_change(j, false);
    j->creds.vary = true;
    j->creds.may_ptrace = syscall(SYS_capget, &head, data) == 0 &&
                          (data[0].permitted & (uint32_t)(UINT64_C(1) << CAP_SYS_PTRACE));
    return answer_continue();
}
