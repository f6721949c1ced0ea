/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Namespaces, and what works inside them. Creating one is not enough: Ubuntu's AppArmor lets any
 * process create a user namespace and then removes every capability in it. So each probe uses what
 * it made.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/host/host-probe.h"
#include "kernel/launch/device-wall.h"
#include "kernel/launch/walls.h"
#include "net/netns-setup.h"

enum { ANSWER_MS = 1000 };

static bool enter_user(void)
{
    uid_t uid = geteuid();
    gid_t gid = getegid();
    return unshare(CLONE_NEWUSER) == 0 && map_own_ids(uid, gid) == 0 && geteuid() == uid &&
           getegid() == gid;
}

static bool enter(const struct host *h, int namespaces)
{
    return (host_may_administer(h) || enter_user()) && unshare(namespaces) == 0;
}

static bool mounts_are_private(void)
{
    return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

unsigned probe_user(const struct host *h)
{
    (void)h;
    return enter_user() && unshare(CLONE_NEWUTS) == 0 && sethostname("buckle", 6) == 0;
}

unsigned probe_mount(const struct host *h)
{
    return enter(h, CLONE_NEWNS) && mounts_are_private() &&
           mount("none", "/proc", "tmpfs", MS_NOSUID | MS_NODEV, NULL) == 0;
}

unsigned probe_nodev(const struct host *h)
{
    return enter(h, CLONE_NEWNS) && mounts_are_private() && devices_close() == 0 &&
           open("/dev/null", O_RDONLY | O_CLOEXEC) < 0;
}

/* Makes an object and checks that it is the only one. */
unsigned probe_ipc(const struct host *h)
{
    struct shm_info info;
    if (!enter(h, CLONE_NEWIPC))
        return 0;
    int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
    bool alone =
        id >= 0 && shmctl(0, SHM_INFO, (struct shmid_ds *)(void *)&info) >= 0 && info.used_ids == 1;
    return alone && shmctl(id, IPC_RMID, NULL) == 0;
}

unsigned probe_uts(const struct host *h)
{
    return enter(h, CLONE_NEWUTS) && sethostname("buckle", 6) == 0;
}

/* ---- processes ---- */

/* Runs as PID 1 of a pid namespace. The answer is its exit status. */
static int try_proc(void)
{
    char self[16] = {0};
    if (getpid() != 1)
        return 0;
    if (!mounts_are_private() ||
        mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
        return PROBE_PIDS;
    bool fresh = readlink("/proc/self", self, sizeof(self) - 1) == 1 && self[0] == '1';
    return PROBE_PIDS | (fresh ? PROBE_PROC : 0);
}

unsigned probe_pid(const struct host *h)
{
    int status;
    if (!enter(h, CLONE_NEWPID | CLONE_NEWNS))
        return 0;
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(try_proc());
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return 0;
    return (unsigned)WEXITSTATUS(status);
}

/* ---- the network ---- */

/* Sends a datagram to itself over the loopback interface. */
static bool loopback_answers(void)
{
    struct sockaddr_in me = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(me);
    char byte = 'x';
    OWN(fd) int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct pollfd p = {.fd = sock, .events = POLLIN};
    return sock >= 0 && bind(sock, (struct sockaddr *)&me, n) == 0 &&
           getsockname(sock, (struct sockaddr *)&me, &n) == 0 &&
           sendto(sock, &byte, 1, 0, (struct sockaddr *)&me, n) == 1 &&
           poll(&p, 1, ANSWER_MS) == 1 && recv(sock, &byte, 1, MSG_DONTWAIT) == 1;
}

unsigned probe_net(const struct host *h)
{
    return enter(h, CLONE_NEWNET) && loopback_up() == 0 && loopback_answers();
}

/* Sets up a whole network. The socket exists only if the kernel took the rules for it. */
static unsigned can_set_up(const struct host *h, enum netns_socket which)
{
    struct netns_sockets net;
    if (!enter(h, CLONE_NEWNET) || loopback_up() < 0 ||
        netns_network(&(struct netns_wishes){0}, &net) < 0)
        return 0;
    bool works = net.fds[which] >= 0;
    netns_close(&net);
    return works;
}

unsigned probe_nftables(const struct host *h)
{
    return can_set_up(h, NETNS_TCP4);
}

unsigned probe_tproxy(const struct host *h)
{
    return can_set_up(h, NETNS_UDP4);
}

/* ---- FUSE ---- */

static bool answer_init(int fd, uint64_t request)
{
    struct {
        struct fuse_out_header head;
        struct fuse_init_out body;
    } answer = {.head = {.len = sizeof(answer), .unique = request},
                .body = {.major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION}};
    return write(fd, &answer, sizeof(answer)) == (ssize_t)sizeof(answer);
}

/* Mounts, and answers the first request of the new file system. */
unsigned probe_fuse(const struct host *h)
{
    char options[128];
    union {
        struct fuse_in_header head;
        char room[FUSE_MIN_READ_BUFFER];
    } request;
    uid_t uid = geteuid();
    gid_t gid = getegid();
    if (!enter(h, CLONE_NEWNS) || !mounts_are_private())
        return 0;
    OWN(fd) int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=%u,group_id=%u", fd, uid, gid);
    if (fd < 0 || mount("buckle", "/proc", "fuse", MS_NOSUID | MS_NODEV, options) < 0)
        return 0;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, ANSWER_MS) == 1 &&
           read(fd, &request, sizeof(request)) >= (ssize_t)sizeof(request.head) &&
           request.head.opcode == FUSE_INIT && answer_init(fd, request.head.unique);
}
