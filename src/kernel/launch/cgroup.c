/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Looks upwards from the caller's own cgroup for one that is writable and delegates the needed
 * controllers, and makes a child there. */

#include "kernel/launch/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/own.h"

enum { CGROUP2_MAGIC = 0x63677270 };

static bool read_file(int dir, const char *name, char *out, size_t cap)
{
    OWN(fd) int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, out, cap - 1);
    if (n < 0)
        return false;
    out[n] = '\0';
    return true;
}

static bool write_file(int dir, const char *name, const char *text)
{
    OWN(fd) int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);
    size_t n = strlen(text);
    return fd >= 0 && write(fd, text, n) == (ssize_t)n;
}

/* Whether the list of words contains this one. */
static bool has_word(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = list; (p = strstr(p, word)); p += n)
        if ((p == list || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\n' || p[n] == '\0'))
            return true;
    return false;
}

static bool hands_on(int dir, bool memory, bool procs)
{
    char list[512];
    return read_file(dir, "cgroup.subtree_control", list, sizeof(list)) &&
           (!memory || has_word(list, "memory")) && (!procs || has_word(list, "pids"));
}

static bool set_limits(int dir, uint64_t memory, uint32_t procs)
{
    char text[32];
    snprintf(text, sizeof(text), "%" PRIu64, memory);
    if (memory && !write_file(dir, "memory.max", text))
        return false;
    if (memory)
        write_file(dir, "memory.swap.max", "0"); /* absent where there is no swap accounting */
    snprintf(text, sizeof(text), "%u", procs);
    return !procs || write_file(dir, "pids.max", text);
}

/* Makes a child of this cgroup and sets its limits. */
static bool make_child(struct cgroup *c, const char *group, uint64_t memory, uint32_t procs)
{
    OWN(fd) int dir = open(group, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0 || !hands_on(dir, memory != 0, procs != 0))
        return false;
    int n = snprintf(c->path, sizeof(c->path), "%s/buckle-%d", group, getpid());
    if (n < 0 || (size_t)n >= sizeof(c->path) || mkdir(c->path, 0755) < 0)
        return false;
    c->fd = open(c->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (c->fd >= 0 && set_limits(c->fd, memory, procs))
        return true;
    cgroup_remove(c);
    return false;
}

bool cgroup_make_at(struct cgroup *c, const char *root, const char *own, uint64_t memory,
                    uint32_t procs)
{
    char group[900];
    *c = (struct cgroup){.fd = -1};
    int n = snprintf(group, sizeof(group), "%s%s", root, own);
    if (n < 0 || (size_t)n >= sizeof(group))
        return false;
    for (size_t base = strlen(root); strlen(group) > base;) {
        if (make_child(c, group, memory, procs))
            return true;
        char *slash = strrchr(group, '/');
        if (!slash)
            break;
        *slash = '\0';
    }
    return false;
}

bool cgroup_make(struct cgroup *c, uint64_t memory, uint32_t procs)
{
    static const char root[] = "/sys/fs/cgroup";
    struct statfs fs;
    char list[2048];
    *c = (struct cgroup){.fd = -1};
    if (statfs(root, &fs) < 0 || (unsigned long)fs.f_type != CGROUP2_MAGIC ||
        !read_file(AT_FDCWD, "/proc/self/cgroup", list, sizeof(list)))
        return false;
    char *own = strncmp(list, "0::", 3) == 0 ? list : strstr(list, "\n0::");
    if (!own)
        return false;
    own = strchr(own, '/');
    if (!own)
        return false;
    own[strcspn(own, "\n")] = '\0';
    return cgroup_make_at(c, root, own, memory, procs);
}

void cgroup_remove(struct cgroup *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    /* the last process may need a moment to leave */
    for (int i = 0; c->path[0] && i < 50 && rmdir(c->path) < 0 && errno == EBUSY; i++)
        usleep(2000);
    c->path[0] = '\0';
}
