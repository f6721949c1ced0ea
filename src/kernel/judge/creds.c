/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * As whom the judge acts. Root's processes can become somebody else, or give up capabilities; what
 * the judge does in their stead it must not do as root then. So it takes over from the caller what
 * the kernel looks at when files are used: user, group and groups for files, and the effective
 * capabilities.
 *
 * As long as nobody inside has changed any of these, everybody has what the judge has, and nothing
 * is looked at. The filter shows the calls that change them (setuid() and its kin, capset()); after
 * the first one, each caller is looked at anew for every request. Set-id programs change nothing
 * here, since nothing gains privileges.
 *
 * These are properties of a thread to the kernel. The C library would change all threads at once,
 * so its functions are not used; threads that wait on behalf of a caller inherit that caller's.
 * Two capabilities stay: CAP_SYS_PTRACE, by which the judge looks into callers (it opens nothing
 * but procfs, where procfs.c stands in the way), and CAP_KILL, by which it carries out what rules
 * say. Capabilities in another user namespace than ours are none here.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/judge/creds.h"
#include "kernel/judge/handlers.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/target.h"

enum { STATUS_BYTES = 16384 };

static const uint64_t own_caps = UINT64_C(1) << CAP_SYS_PTRACE | UINT64_C(1) << CAP_KILL;

/* ---- looking ---- */

static const char *line_of(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    return at ? at + strlen(key) : NULL;
}

/* The last of the four numbers is the one for files. */
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

/* Whether a thread's capabilities mean anything here. */
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
    char name[32], text[STATUS_BYTES];
    snprintf(name, sizeof(name), "%d/status", r->tid);
    OWN(fd) int fd = openat(j->proc, name, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (n <= 0)
        return -EPERM;
    text[n] = '\0';
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

/* ---- becoming ---- */

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

/* Where groups cannot be set (in some user namespaces) nobody inside can have set them either. */
static bool has_groups(const struct creds *p)
{
    static gid_t now[CREDS_GROUPS];
    int n = getgroups(CREDS_GROUPS, now);
    return n >= 0 && (uint32_t)n == p->ngroups &&
           memcmp(now, p->groups, p->ngroups * sizeof(now[0])) == 0;
}

static int assume_creds(const struct creds *p)
{
    pid_t parent = getppid();
    int err = set_effective(UINT64_MAX);
    if (err < 0)
        return err;
    if (!has_groups(p) && syscall(SYS_setgroups, (size_t)p->ngroups, p->groups) < 0)
        return -errno;
    syscall(SYS_setfsgid, p->fsgid);
    syscall(SYS_setfsuid, p->fsuid);
    /* they tell what it was before, and nothing else */
    if ((gid_t)syscall(SYS_setfsgid, -1) != p->fsgid ||
        (uid_t)syscall(SYS_setfsuid, -1) != p->fsuid)
        return -EPERM;
    /* changing them has untied us from the controller */
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != parent)
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
    if (assume_creds(p) < 0)
        return -EPERM;
    j->creds.now = *p;
    j->creds.known = true;
    return 0;
}

/* Without CAP_SYS_PTRACE only root can look into root. */
static void act_as_root(struct judge *j)
{
    j->creds.known = false;
    set_effective(UINT64_MAX);
    syscall(SYS_setfsuid, 0);
    syscall(SYS_setfsgid, getgid());
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
}

int creds_take(struct judge *j, const struct request *r)
{
    struct creds p;
    if (!j->creds.vary)
        return 0;
    if (j->creds.known && !j->creds.may_ptrace &&
        (j->creds.now.fsuid != 0 || j->creds.now.fsgid != getgid()))
        act_as_root(j);
    int err = read_creds(j, r, &p);
    return err < 0 ? err : act_as(j, &p);
}

/* As the kernel does it: root has its capabilities then, and nobody else any. */
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

/* The kernel goes on with the call. What it reads of memory meanwhile does not matter: from here on
 * everybody is looked at. */
struct answer handle_creds(struct judge *j, const struct request *r)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    (void)r;
    j->creds.vary = true;
    j->creds.may_ptrace = syscall(SYS_capget, &head, data) == 0 &&
                          (data[0].permitted & (uint32_t)(UINT64_C(1) << CAP_SYS_PTRACE));
    return answer_continue();
}
