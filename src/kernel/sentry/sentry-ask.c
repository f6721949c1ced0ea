/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Finds the path of an object, checks the policy, and takes the sender's rights for opening it.
 *
 * A path is the kernel's current name for a pinned object, in the host's mount namespace: if a
 * process outside renames a folder, its contents are checked under their new names. For an object
 * whose name was removed the kernel writes "NAME (deleted)", which might also be its name: we check
 * both, and either can deny.
 *
 * The server has the rights of the user who started it. An ordinary user's are the command's. In
 * root's run senders may be any user, so the server takes uid, gid, groups and the capabilities
 * that override modes from each sender. The sender waits for the answer, and cannot change them
 * meanwhile.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "base/proc-text.h"
#include "kernel/host/kabi.h"
#include "kernel/sentry/sentry-int.h"

/* ---- paths ---- */

/* The kernel's name for it, seen from the root of the file descriptor's mount namespace. */
static ssize_t name_of(const struct sentry *s, int fd, char *path)
{
    char number[16];
    snprintf(number, sizeof(number), "%d", fd);
    ssize_t n = readlinkat(s->fds, number, path, SENTRY_PATH);
    if (n < 0)
        return -errno;
    return n == 0 || n >= SENTRY_PATH || path[0] != '/' ? -ENAMETOOLONG : n;
}

/* Call it only after we have left its mount namespace: while it is our own root it has no name. */
static int find_root(struct sentry *s)
{
    ssize_t n = s->opt.root < 0 ? 1 : name_of(s, s->opt.root, s->root);
    if (n < 0)
        return (int)n;
    s->root_len = n > 1 ? (size_t)n : 0;
    s->root_known = true;
    return 0;
}

/* For an object on an unmounted file system, the kernel writes a path that begins there. */
static int check_mount(struct sentry *s, int fd)
{
    struct statx st;
    if (!s->opt.names || !mounts_now(&s->opt.names->mounts, true))
        return s->opt.names ? -EACCES : 0;
    if (!s->opt.attached)
        return 0;
    if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &st) < 0)
        return -errno;
    bool there = !(st.stx_mask & KABI_STATX_MNT_ID) ||
                 mounts_reach(&s->opt.names->mounts, kabi_statx_mnt_id(&st));
    return there ? 0 : -EACCES;
}

int sentry_locate(struct sentry *s, int fd)
{
    int err = s->root_known ? 0 : find_root(s);
    if (err == 0)
        err = check_mount(s, fd);
    ssize_t n = err < 0 ? err : name_of(s, fd, s->path);
    if (n < 0)
        return (int)n;
    size_t len = (size_t)n, root = s->root_len;
    /* in a chroot the policy's names begin there; what is outside has none */
    if (root && (len <= root || memcmp(s->path, s->root, root) != 0 || s->path[root] != '/'))
        return -EACCES;
    memmove(s->path, s->path + root, len - root);
    s->path_len = len - root;
    return 0;
}

int sentry_locate_in(struct sentry *s, const char *name, size_t len)
{
    size_t slash = s->path_len > 1; /* the root ends with one */
    if (s->path_len + slash + len >= SENTRY_PATH)
        return -ENAMETOOLONG;
    s->path[s->path_len] = '/';
    memcpy(s->path + s->path_len + slash, name, len);
    s->path_len += slash + len;
    return 0;
}

/* ---- checking ---- */

static struct graph_verdict eval_policy(struct sentry *s, enum vocab_op op, size_t len,
                                        const struct stat *st, const char *attribute)
{
    struct graph_fact facts[EVENT_FACTS + 1 + FILE_NAME_FACTS];
    size_t n = event_path_facts(s->path, len, s->opt.uid, s->opt.gid, st, facts);
    if (attribute)
        facts[n++] = (struct graph_fact){
            .filter = FILTER_XATTR, .str = attribute, .len = (uint32_t)strlen(attribute)};
    if (s->opt.names)
        n += file_names_facts(s->opt.names, s->path, len, facts + n);
    struct graph_query q = {.op = op, .facts = facts, .nfacts = n};
    /* made at the first check: most runs have none, and all would wait for it */
    if (!s->cache)
        s->cache = graph_cache_new(s->opt.graph);
    if (!s->cache)
        return (struct graph_verdict){.rule = GRAPH_NO_RULE, .flags = VOCAB_FLAG_REPORT};
    return s->opt.names ? file_names_eval(s->opt.names, s->opt.graph, s->cache, &q)
                        : graph_eval(s->opt.graph, s->cache, &q);
}

bool sentry_would(struct sentry *s, enum vocab_op op, const struct stat *st)
{
    return eval_policy(s, op, s->path_len, st, NULL).allow;
}

bool sentry_is_free(struct sentry *s, enum vocab_op op, const struct stat *st)
{
    struct graph_verdict v = eval_policy(s, op, s->path_len, st, NULL);
    return v.allow && v.flags == 0;
}

static size_t length_without_mark(const struct sentry *s)
{
    static const char mark[] = " (deleted)";
    size_t n = sizeof(mark) - 1;
    if (s->path_len > n && memcmp(s->path + s->path_len - n, mark, n) == 0)
        return s->path_len - n;
    return s->path_len;
}

/* The sender may have died, and its pid may belong to another process: only processes of the
 * sandbox get signals. */
static void send_signal(const struct sentry *s, pid_t pid, int signal)
{
    struct stat st;
    char name[32];
    OWN(fd) int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    snprintf(name, sizeof(name), "%d/ns/mnt", pid);
    if (pidfd >= 0 && fstatat(s->opt.proc, name, &st, 0) == 0 && st.st_ino == s->opt.mount_ns)
        syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0);
}

static pid_t process_of(const struct sentry *s, pid_t tid)
{
    char text[32];
    int err = proc_status_field(s->opt.proc, tid, "\nTgid:", text, sizeof(text));
    return err < 0 ? err : (pid_t)atoi(text);
}

static int apply_verdict(struct sentry *s, const struct fuse_in_header *h, struct event_facts *what)
{
    struct event_sender t = {s->opt.proc, s->opt.events, &s->event};
    const struct graph_verdict *v = what->verdict;
    int signal = 0;
    what->tid = (pid_t)h->pid;
    if (!v->allow)
        what->err =
            v->rule == GRAPH_NO_RULE ? EPERM : event_modifiers(s->opt.graph, v->node, &signal);
    if (signal || (v->flags & VOCAB_FLAG_REPORT))
        what->pid = process_of(s, what->tid);
    if (signal && what->pid > 0 && s->opt.mount_ns)
        send_signal(s, what->pid, signal);
    if (v->flags & VOCAB_FLAG_REPORT)
        event_send(&t, what);
    return -what->err;
}

static int fail(struct sentry *s, const struct fuse_in_header *h, enum vocab_op op)
{
    static const char why[] = "the kernel does not report its path";
    struct graph_verdict v = {.flags = VOCAB_FLAG_REPORT, .rule = GRAPH_NO_RULE};
    struct event_facts what = {.op = op, .verdict = &v, .path = why, .len = sizeof(why) - 1};
    return apply_verdict(s, h, &what);
}

int sentry_ask(struct sentry *s, const struct fuse_in_header *h, enum vocab_op op, int fd,
               const struct stat *st, const char *attribute)
{
    if (sentry_locate(s, fd) < 0)
        return fail(s, h, op);
    size_t len = length_without_mark(s);
    struct graph_verdict v = eval_policy(s, op, len, st, attribute);
    if (v.allow && len < s->path_len) {
        len = s->path_len;
        v = eval_policy(s, op, len, st, attribute);
    }
    if (v.allow && v.flags == 0)
        return 0;
    struct event_facts what = {.op = op, .verdict = &v, .path = s->path, .len = len};
    return apply_verdict(s, h, &what);
}

/* ---- the sender's rights ---- */

enum { CAPS_THAT_COUNT = 1 << CAP_DAC_OVERRIDE | 1 << CAP_DAC_READ_SEARCH | 1 << CAP_SYS_ADMIN };

/* Capabilities count only in the namespace they belong to: those of a user namespace inside do not
 * count here. */
static bool is_in_our_user_namespace(const struct sentry *s, pid_t tid)
{
    struct stat ours, theirs;
    char name[32];
    snprintf(name, sizeof(name), "%d/ns/user", tid);
    return fstatat(s->opt.proc, "self/ns/user", &ours, 0) == 0 &&
           fstatat(s->opt.proc, name, &theirs, 0) == 0 && ours.st_ino == theirs.st_ino;
}

static int read_groups(const char *text, struct sentry_creds *c)
{
    char *end;
    c->ngroups = 0;
    for (;; text = end) {
        unsigned long gid = strtoul(text, &end, 10);
        if (end == text || c->ngroups == SENTRY_GROUPS)
            break;
        c->groups[c->ngroups++] = (gid_t)gid;
    }
    return text[strspn(text, " \t")] == '\0' ? 0 : -EPERM;
}

static int read_creds(const struct sentry *s, const struct fuse_in_header *h,
                      struct sentry_creds *c)
{
    char text[1024];
    pid_t tid = (pid_t)h->pid;
    c->uid = h->uid;
    c->gid = h->gid;
    if (proc_status_field(s->opt.proc, tid, "\nGroups:", text, sizeof(text)) < 0 ||
        read_groups(text, c) < 0 ||
        proc_status_field(s->opt.proc, tid, "\nCapEff:", text, sizeof(text)) < 0)
        return -EPERM;
    c->caps = strtoull(text, NULL, 16) & CAPS_THAT_COUNT;
    return 0;
}

static bool are_same(const struct sentry_creds *a, const struct sentry_creds *b)
{
    return a->uid == b->uid && a->gid == b->gid && a->caps == b->caps && a->ngroups == b->ngroups &&
           memcmp(a->groups, b->groups, a->ngroups * sizeof(a->groups[0])) == 0;
}

static int set_capabilities(uint64_t caps)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    if (syscall(SYS_capget, &head, data) < 0)
        return -errno;
    data[0].effective =
        (data[0].permitted & ~(uint32_t)CAPS_THAT_COUNT) | (data[0].permitted & (uint32_t)caps);
    return syscall(SYS_capset, &head, data) < 0 ? -errno : 0;
}

/* For the calling thread only: the library's setgroups() would change all threads. */
static int set_creds(const struct sentry_creds *c)
{
    int signal = 0;
    prctl(PR_GET_PDEATHSIG, &signal);
    if (syscall(SYS_setgroups, c->ngroups, c->groups) < 0)
        return -errno;
    syscall(SYS_setfsgid, c->gid);
    syscall(SYS_setfsuid, c->uid);
    if ((gid_t)syscall(SYS_setfsgid, -1) != c->gid || (uid_t)syscall(SYS_setfsuid, -1) != c->uid)
        return -EPERM;
    int err = set_capabilities(c->caps);
    prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0); /* a change of the uid clears it */
    return err;
}

static int become(struct sentry *s, const struct sentry_creds *c)
{
    if (s->creds_known && are_same(c, &s->creds))
        return 0;
    s->creds_known = false; /* never use half-set credentials */
    if (set_creds(c) < 0)
        return -EPERM;
    s->creds = *c;
    s->creds_known = true;
    return 0;
}

int sentry_become(struct sentry *s, const struct fuse_in_header *h)
{
    struct sentry_creds c;
    if (!s->opt.any_user)
        return 0;
    if (read_creds(s, h, &c) < 0)
        return -EPERM;
    /* reading a sender's namespaces needs the same capabilities as it has */
    if (c.caps && (become(s, &s->own) < 0 || !is_in_our_user_namespace(s, (pid_t)h->pid)))
        c.caps = 0;
    return become(s, &c);
}

int sentry_creds_init(struct sentry *s)
{
    struct sentry_creds *c = &s->own;
    int n = s->opt.any_user ? getgroups(SENTRY_GROUPS, c->groups) : 0;
    if (n < 0)
        return -errno;
    c->uid = geteuid();
    c->gid = getegid();
    c->caps = CAPS_THAT_COUNT;
    c->ngroups = (uint32_t)n;
    return 0;
}
