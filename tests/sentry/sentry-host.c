/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The sentries' server alone: runs a command in a mount namespace with sentries over some paths,
 * and no filter, wall or judge.
 *
 *     sentry-host DEVICE EVENTS PROFILE [PATH…] -- COMMAND…
 *
 * DEVICE is /dev/fuse or a node like it; events go to the file EVENTS, a JSON object a line. Exits
 * as the command does, or with 125 if it could not be started. For an ordinary user in a user
 * namespace.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/launch/walls.h"
#include "kernel/sentry/sentry.h"
#include "report/event.h"
#include "sbpl/sbpl.h"

enum { MAX_POINTS = 64, CANNOT = 125 };

struct setup {
    const char *device, *events, *profile;
    char **points;
    int npoints;
    char **command;
    int real[MAX_POINTS];
    int crowded; /* eventfd: the kernel remembers too much */
};

static void __attribute__((noreturn)) die(const char *what)
{
    fprintf(stderr, "sentry-host: %s: %s\n", what, strerror(errno));
    _exit(CANNOT);
}

static void check(bool fine, const char *what)
{
    if (!fine)
        die(what);
}

/* ---- passing file descriptors ---- */

static void send_fd(int to, int fd)
{
    char byte = 0, room[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec part = {&byte, 1};
    struct msghdr m = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &fd, sizeof(int));
    check(sendmsg(to, &m, 0) == 1, "passing a descriptor");
}

static int receive_fd(int from)
{
    int fd;
    char byte, room[CMSG_SPACE(sizeof(int))];
    struct iovec part = {&byte, 1};
    struct msghdr m = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
    if (recvmsg(from, &m, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&m))
        return -1;
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(int));
    return fd;
}

/* ---- the server ---- */

static void on_crowded(void *arg)
{
    eventfd_write(*(int *)arg, 1);
}

static void __attribute__((noreturn))
serve(const struct setup *p, const struct graph *g, int events, int from)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    prctl(PR_SET_NAME, "buckle-sentry", 0, 0, 0);
    int full = p->crowded;
    struct sentry_options opt = {.graph = g,
                                 .events = events,
                                 .proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC),
                                 .root = -1,
                                 .uid = getuid(),
                                 .gid = getgid(),
                                 .any_user = getuid() == 0,
                                 .crowded = on_crowded,
                                 .arg = &full};
    struct sentry *s = sentry_new(&opt);
    check(s != NULL, "preparing the server");
    for (int i = 0; i < p->npoints; i++)
        check(sentry_path_add(s, p->real[i]) == i, "adding a point");
    int dev = receive_fd(from);
    close(from);
    int err = dev < 0 ? 0 : sentry_serve(s, dev);
    if (err < 0)
        fprintf(stderr, "sentry-host: serving: %s\n", strerror(-err));
    sentry_free(s);
    close(opt.proc);
    exit(err < 0);
}

/* ---- the command ---- */

static void set(int context, const char *key, unsigned value)
{
    char text[16];
    snprintf(text, sizeof(text), "%u", value);
    check(syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, key, text, 0) == 0, key);
}

/* Makes the file system, without mounting it anywhere. */
static int make(const struct setup *p, uid_t uid, gid_t gid, int to)
{
    char byte;
    OWN(fd) int dev = open(p->device, O_RDWR | O_CLOEXEC);
    check(dev >= 0, p->device);
    OWN(fd) int context = (int)syscall(SYS_fsopen, SENTRY_MOUNT_TYPE, FSOPEN_CLOEXEC);
    check(context >= 0, "fsopen");
    set(context, "fd", (unsigned)dev);
    check(syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, "rootmode", "40000", 0) == 0,
          "rootmode");
    set(context, "user_id", uid);
    set(context, "group_id", gid);
    check(syscall(SYS_fsconfig, context, FSCONFIG_SET_FLAG, "allow_other", NULL, 0) == 0 &&
              syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0,
          "making the file system");
    int root =
        (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    check(root >= 0, "fsmount");
    send_fd(to, dev);
    /* the server sends nothing: it closes its end when it has the file descriptor */
    check(recv(to, &byte, 1, 0) == 0, "waiting for the server to take it");
    return root;
}

static int mount_all(const struct setup *p, int to)
{
    char name[16];
    uid_t uid = getuid();
    gid_t gid = getgid();
    check(unshare(CLONE_NEWNS | (uid ? CLONE_NEWUSER : 0)) == 0, "making namespaces");
    check(!uid || map_own_ids(uid, gid) == 0, "mapping ids");
    check(syscall(SYS_mount, NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) == 0,
          "making mounts private");
    if (!p->npoints)
        return -1;
    int root = make(p, uid, gid, to);
    for (int i = 0; i < p->npoints; i++) {
        snprintf(name, sizeof(name), "%d", i);
        OWN(fd)
        int tree = (int)syscall(SYS_open_tree, root, name, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
        check(tree >= 0, "open_tree");
        check(syscall(SYS_move_mount, tree, "", AT_FDCWD, p->points[i], MOVE_MOUNT_F_EMPTY_PATH) ==
                  0,
              p->points[i]);
    }
    return root;
}

static void __attribute__((noreturn)) run(const struct setup *p, int to)
{
    char cwd[4096];
    int status;
    eventfd_t times;
    check(getcwd(cwd, sizeof(cwd)) != NULL, "the working directory");
    int root = mount_all(p, to);
    check(unshare(CLONE_NEWPID) == 0, "making a pid namespace");
    check(chdir(cwd) == 0, cwd); /* by name, so that it meets a sentry */
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        execvp(p->command[0], p->command);
        die(p->command[0]);
    }
    check(pid > 0, "fork");
    struct pollfd wait = {p->crowded, POLLIN, 0};
    while (waitpid(pid, &status, WNOHANG) == 0)
        if (poll(&wait, 1, 5) > 0 && eventfd_read(p->crowded, &times) == 0)
            check(sentry_drop(root) == 0, "dropping what is not used");
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/* ---- the controller ---- */

static void hear(const struct graph *g, int from, FILE *to)
{
    static struct event e;
    static unsigned char wire[sizeof(struct event)];
    for (;;) {
        ssize_t n = recv(from, wire, sizeof(wire), MSG_DONTWAIT);
        if (n <= 0)
            return;
        OWN(buf) struct buf line = {0};
        check(event_from_wire(wire, (size_t)n, &e) == 0, "an event");
        event_json(&e, g, NULL, &line);
        fprintf(to, "%.*s\n", (int)line.n, line.s);
        fflush(to);
    }
}

static int attend(const struct graph *g, pid_t command, int events, FILE *to)
{
    int status;
    struct pollfd wait = {events, POLLIN, 0};
    while (waitpid(command, &status, WNOHANG) == 0) {
        poll(&wait, 1, 10);
        hear(g, events, to);
    }
    hear(g, events, to);
    return WIFEXITED(status) ? WEXITSTATUS(status) : CANNOT;
}

static bool read_words(int argc, char **argv, struct setup *p)
{
    if (argc < 6)
        return false;
    *p = (struct setup){.device = argv[1], .events = argv[2], .profile = argv[3]};
    p->points = argv + 4;
    while (4 + p->npoints < argc && strcmp(argv[4 + p->npoints], "--") != 0)
        p->npoints++;
    p->command = argv + 4 + p->npoints + 1;
    return 4 + p->npoints + 1 < argc && p->npoints <= MAX_POINTS;
}

int main(int argc, char **argv)
{
    struct setup p;
    struct bk_err err;
    struct graph *g = NULL;
    OWN(sbpl_unit) struct sbpl_unit unit;
    int events[2], control[2];
    if (!read_words(argc, argv, &p)) {
        fprintf(stderr, "usage: sentry-host DEVICE EVENTS PROFILE [POINT...] -- COMMAND...\n");
        return CANNOT;
    }
    sbpl_unit_init(&unit, &(struct sbpl_options){.os = VOCAB_OS_ANY});
    if (sbpl_add_file(&unit, p.profile, &err) < 0 || sbpl_compile(&unit, &g, &err) < 0) {
        fprintf(stderr, "sentry-host: %s: %s\n", p.profile, err.msg);
        return CANNOT;
    }
    for (int i = 0; i < p.npoints; i++) {
        p.real[i] = open(p.points[i], O_PATH | O_CLOEXEC);
        check(p.real[i] >= 0, p.points[i]);
    }
    p.crowded = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    OWN(file) FILE *to = fopen(p.events, "ae");
    check(to != NULL, p.events);
    check(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, events) == 0 &&
              socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) == 0,
          "socketpair");
    pid_t server = fork();
    if (server == 0) {
        close(control[1]);
        serve(&p, g, events[1], control[0]);
    }
    close(control[0]);
    pid_t command = server > 0 ? fork() : -1;
    if (command == 0)
        run(&p, control[1]);
    check(command > 0, "fork");
    close(control[1]);
    int status = attend(g, command, events[0], to);
    waitpid(server, NULL, 0); /* exits with the mount namespace */
    hear(g, events[0], to);
    graph_free(g);
    return status;
}
