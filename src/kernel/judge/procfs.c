/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Paths in a procfs. Here the judge could become a confused deputy: it may read every process of
 * the sandbox and, above all, itself. So it checks every object of a procfs first:
 *
 *   which procfs   only the /proc that the target itself sees. Others (of a chroot, a container, a
 *                  second mount) show other pids, among them Buckle's own processes.
 *   whose entry    only processes of the sandbox. Entries that need ptrace access to another
 *                  process, only if the target could debug it.
 *   its content    asks the policy about the path as about any other, and also about processes
 *                  (process-info-*) and kernel variables (sysctl-*).
 *   changing it    never if it affects the whole machine, whatever the policy allows.
 *
 * resolve.c handles "self" and the like.
 */

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/proc-text.h"
#include "kernel/judge/ask.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/procfs.h"
#include "kernel/judge/relation.h"
#include "kernel/judge/resolve.h"
#include "kernel/judge/target.h"

static const char root[] = "/proc";
enum { ROOT = sizeof(root) - 1 };

/* It has no device and the block size of every procfs: only then is it worth asking. */
bool procfs_may_be(const struct judge *j, unsigned dev_major, blksize_t block)
{
    return dev_major == 0 && block == j->procfs.block;
}

bool procfs_is(const struct judge *j, int fd, const struct stat *st)
{
    struct statfs fs;
    return procfs_may_be(j, major(st->st_dev), st->st_blksize) && fstatfs(fd, &fs) == 0 &&
           fs.f_type == PROC_SUPER_MAGIC;
}

/* ---- paths ---- */

/* The process that a path belongs to, or 0; *rest becomes what follows it. */
static pid_t process_of(const char *path, const char **rest)
{
    char *end;
    if (strncmp(path, root, ROOT) != 0 || path[ROOT] != '/' || !isdigit(path[ROOT + 1]))
        return 0;
    long pid = strtol(path + ROOT + 1, &end, 10);
    if ((*end && *end != '/' && *end != ' ') || pid <= 0 || pid > INT32_MAX)
        return 0;
    *rest = *end == '/' ? end + 1 : "";
    /* threads have the same entries */
    char *task = *end == '/' && strncmp(end, "/task/", 6) == 0 ? strchr(end + 6, '/') : NULL;
    if (task)
        *rest = task + 1;
    return (pid_t)pid;
}

static bool starts_with(const char *rest, const char *name)
{
    size_t n = strlen(name);
    return strncmp(rest, name, n) == 0 && (rest[n] == '\0' || rest[n] == '/');
}

/* ---- whose entry ---- */

/* Entries that need ptrace access; the judge has it for every process here. */
static const char *const guarded[] = {
    "auxv",  "cwd",   "environ", "exe",          "fd",         "fdinfo", "io",
    "maps",  "mem",   "ns",      "map_files",    "pagemap",    "root",   "numa_maps",
    "smaps", "stack", "syscall", "smaps_rollup", "mountstats", "timers", "personality",
};

static bool is_guarded(const char *rest)
{
    for (size_t i = 0; i < sizeof(guarded) / sizeof(guarded[0]); i++)
        if (starts_with(rest, guarded[i]))
            return true;
    return false;
}

/* Reads the lines with the credentials of a process. */
static bool read_creds(int proc, const char *of, char *text, size_t cap)
{
    (void)proc_read(proc, text, cap, "%s/status", of);
    char *at = strstr(text, "\nUid:"), *end = at ? strstr(at, "\nFDSize:") : NULL;
    if (!end)
        return false;
    *end = '\0';
    memmove(text, at, (size_t)(end - at) + 1);
    return true;
}

/* Whether target and process have the same credentials in every respect, as ptrace requires. Only
 * root can change them. */
static bool is_same_creds(const struct judge *j, const struct request *r, pid_t pid)
{
    char own[4096], its[4096], name[16];
    if (j->uid != 0)
        return true;
    int proc = j->pid_ns ? j->procfs.inner : j->proc;
    snprintf(name, sizeof(name), "%d", r->tid);
    if (proc < 0 || !read_creds(j->proc, name, own, sizeof(own)))
        return false;
    snprintf(name, sizeof(name), "%d", pid);
    return read_creds(proc, name, its, sizeof(its)) && strcmp(own, its) == 0;
}

int procfs_check(struct judge *j, const struct request *r, int fd, const struct stat *st,
                 const char *path)
{
    const char *rest = "";
    if (!procfs_is(j, fd, st))
        return 0;
    bool there = strncmp(path, root, ROOT) == 0 && (path[ROOT] == '/' || path[ROOT] == '\0');
    if (st->st_dev != j->procfs.dev || !there)
        return -EACCES;
    pid_t pid = process_of(path, &rest);
    if (pid == 0 || pid == target_inner_process(j, r))
        return 1;
    if (!j->pid_ns) {
        int relation = relation_of(j, r, pid);
        if (relation < 0 || !(relation & RELATION_SANDBOX)) {
            j->absent = true;
            return -EACCES;
        }
    }
    /* init has all privileges that the user's process had: the kernel keeps the command out of it,
     * but not the judge */
    if (j->pid_ns && pid == 1 && !j->foreign_init && is_guarded(rest))
        return -EACCES;
    return is_guarded(rest) && !is_same_creds(j, r, pid) ? -EACCES : 1;
}

/* ---- content ---- */

static const struct {
    const char *name;
    enum vocab_op op;
} about_processes[] = {
    {"fd", OP_PROCESS_INFO_PIDFDINFO}, {"fdinfo", OP_PROCESS_INFO_PIDFDINFO},
    {"io", OP_PROCESS_INFO_RUSAGE},    {"schedstat", OP_PROCESS_INFO_RUSAGE},
    {"statm", OP_PROCESS_INFO_RUSAGE},
};

static enum vocab_op op_of_entry(const char *rest, unsigned what)
{
    if (what & PROCFS_CHANGE)
        return OP_PROCESS_INFO_SETCONTROL;
    for (size_t i = 0; i < sizeof(about_processes) / sizeof(about_processes[0]); i++)
        if (starts_with(rest, about_processes[i].name))
            return about_processes[i].op;
    return OP_PROCESS_INFO_PIDINFO;
}

static int ask_process(struct judge *j, const struct request *r, const struct pinned *p,
                       unsigned what)
{
    struct graph_fact facts[RELATION_FACTS];
    const char *rest = "";
    pid_t pid = process_of(p->path, &rest);
    int relation = relation_of(j, r, pid);
    if (relation < 0)
        return relation == -ESRCH ? -ENOENT : relation;
    /* init is Buckle's own and reveals nothing */
    if (relation & RELATION_INIT)
        return 0;
    size_t n = relation_facts(relation, pid, facts);
    return ask_about(j, r, op_of_entry(rest, what), facts, n, p->path);
}

/* In a pid namespace, the list has only the sandbox's own processes. */
static int ask_list(struct judge *j, const struct request *r, const struct pinned *p)
{
    struct graph_fact ours = {.filter = FILTER_TARGET, .num = 5 /* same-sandbox */};
    return ask_about(j, r, OP_PROCESS_INFO_LISTPIDS, &ours, j->pid_ns ? 1 : 0, p->path);
}

/* /proc/sys/kernel/hostname is kernel.hostname to the policy, its folder is kernel, and /proc/sys
 * has no name. */
static int ask_sysctl(struct judge *j, const struct request *r, const struct pinned *p,
                      unsigned what)
{
    char name[256];
    const char *from = p->path + ROOT + 4 + (p->path[ROOT + 4] == '/');
    size_t n = strlen(from);
    if (n >= sizeof(name))
        return -EACCES;
    memcpy(name, from, n + 1);
    for (char *at = name; (at = strchr(at, '/'));)
        *at = '.';
    struct graph_fact fact = {.filter = FILTER_SYSCTL_NAME, .str = name, .len = (uint32_t)n};
    enum vocab_op op = what & PROCFS_CHANGE ? OP_SYSCTL_WRITE : OP_SYSCTL_READ;
    return ask_about(j, r, op, &fact, n ? 1 : 0, p->path);
}

/* ---- changing ---- */

/* Files that affect the whole machine, or make it run programs outside. */
static const char *const machine[] = {
    "acpi",
    "bus",
    "driver",
    "fs",
    "irq",
    "mtrr",
    "scsi",
    "sysrq-trigger",
    "sys/fs/binfmt_misc",
    "sys/kernel/core_pattern",
    "sys/kernel/hotplug",
    "sys/kernel/modprobe",
    "sys/kernel/sysrq",
    "sys/kernel/poweroff_cmd",
    "sys/kernel/usermodehelper",
    "sys/kernel/core_pipe_limit",
    "sys/kernel/modules_disabled",
    "sys/kernel/ns_last_pid",
};

static bool rules_machine(const char *path)
{
    for (size_t i = 0; i < sizeof(machine) / sizeof(machine[0]); i++)
        if (starts_with(path + ROOT + 1, machine[i]))
            return true;
    return false;
}

int procfs_ask(struct judge *j, const struct request *r, const struct pinned *p, unsigned what)
{
    if (p->fd < 0 || p->st.st_dev != j->procfs.dev)
        return 0;
    bool below = strncmp(p->path, root, ROOT) == 0 && p->path[ROOT] == '/';
    if (below && (what & PROCFS_CHANGE) && rules_machine(p->path))
        return -EACCES;
    if (below && starts_with(p->path + ROOT + 1, "sys"))
        return what & PROCFS_LOOK ? 0 : ask_sysctl(j, r, p, what);
    if (!below)
        return what & PROCFS_READ ? ask_list(j, r, p) : 0;
    const char *rest;
    return process_of(p->path, &rest) ? ask_process(j, r, p, what) : 0;
}
