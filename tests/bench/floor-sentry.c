/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Only the kernel's work for sentries: one FUSE file system, bound to each path, and answers to the
 * requests that binding causes. The server is a process that ends with init.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "floor.h"
#include "kernel/host/kabi.h"

static char **points;
static size_t npoints;

void mount_sentries(char **paths, size_t n)
{
    points = paths;
    npoints = n;
}

/* ---- the server ---- */

static size_t answer_init(void *to)
{
    struct fuse_init_out out = {
        .major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION, .max_write = 4096};
    memcpy(to, &out, sizeof(out));
    return sizeof(out);
}

/* Names are "d0", "d1"… for folders, "f0"… for files. */
static size_t answer_lookup(void *to, const char *name)
{
    unsigned number = (unsigned)strtoul(name + 1, NULL, 10);
    struct fuse_entry_out out = {.nodeid = number + 2,
                                 .entry_valid = 3600,
                                 .attr_valid = 3600,
                                 .attr = {.ino = number + 2,
                                          .mode = name[0] == 'd' ? S_IFDIR | 0500 : S_IFREG | 0400,
                                          .nlink = 1}};
    memcpy(to, &out, sizeof(out));
    return sizeof(out);
}

static void __attribute__((noreturn)) serve(int device)
{
    static union {
        struct fuse_in_header head;
        char room[FUSE_MIN_READ_BUFFER + 4096];
    } ask;
    static struct {
        struct fuse_out_header head;
        char body[256];
    } reply;
    for (;;) {
        ssize_t n = read(device, &ask, sizeof(ask));
        if (n < 0 && errno != EINTR && errno != ENOENT)
            _exit(0);
        if (n <= 0 || ask.head.opcode == FUSE_FORGET || ask.head.opcode == FUSE_BATCH_FORGET)
            continue;
        size_t len = 0;
        reply.head = (struct fuse_out_header){.unique = ask.head.unique};
        if (ask.head.opcode == FUSE_INIT)
            len = answer_init(reply.body);
        else if (ask.head.opcode == FUSE_LOOKUP)
            len = answer_lookup(reply.body, (const char *)(&ask.head + 1));
        else
            reply.head.error = -EPERM;
        reply.head.len = (__u32)(sizeof(reply.head) + len);
        if (write(device, &reply, reply.head.len) < 0 && errno != ENOENT)
            _exit(1);
    }
}

/* ---- mounting ---- */

static void set(int fs, unsigned how, const char *key, const char *value)
{
    if (syscall(SYS_fsconfig, fs, how, key, value, 0) < 0)
        give_up("fsconfig");
}

static int make_file_system(int device)
{
    char number[16], id[16];
    int fs = (int)syscall(SYS_fsopen, "fuse", KABI_FSOPEN_CLOEXEC);
    if (fs < 0)
        give_up("fsopen");
    snprintf(number, sizeof(number), "%d", device);
    snprintf(id, sizeof(id), "%u", geteuid());
    set(fs, KABI_FSCONFIG_STRING, "fd", number);
    set(fs, KABI_FSCONFIG_STRING, "rootmode", "40000");
    set(fs, KABI_FSCONFIG_STRING, "user_id", id);
    set(fs, KABI_FSCONFIG_STRING, "group_id", id);
    set(fs, KABI_FSCONFIG_CREATE, NULL, NULL);
    int tree = (int)syscall(SYS_fsmount, fs, KABI_FSMOUNT_CLOEXEC, 0);
    if (tree < 0)
        give_up("fsmount");
    return tree;
}

void sentry_points(void)
{
    struct stat st;
    if (npoints == 0)
        return;
    int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (device < 0)
        give_up("/dev/fuse");
    int fs = make_file_system(device);
    pid_t server = fork();
    if (server == 0)
        serve(device);
    close(device); /* when the server is killed, nothing waits for it */
    for (size_t i = 0; i < npoints; i++) {
        char name[32];
        int on = open(points[i], O_PATH | O_CLOEXEC);
        if (on < 0 || fstat(on, &st) < 0)
            give_up(points[i]);
        snprintf(name, sizeof(name), "%c%zu", S_ISDIR(st.st_mode) ? 'd' : 'f', i);
        int tree = (int)syscall(SYS_open_tree, fs, name, KABI_OPEN_TREE_CLONE | O_CLOEXEC);
        if (tree < 0 || syscall(SYS_move_mount, tree, "", on, "", KABI_MOVE_MOUNT_EMPTY) < 0)
            give_up(points[i]);
        close(tree);
        close(on);
    }
}
