/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The walls: Landlock, capabilities, the filter, and the small things around them. */

#include "kernel/launch/walls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/host/kabi.h"
#include "kernel/host/own-capabilities.h"
#include "command/capabilities.h"
#include "kernel/launch/layers.h"

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

/* ---- Landlock ---- */

/* What the walls need: the ruleset, and the guarded paths. */
struct building {
    int ruleset;
    const struct guarded_paths *guarded;
};

/* The policy names canonical paths. A path through a symlink never matches anything, and following
 * it would open something else. */
static int open_plain(const struct building *b, const char *path)
{
    if (b->guarded && guarded_paths_covers(b->guarded, path, strlen(path)))
        return guarded_paths_open(b->guarded, path, strlen(path));
    struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                           .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
    return fd < 0 ? -errno : fd;
}

/* Replaces a path by its parent. Returns false if there is none. */
static bool step_up(char *path)
{
    size_t n = strlen(path);
    if (n <= 1)
        return false;
    while (n > 1 && path[n - 1] != '/')
        n--;
    while (n > 1 && path[n - 1] == '/')
        n--;
    path[n] = '\0';
    return true;
}

/* The nearest existing ancestor. */
static int open_above(const struct building *b, const char *path)
{
    char copy[4096];
    int fd = -ENOENT;
    if (strlen(path) >= sizeof(copy))
        return -ENAMETOOLONG;
    memcpy(copy, path, strlen(path) + 1);
    while (fd == -ENOENT || fd == -ENOTDIR) {
        if (!step_up(copy))
            return fd;
        fd = open_plain(b, copy);
    }
    return fd;
}

static int add_rule(int ruleset, int fd, uint64_t rights)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISDIR(st.st_mode))
        rights &= KABI_LL_FILE_RIGHTS;
    struct kabi_ll_path_beneath rule = {.allowed = rights, .parent_fd = fd};
    if (rights == 0)
        return 0;
    return syscall(SYS_landlock_add_rule, ruleset, KABI_LL_RULE_PATH_BENEATH, &rule, 0) < 0 ? -errno
                                                                                            : 0;
}

enum {
    MAKES = KABI_LL_MAKE_CHAR | KABI_LL_MAKE_DIR | KABI_LL_MAKE_REG | KABI_LL_MAKE_SOCK |
            KABI_LL_MAKE_FIFO | KABI_LL_MAKE_BLOCK | KABI_LL_MAKE_SYM,
    REPLACES = KABI_LL_MAKE_REG | KABI_LL_REMOVE_FILE | KABI_LL_WRITE_FILE | KABI_LL_TRUNCATE |
               KABI_LL_REFER,
};

/* Rights on names belong to the folder: a file that may be removed, replaced or created again needs
 * them there, and the judge narrows that down to the one name. */
static int add_folder_of(const struct building *b, const char *path, uint64_t rights)
{
    OWN(fd) int fd = open_above(b, path);
    return fd < 0 ? 0 : add_rule(b->ruleset, fd, rights);
}

static int add_wall(const struct building *b, const char *path, uint64_t rights)
{
    struct stat st;
    OWN(fd) int fd = open_plain(b, path);
    if (fd == -ENOENT || fd == -ENOTDIR)
        return rights & MAKES ? add_folder_of(b, path, rights) : 0;
    if (fd < 0)
        return 0; /* unreachable for us, or a link: nothing to grant */
    int err = add_rule(b->ruleset, fd, rights);
    if (err == 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        (rights & (MAKES | KABI_LL_REMOVE_FILE)))
        err = add_folder_of(b, path, rights & REPLACES);
    return err;
}

/* Finds the loader as the kernel does, through links. */
static int add_loader(int ruleset, const char *path)
{
    OWN(fd) int fd = open(path, O_PATH | O_CLOEXEC);
    return fd < 0 ? 0 : add_rule(ruleset, fd, KABI_LL_EXECUTE);
}

static int add_walls(const struct building *b, const struct plan *p)
{
    int err = 0;
    for (size_t i = 0; err == 0 && i < p->nwalls; i++)
        err = p->walls[i].loader
                  ? add_loader(b->ruleset, p->walls[i].path)
                  : add_wall(b, p->walls[i].path, p->walls[i].rights & p->handled_fs);
    return err;
}

/* The judge uses the host's /proc, where the policy means the sandbox's own. */
static uint64_t proc_rights(const struct plan *p)
{
    uint64_t rights = KABI_LL_READ_FILE | KABI_LL_READ_DIR;
    for (size_t i = 0; i < p->nwalls; i++)
        if (strcmp(p->walls[i].path, "/proc") == 0 || strcmp(p->walls[i].path, "/") == 0)
            rights |= p->walls[i].rights & KABI_LL_FILE_RIGHTS;
    /* the judge writes answers into the target's memory; the target itself has another /proc */
    if (p->pid_ns && p->judge)
        rights |= KABI_LL_WRITE_FILE;
    return rights & p->handled_fs;
}

static int create_ruleset(const struct plan *p, struct kabi_ll_ruleset attr)
{
    size_t size = p->host.landlock >= 6 ? sizeof(attr) : p->host.landlock >= 4 ? 16 : 8;
    int fd = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
    return fd < 0 ? -errno : fd;
}

/* Only where a layer is mounted: without it the folder is the real one. */
static int add_layers(const struct building *b, const struct plan *p, const struct layers *l)
{
    int err = 0;
    for (size_t i = 0; l && err == 0 && i < l->n; i++)
        if (!l->at[i].plan->shown)
            err = add_wall(b, l->at[i].plan->path, p->layer_rights & p->handled_fs);
    return err;
}

/* Opening /dev/stdout again, where the output is a file that the walls do not open. The command
 * holds a descriptor for writing anywhere in it. */
static int add_output(const struct building *b)
{
    int err = 0;
    for (int fd = 0; fd <= 2 && err == 0; fd++) {
        struct stat st;
        int flags = fcntl(fd, F_GETFL);
        if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY && !(flags & O_APPEND) &&
            fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
            err = add_rule(b->ruleset, fd, KABI_LL_WRITE_FILE);
    }
    return err;
}

int landlock_walls(const struct plan *p, const struct guarded_paths *b, const struct layers *l,
                   int proc, int *fd)
{
    *fd = -1;
    if (p->handled_fs == 0)
        return 0;
    OWN(fd) int ruleset = create_ruleset(p, (struct kabi_ll_ruleset){.handled_fs = p->handled_fs});
    if (ruleset < 0)
        return ruleset;
    const struct building building = {ruleset, b};
    int err = add_walls(&building, p);
    if (err == 0)
        err = add_layers(&building, p, l);
    if (err == 0 && p->unjudged)
        err = add_output(&building);
    if (err == 0 && proc >= 0)
        err = add_rule(ruleset, proc, proc_rights(p));
    if (err < 0)
        return err;
    *fd = steal_fd(&ruleset);
    return 0;
}

int landlock_scope(const struct plan *p, int *fd)
{
    *fd = -1;
    if (p->scoped == 0 && p->handled_net == 0)
        return 0;
    int ruleset = create_ruleset(
        p, (struct kabi_ll_ruleset){.handled_net = p->handled_net, .scoped = p->scoped});
    if (ruleset < 0)
        return ruleset;
    *fd = ruleset;
    return 0;
}

int landlock_enter(int fd)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -errno;
    if (fd < 0)
        return 0;
    return syscall(SYS_landlock_restrict_self, fd, 0) < 0 ? -errno : 0;
}

/* ---- objects shared between processes ---- */

int private_shared_memory(const char *cwd)
{
    if (strncmp(cwd, "/dev/shm", 8) == 0 ||
        mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") == 0)
        return 0;
    return errno == ENOENT ? 0 : -errno;
}

int private_queues(void)
{
    if (mount("mqueue", "/dev/mqueue", "mqueue", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0)
        return 0;
    return errno == ENOENT || errno == ENODEV ? 0 : -errno;
}

/* ---- capabilities ---- */

void capabilities_bound(uint64_t keep)
{
    /* without CAP_SETPCAP (EPERM) the set has nothing that could be gained */
    for (int cap = 0; cap < 64; cap++)
        if (!(keep >> cap & 1) && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
            break;
}

int capabilities_drop(uint64_t keep)
{
    return capabilities_rest(keep, 0);
}

int capabilities_rest(uint64_t keep, uint64_t idle)
{
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    if (syscall(SYS_capget, &head, data) < 0)
        return -errno;
    for (int i = 0; i < 2; i++) {
        data[i].effective &= (uint32_t)(keep >> (32 * i));
        data[i].permitted &= (uint32_t)((keep | idle) >> (32 * i));
        data[i].inheritable = 0;
    }
    return syscall(SYS_capset, &head, data) < 0 ? -errno : 0;
}

/* ---- core dumps ---- */

/* The kernel writes the memory of a crashing process into a file, unless the limit is too small for
 * one, or hands it to a program outside, unless the limit is 1. Where the hard limit is 0, an
 * ordinary user cannot raise it: then there are no files. */
int limit_core(const struct plan *p)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_CORE, &r) < 0)
        return -errno;
    bool none = r.rlim_max == 0;
    r.rlim_cur = r.rlim_max = p->opt.core_dumps ? r.rlim_max : 1;
    return setrlimit(RLIMIT_CORE, &r) < 0 && !none ? -errno : 0;
}

/* ---- the filter ---- */

int filter_install(const struct plan *p, const struct sock_filter *prog, size_t n, int *listener)
{
    struct sock_fprog program = {.len = (unsigned short)n, .filter = (struct sock_filter *)prog};
    unsigned long flags = 0;
    if (p->judge)
        flags = SECCOMP_FILTER_FLAG_NEW_LISTENER |
                (p->host.notify_killable ? SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV : 0);
    long got = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
    if (got < 0)
        return -errno;
    *listener = p->judge ? (int)got : -1;
    return 0;
}

/* ---- namespaces ---- */

static int write_text(const char *path, const char *text)
{
    OWN(fd) int fd = open(path, O_WRONLY | O_CLOEXEC);
    size_t n = strlen(text);
    if (fd < 0)
        return -errno;
    return write(fd, text, n) == (ssize_t)n ? 0 : -errno;
}

int map_own_ids(uid_t uid, gid_t gid)
{
    char text[64];
    int err = write_text("/proc/self/setgroups", "deny");
    if (err < 0 && err != -ENOENT)
        return err;
    snprintf(text, sizeof(text), "%u %u 1\n", uid, uid);
    if ((err = write_text("/proc/self/uid_map", text)) < 0)
        return err;
    snprintf(text, sizeof(text), "%u %u 1\n", gid, gid);
    return write_text("/proc/self/gid_map", text);
}

/* The map of this process's own namespace, with every id mapped to itself: "in out count" per line.
 */
static int same_map(const char *own, char *text, size_t size)
{
    OWN(file) FILE *f = fopen(own, "re");
    unsigned first, outside, count;
    size_t n = 0;
    text[0] = '\0';
    while (f && n < size && fscanf(f, "%u %u %u", &first, &outside, &count) == 3)
        n += (size_t)snprintf(text + n, size - n, "%u %u %u\n", first, first, count);
    return n > 0 && n < size ? 0 : -EPERM;
}

static int map_of(pid_t pid, const char *which)
{
    char path[64], text[2048];
    snprintf(path, sizeof(path), "/proc/self/%s", which);
    int err = same_map(path, text, sizeof(text));
    if (err < 0)
        return err;
    snprintf(path, sizeof(path), "/proc/%d/%s", pid, which);
    return write_text(path, text);
}

int id_maps_open(struct id_maps *m, bool user_ns)
{
    const uint64_t needed = UINT64_C(1) << CAP_SETUID | UINT64_C(1) << CAP_SETGID;
    m->wait[0] = m->wait[1] = -1;
    if (!user_ns || (caps_permitted() & needed) != needed)
        return 0;
    return pipe2(m->wait, O_CLOEXEC) < 0 ? -errno : 0;
}

static void close_maps(struct id_maps *m)
{
    for (int i = 0; i < 2; i++)
        if (m->wait[i] >= 0)
            close(steal_fd(&m->wait[i]));
}

int id_maps_give(struct id_maps *m, pid_t pid)
{
    int err = 0;
    if (m->wait[1] >= 0 && pid > 0) {
        err = map_of(pid, "uid_map");
        if (err == 0)
            err = map_of(pid, "gid_map");
        if (err == 0 && write(m->wait[1], "", 1) != 1)
            err = -errno;
    }
    close_maps(m); /* a process that still waits learns that it gets none */
    return err;
}

int id_maps_take(struct id_maps *m, uid_t uid, gid_t gid)
{
    char byte;
    ssize_t n;
    if (m->wait[0] < 0)
        return map_own_ids(uid, gid);
    close(steal_fd(&m->wait[1]));
    while ((n = read(m->wait[0], &byte, 1)) < 0 && errno == EINTR)
        ;
    close_maps(m);
    return n == 1 ? 0 : -EPERM;
}

int loopback_up(void)
{
    OWN(fd) int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq req = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    if (sock < 0 || ioctl(sock, SIOCSIFFLAGS, &req) < 0)
        return -errno;
    return 0;
}

/* ---- file descriptors ---- */

/* Files, pipes, terminals and /dev/null only transfer bytes. Everything else (folders, sockets,
 * devices, and nameless objects: rings, process handles) could lead elsewhere. */
static bool leads_around(int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return false;
    if (S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode))
        return false;
    return !S_ISCHR(st.st_mode) || (!isatty(fd) && st.st_rdev != makedev(1, 3));
}

static bool is_kept(int fd, const int *keep, size_t nkeep)
{
    for (size_t i = 0; i < nkeep; i++)
        if (keep[i] == fd)
            return true;
    return false;
}

/* Whether a command must not inherit this file descriptor. */
static bool is_unwanted(int fd, const int *keep, size_t nkeep)
{
    int flags = is_kept(fd, keep, nkeep) ? -1 : fcntl(fd, F_GETFD);
    if (flags < 0)
        return false;
    struct stat st;
    bool folder = fd <= 2 && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
    return folder || (fd > 2 && !(flags & FD_CLOEXEC) && leads_around(fd));
}

/* A directory entry as the kernel returns it. */
struct entry {
    uint64_t inode;
    int64_t offset;
    uint16_t bytes;
    uint8_t type;
    char name[];
};

/* Lists them by trying the usual numbers: first in one call, which leaves out O_PATH descriptors,
 * then one by one until as many are found as are open. /proc has that number (Linux 6.2). Returns
 * false if not all are found. */
static bool try_descriptors(int *out, size_t *n)
{
    enum { USUAL = 256 };
    struct pollfd fds[USUAL];
    struct stat st;
    for (int i = 0; i < USUAL; i++)
        fds[i] = (struct pollfd){.fd = i};
    *n = 0;
    if (stat("/proc/self/fd", &st) < 0 || poll(fds, USUAL, 0) < 0)
        return false;
    off_t missing = st.st_size;
    for (int i = 0; i < USUAL; i++)
        missing -= !(fds[i].revents & POLLNVAL);
    for (int i = 0; i < USUAL; i++) {
        bool there = !(fds[i].revents & POLLNVAL), named = false;
        if (!there && missing > 0)
            named = fcntl(i, F_GETFD) >= 0;
        missing -= named;
        if (there || named)
            out[(*n)++] = i;
    }
    return missing == 0;
}

/* Without readdir(), which would allocate. Collects the numbers before closing anything. */
static int list_descriptors(int *out, size_t cap, size_t *n)
{
    union {
        struct entry first;
        char bytes[4096];
    } block;
    OWN(fd) int list = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (list < 0)
        return -errno;
    for (*n = 0;;) {
        long got = syscall(SYS_getdents64, list, block.bytes, sizeof(block.bytes));
        if (got <= 0)
            return (int)got;
        for (long at = 0; at < got;) {
            const struct entry *e = (const void *)(block.bytes + at);
            at += e->bytes;
            if (e->name[0] == '.')
                continue;
            if (*n == cap)
                return -E2BIG;
            out[(*n)++] = atoi(e->name);
        }
    }
}

void inherited_list(struct inherited *in, const int *keep, size_t nkeep)
{
    int open_now[INHERITED_MAX];
    size_t n = 0;
    *in = (struct inherited){.keep = keep, .nkeep = nkeep};
    if (!try_descriptors(open_now, &n) && list_descriptors(open_now, INHERITED_MAX, &n) < 0) {
        in->unknown = true;
        return;
    }
    for (size_t i = 0; i < n; i++)
        if (is_unwanted(open_now[i], keep, nkeep))
            in->fds[in->n++] = open_now[i];
}

void inherited_close(const struct inherited *in)
{
    for (size_t i = 0; i < in->n; i++)
        close(in->fds[i]);
    /* too many to inspect, or no /proc: close everything that was not asked for */
    for (int fd = 3; in->unknown && fd < (int)sysconf(_SC_OPEN_MAX); fd++)
        if (!is_kept(fd, in->keep, in->nkeep))
            close(fd);
    if (in->unknown) /* limits may have been lowered since they were opened */
        syscall(SYS_close_range, (unsigned)sysconf(_SC_OPEN_MAX), ~0U, 0);
}
