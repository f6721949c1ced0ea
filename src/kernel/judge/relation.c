/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * How one process is related to another: itself, a descendant, in the same group, in the same
 * sandbox. The caller names the other by a pid of its own pid namespace, which the judge is not in.
 * The sandbox's procfs uses those pids, so it is read first; if the wall hides it, the judge
 * searches the host's procfs for the process that has this pid inside.
 *
 * Pids are reused: an answer holds only for the moment. Callers must explain why that is enough.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "base/proc-text.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/relation.h"
#include "kernel/judge/target.h"

/* A procfs and the caller's pid in it. */
struct view {
    int proc;
    pid_t self;
    bool outer;     /* the host's pids, while the caller uses others */
    unsigned depth; /* outer: levels from the host to the caller */
    char pids[64];  /* outer: the caller's pid namespace */
};

/* ---- reading procfs ---- */

int relation_read_stat(int proc, pid_t pid, pid_t *parent, pid_t *group)
{
    char text[512], state;
    (void)proc_read(proc, text, sizeof(text), "%d/stat", pid);
    const char *at = proc_after_name(text);
    if (!at || sscanf(at, " %c %d %d", &state, parent, group) != 3)
        return -ESRCH;
    return state == 'Z' || state == 'X';
}

/* The pid of a process (or thread) in the namespace `depth` levels below the host's, or 0. */
static pid_t inner_pid_of(int proc, const char *of, unsigned depth)
{
    char text[4096];
    (void)proc_read(proc, text, sizeof(text), "%s/status", of);
    char *at = (char *)proc_field(text, "\nNSpid:");
    long n = 0;
    if (!at)
        return 0;
    at[strcspn(at, "\n")] = '\0';
    for (unsigned i = 0; i <= depth; i++)
        n = strtol(at, &at, 10); /* 0 after the last */
    return (pid_t)n;
}

static bool read_namespace(int proc, pid_t pid, char out[64])
{
    char name[32];
    snprintf(name, sizeof(name), "%d/ns/pid", pid);
    ssize_t n = readlinkat(proc, name, out, 63);
    out[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* ---- views ---- */

static int view_make(const struct judge *j, const struct request *r, struct view *v)
{
    *v = (struct view){.proc = j->pid_ns ? j->procfs.inner : j->proc};
    v->self = target_inner_process(j, r);
    pid_t parent, group;
    if (v->self > 0 && v->proc >= 0 && relation_read_stat(v->proc, v->self, &parent, &group) >= 0)
        return request_is_valid(j, r) ? 0 : -EPERM;
    *v = (struct view){
        .proc = j->proc, .self = target_process(j, r), .outer = j->pid_ns, .depth = j->pid_depth};
    if (v->self < 0 || (v->outer && !read_namespace(v->proc, v->self, v->pids)))
        return -EPERM;
    return request_is_valid(j, r) ? 0 : -EPERM;
}

/* The next process in the directory that the caller could name; 0 at the end. */
static pid_t next_process(const struct view *v, DIR *dir)
{
    char pids[64];
    for (struct dirent *e; (e = readdir(dir));) {
        pid_t pid = (pid_t)atoi(e->d_name);
        if (pid <= 0)
            continue;
        if (v->outer && (!read_namespace(v->proc, pid, pids) || strcmp(pids, v->pids) != 0))
            continue;
        return pid;
    }
    return 0;
}

static DIR *open_dir(int proc, const char *name)
{
    int fd = openat(proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir && fd >= 0)
        close(fd);
    return dir;
}

/* Whether pid, in the caller's numbers, is a thread of the caller's own process. */
static bool is_own_thread(const struct view *v, pid_t pid)
{
    char name[64];
    if (!v->outer) {
        snprintf(name, sizeof(name), "%d/task/%d", v->self, pid);
        return faccessat(v->proc, name, F_OK, 0) == 0;
    }
    snprintf(name, sizeof(name), "%d/task", v->self);
    DIR *dir = open_dir(v->proc, name);
    bool found = false;
    for (struct dirent *e; dir && !found && (e = readdir(dir));) {
        snprintf(name, sizeof(name), "%d/task/%.20s", v->self, e->d_name);
        found = inner_pid_of(v->proc, name, v->depth) == pid;
    }
    if (dir)
        closedir(dir);
    return found;
}

/* Translates the caller's pid into the view's; 0 if there is none. */
static pid_t translate(const struct view *v, pid_t pid)
{
    char name[16];
    if (!v->outer)
        return pid;
    DIR *dir = open_dir(v->proc, ".");
    pid_t found = 0;
    while (dir && (found = next_process(v, dir)) > 0) {
        snprintf(name, sizeof(name), "%d", found);
        if (inner_pid_of(v->proc, name, v->depth) == pid)
            break;
    }
    if (dir)
        closedir(dir);
    return found;
}

/* ---- relations ---- */

enum { ANCESTORS = 4096 }; /* generations to search */

/* How many generations a process is below an ancestor; 0 if it does not descend from it. */
static int generations(int proc, pid_t pid, pid_t ancestor)
{
    pid_t parent, group;
    for (int n = 1; n < ANCESTORS && pid > 1; n++) {
        if (relation_read_stat(proc, pid, &parent, &group) < 0)
            return 0;
        if (parent == ancestor)
            return n;
        pid = parent;
    }
    return 0;
}

/* Whether pid is the process that sandboxed itself, or a descendant. Once that process is gone, its
 * pid may be reused, so no process is. */
static bool is_applied(const struct judge *j, const struct view *v, pid_t pid)
{
    bool alive = syscall(SYS_pidfd_send_signal, j->applied.fd, 0, NULL, 0) == 0;
    return alive && (pid == j->applied.pid || generations(v->proc, pid, j->applied.pid) > 0);
}

/* Without a pid namespace, the sandbox is what descends from the reaper, the judge's child. */
static bool is_inside(const struct judge *j, const struct view *v, pid_t pid, bool first)
{
    if (j->pid_ns)
        return !first || j->foreign_init;
    if (j->applied.pid)
        return is_applied(j, v, pid);
    return generations(v->proc, pid, getpid()) > 1;
}

static bool is_first(const struct view *v, pid_t pid)
{
    char name[16];
    snprintf(name, sizeof(name), "%d", pid);
    return v->outer ? inner_pid_of(v->proc, name, v->depth) == 1 : pid == 1;
}

/* pid is in the view's numbers. */
static int relation_in_view(const struct judge *j, const struct view *v, pid_t pid)
{
    pid_t parent, group, own_parent, own_group;
    if (pid == v->self)
        return RELATION_SELF | RELATION_GROUP | RELATION_SANDBOX;
    if (pid <= 0 || relation_read_stat(v->proc, pid, &parent, &group) < 0 ||
        relation_read_stat(v->proc, v->self, &own_parent, &own_group) < 0)
        return -ESRCH;
    bool first = is_first(v, pid);
    int relation = RELATION_OTHERS;
    if (first && !j->foreign_init)
        relation |= RELATION_INIT;
    if (group == own_group)
        relation |= RELATION_GROUP;
    if (is_inside(j, v, pid, first))
        relation |= RELATION_SANDBOX;
    if (generations(v->proc, pid, v->self) > 0)
        relation |= RELATION_CHILD;
    return relation;
}

int relation_of(const struct judge *j, const struct request *r, pid_t pid)
{
    struct view v;
    int err = view_make(j, r, &v);
    if (err < 0)
        return err;
    if (pid == 0 || is_own_thread(&v, pid))
        return RELATION_SELF | RELATION_GROUP | RELATION_SANDBOX;
    return relation_in_view(j, &v, translate(&v, pid));
}

void relation_name_program(const struct judge *j, const struct request *r, pid_t pid, char *out,
                           size_t cap)
{
    struct view v;
    char name[32], text[4096];
    size_t used = strlen(out);
    if (view_make(j, r, &v) < 0)
        return;
    pid_t seen = pid ? translate(&v, pid) : v.self;
    snprintf(name, sizeof(name), "%d/exe", seen);
    ssize_t n = seen > 0 ? readlinkat(v.proc, name, text, sizeof(text) - 1) : -1;
    text[n > 0 ? n : 0] = '\0';
    const char *slash = strrchr(text, '/');
    if (slash && slash[1])
        snprintf(out + used, cap - used, " (%.40s)", slash + 1);
}

/* If a process belongs to the set, its pid in the caller's numbers; otherwise 0. */
static pid_t member_pid(const struct view *v, pid_t pid, enum relation_set set, pid_t group)
{
    char name[16];
    pid_t parent, its, own;
    if (set == EACH_OF_GROUP) {
        if (relation_read_stat(v->proc, pid, &parent, &its) < 0)
            return 0;
        if (group == 0 && (relation_read_stat(v->proc, v->self, &parent, &own) < 0 || its != own))
            return 0;
        if (group != 0 && its != group)
            return 0;
    } else if (pid == v->self || is_first(v, pid)) {
        return 0; /* kill(-1) skips the caller and init */
    }
    snprintf(name, sizeof(name), "%d", pid);
    return v->outer ? inner_pid_of(v->proc, name, v->depth) : pid;
}

int relation_each(struct judge *j, const struct request *r, enum relation_set set, pid_t group,
                  relation_fn *ask, const void *arg)
{
    struct view v;
    int err = view_make(j, r, &v), found = 0;
    if (err < 0)
        return err;
    pid_t of = group ? translate(&v, group) : 0;
    bool own = set == EACH_OF_OWN_GROUP;
    if (own)
        set = EACH_OF_GROUP;
    if (group && of <= 0)
        return -ESRCH; /* a group can outlive its leader, which this search by pid misses */
    DIR *dir = open_dir(v.proc, ".");
    if (!dir)
        return -EPERM;
    for (pid_t pid; err == 0 && (pid = next_process(&v, dir)) > 0;) {
        pid_t known = member_pid(&v, pid, set, of);
        int relation = known > 0 ? relation_in_view(j, &v, pid) : -ESRCH;
        /* gone meanwhile, or not in the sandbox */
        if (relation == -ESRCH || (own && relation >= 0 && !(relation & RELATION_SANDBOX)))
            continue;
        found++;
        err = relation < 0 ? relation : ask(j, r, relation, known, arg);
    }
    closedir(dir);
    return err < 0 ? err : found ? 0 : -ESRCH;
}

/* ---- signalling the caller's own group ---- */

/* Whether the kernel would let the caller signal this process: user ids must match, as kill(2)
 * describes. */
static bool may_signal(const struct judge *j, pid_t caller, pid_t pid)
{
    unsigned ids[2][3];
    const pid_t who[] = {caller, pid};
    for (int i = 0; i < 2; i++) {
        char text[4096];
        (void)proc_read(j->proc, text, sizeof(text), "%d/status", who[i]);
        const char *at = proc_field(text, "\nUid:");
        if (!at || sscanf(at, "%u %u %u", &ids[i][0], &ids[i][1], &ids[i][2]) != 3)
            return false;
    }
    unsigned real = ids[0][0], effective = ids[0][1];
    return effective == 0 || real == ids[1][0] || real == ids[1][2] || effective == ids[1][0] ||
           effective == ids[1][2];
}

/* Returns 1 if it signalled the process, 0 if that is not a member. */
static int signal_member(const struct judge *j, const struct view *v, pid_t pid, int sig)
{
    OWN(fd) int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    /* check after opening: the pidfd stays with this process */
    if (pidfd < 0 || !member_pid(v, pid, EACH_OF_GROUP, 0) ||
        !is_inside(j, v, pid, is_first(v, pid)) || !may_signal(j, v->self, pid))
        return 0;
    return syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0) == 0;
}

int relation_signal_group(const struct judge *j, const struct request *r, int sig)
{
    struct view v = {.proc = j->proc, .self = target_process(j, r), .outer = j->pid_ns};
    int sent = 0;
    if (v.self < 0 || (v.outer && !read_namespace(v.proc, v.self, v.pids)) ||
        !request_is_valid(j, r))
        return -EPERM;
    DIR *dir = open_dir(v.proc, ".");
    if (!dir)
        return -EPERM;
    for (pid_t pid; (pid = next_process(&v, dir)) > 0;)
        if (pid != v.self)
            sent += signal_member(j, &v, pid, sig);
    closedir(dir);
    /* last, because it may kill the caller */
    return sent + signal_member(j, &v, v.self, sig) ? 0 : -ESRCH;
}

size_t relation_facts(int relation, pid_t pid, struct graph_fact *f)
{
    size_t n = 0;
    for (int target = 1; target <= 6; target++)
        if (relation & 1 << target)
            f[n++] = (struct graph_fact){.filter = FILTER_TARGET, .num = target};
    f[n++] = (struct graph_fact){.filter = FILTER_TARGET_PID, .num = pid};
    return n;
}
