/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The worker's life, in stages. Each says what it should do and must not do.
 *
 *   0  unconfined     Should make mounts, namespaces and the first process, and open what must be
 *                     opened before the walls stand. Must not look at anything the command
 * controls. 1  walled         Should enter the Landlock wall, so that whatever it does for the
 * command from here on is bounded. Must not keep a descriptor that leads around it. 2  the command
 * A child of stage 1, so its own layer lies inside the worker's: the worker can look into the
 * command, never the other way round. Should restore the caller's signals, drop what is left,
 * install the filter and exec. 3  judging        Should answer calls without capabilities. Must not
 * allocate per call, nor let the kernel go on with arguments that can still change.
 */

#include "kernel/stage.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/confine.h"
#include "kernel/kabi.h"
#include "kernel/worker.h"

struct inside {
    struct stage *s;
    int proc, null;   /* the host's /proc; /dev/null */
    int pids;         /* the pid namespace, or -1 */
    int walls, scope; /* Landlock rulesets, or -1 */
    pid_t init, command;
    int kept; /* the keeper's pipe, or -1 */
    int listener;
};

static void tell(const struct stage *s, enum status_kind kind, int stage, int value)
{
    struct status_msg m = {kind, stage, value};
    while (write(s->status, &m, sizeof(m)) < 0 && errno == EINTR)
        ;
}

static void __attribute__((noreturn)) fail(const struct stage *s, enum launch_stage stage, int err)
{
    tell(s, STATUS_FAILED, stage, err < 0 ? -err : err);
    _exit(1); /* init and with it everything else follows */
}

static void check(const struct stage *s, enum launch_stage stage, int err)
{
    if (err < 0)
        fail(s, stage, err);
}

/* ---- stage 0 ---- */

static void stage_unconfined(struct inside *in)
{
    struct stage *s = in->s;
    const struct plan *p = s->plan;
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != s->controller)
        _exit(1); /* it died before we were tied to it */
    prctl(PR_SET_NAME, "buckle-worker", 0, 0, 0);
    if (p->user_ns)
        check(s, STAGE_MAP_IDS, map_own_ids(s->uid, s->gid));
    if (p->mount_ns && mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
        fail(s, STAGE_PRIVATE_MOUNTS, errno);
    if (p->net_ns)
        check(s, STAGE_LOOPBACK, loopback_up());
    in->null = open("/dev/null", O_RDWR | O_CLOEXEC);
    check(s, STAGE_OPEN_PROC, in->null < 0 ? -errno : 0);
    in->proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    check(s, STAGE_OPEN_PROC, in->proc < 0 ? -errno : 0);
    if (p->pid_ns) {
        enum launch_stage stage;
        char name[32];
        int err = init_start(&in->init, &stage);
        check(s, stage, err);
        snprintf(name, sizeof(name), "%d/ns/pid", in->init);
        in->pids = openat(in->proc, name, O_RDONLY | O_CLOEXEC);
        check(s, STAGE_ENTER_PIDS, in->pids < 0 ? -errno : 0);
    }
    /* by name, so that what was mounted since lies in the way */
    check(s, STAGE_CWD, chdir(s->launch->cwd) < 0 ? -errno : 0);
}

/* ---- stage 1 ---- */

static void stage_walled(struct inside *in)
{
    struct stage *s = in->s;
    check(s, STAGE_LANDLOCK, landlock_walls(s->plan, in->proc, &in->walls));
    check(s, STAGE_LANDLOCK, landlock_scope(s->plan, &in->scope));
    check(s, STAGE_LANDLOCK, landlock_enter(in->walls));
}

/* ---- stage 2 ---- */

static int set_limits(const struct launch *l)
{
    struct rlimit r;
    if (l->max_memory) {
        r.rlim_cur = r.rlim_max = l->max_memory;
        if (setrlimit(RLIMIT_AS, &r) < 0)
            return -errno;
    }
    if (l->max_procs) {
        r.rlim_cur = r.rlim_max = l->max_procs;
        if (setrlimit(RLIMIT_NPROC, &r) < 0)
            return -errno;
    }
    return 0;
}

/* What the command's process tells the worker before it execs. */
struct hello {
    int32_t stage, value; /* failure: stage and errno; else STAGE_NONE and the listener's number */
};

static void __attribute__((noreturn)) command_fail(int to, enum launch_stage stage, int err)
{
    struct hello h = {stage, err < 0 ? -err : err};
    if (write(to, &h, sizeof(h)) < 0)
        _exit(126);
    _exit(127);
}

/* The worker's ends of pipes must not keep the others waiting for a worker that is gone. */
static void forget_worker(struct inside *in, int hello, int go)
{
    close(hello);
    close(go);
    close(in->s->status);
    close(in->s->events);
}

static void __attribute__((noreturn)) command_main(struct inside *in, int to, int go)
{
    struct stage *s = in->s;
    const struct launch *l = s->launch;
    const struct plan *p = s->plan;
    struct hello h = {STAGE_NONE, -1};
    char byte;
    int err, keep[64 + 2] = {to, go};
    size_t nkeep = 2;
    for (size_t i = 0; i < l->nkeep && nkeep < 66; i++)
        keep[nkeep++] = l->keep_fds[i];
    close_inherited(keep, nkeep);
    if ((err = set_limits(l)) < 0)
        command_fail(to, STAGE_LIMITS, err);
    /* a layer more than the worker has, so that the worker can look in here and not the reverse */
    if ((err = landlock_enter(in->scope >= 0 ? in->scope : in->walls)) < 0)
        command_fail(to, STAGE_LANDLOCK, err);
    if ((err = capabilities_drop(p->host.root)) < 0)
        command_fail(to, STAGE_CAPABILITIES, err);
    if ((err = filter_install(p, s->filter, s->nfilter, &h.value)) < 0)
        command_fail(to, STAGE_FILTER, err);
    if (write(to, &h, sizeof(h)) != sizeof(h) || read(go, &byte, 1) != 1)
        _exit(126);
    if (h.value >= 0)
        close(h.value);
    sigprocmask(SIG_SETMASK, &s->mask, NULL);
    execvpe(l->argv[0], l->argv, l->env);
    command_fail(to, STAGE_EXEC, errno);
}

/* Takes the listener out of the command's process, where the filter was installed. */
static int take_listener(pid_t pid, int number)
{
    OWN(fd) int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0)
        return -errno;
    int fd = (int)syscall(SYS_pidfd_getfd, pidfd, number, 0);
    return fd < 0 ? -errno : fd;
}

/* ---- the command's end ---- */

/* With a pid namespace the first process takes all others along. */
static void end_everything(const struct inside *in)
{
    if (in->init <= 0)
        return;
    kill(in->init, in->s->launch->wait_all ? SIGUSR1 : SIGKILL);
    while (waitpid(in->init, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* The command's next change of state, as waitpid() tells it. */
static int next_status(const struct inside *in, int *status)
{
    if (in->kept < 0) {
        while (waitpid(in->command, status, WUNTRACED) < 0)
            if (errno != EINTR)
                return -1;
        return 0;
    }
    struct kept k;
    if (read(in->kept, &k, sizeof(k)) != sizeof(k))
        return -1;
    *status = k.value;
    return 0;
}

static void *watch_command(void *arg)
{
    struct inside *in = arg;
    int status;
    while (next_status(in, &status) == 0) {
        if (WIFSTOPPED(status)) {
            tell(in->s, STATUS_STOPPED, 0, status);
            continue;
        }
        end_everything(in);
        tell(in->s, STATUS_EXITED, 0, status);
        break;
    }
    _exit(0);
}

/* ---- stage 3 ---- */

static struct worker the_worker; /* large, and there is one in a process */

static void stage_judging(struct inside *in)
{
    struct stage *s = in->s;
    pthread_t thread;
    check(s, STAGE_CAPABILITIES, capabilities_drop(s->plan->host.root));
    check(s, STAGE_OPEN_PROC, fchdir(in->proc) < 0 ? -errno : 0);
    for (int fd = 0; fd <= 2; fd++) /* the command's, which may close them */
        dup2(in->null, fd);
    if (in->listener >= 0) {
        if (s->plan->host.notify_sync)
            ioctl(in->listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, KABI_NOTIF_SYNC_WAKE_UP);
        if (worker_init(&the_worker, s->launch->graph, in->listener, s->events, in->proc,
                        in->pids >= 0) < 0)
            fail(s, STAGE_WORKER, ENOMEM);
    }
    if (pthread_create(&thread, NULL, watch_command, in) != 0)
        fail(s, STAGE_WORKER, EAGAIN);
}

/* Starts the command's process inside the pid namespace. Only children of a process that entered it
 * live there, and a process that did can start no threads any more: so a short-lived child enters
 * it and makes the command our child, not its own. */
static int start_in_namespace(struct inside *in, const int hello[2], const int go[2])
{
    volatile int failed = 0;
    volatile pid_t command = -1;
    pid_t helper = vfork();
    if (helper == 0) {
        if (setns(in->pids, CLONE_NEWPID) < 0)
            failed = errno;
        else
            command = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
        if (command == 0) {
            forget_worker(in, hello[0], go[1]);
            command_main(in, hello[1], go[0]);
        }
        _exit(0);
    }
    if (helper > 0)
        waitpid(helper, NULL, 0);
    in->command = command;
    check(in->s, STAGE_ENTER_PIDS, -failed);
    return command < 0 ? -EAGAIN : 0;
}

/* Without a pid namespace: through the keeper. */
static int start_kept(struct inside *in, const int hello[2], const int go[2])
{
    int ends[2];
    struct kept k;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    pid_t worker = getpid(), keeper = fork();
    if (keeper == 0) {
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        prctl(PR_SET_PDEATHSIG, KEEPER_ORPHANED, 0, 0, 0);
        pid_t command = getppid() == worker ? fork() : -1;
        if (command == 0) {
            forget_worker(in, hello[0], go[1]);
            command_main(in, hello[1], go[0]);
        }
        close(hello[1]);
        forget_worker(in, hello[0], go[1]);
        k = (struct kept){KEPT_COMMAND, command};
        if (command < 0 || write(ends[1], &k, sizeof(k)) != sizeof(k))
            _exit(1);
        keeper_main(command, in->proc, in->s->launch->wait_all, ends[1]);
    }
    close(ends[1]);
    in->kept = ends[0];
    if (keeper < 0 || read(in->kept, &k, sizeof(k)) != sizeof(k))
        return -EAGAIN;
    in->command = k.value;
    return 0;
}

static int start_command(struct inside *in, const int hello[2], const int go[2])
{
    return in->pids >= 0 ? start_in_namespace(in, hello, go) : start_kept(in, hello, go);
}

void worker_main(struct stage *s)
{
    struct inside in = {.s = s,
                        .proc = -1,
                        .null = -1,
                        .pids = -1,
                        .walls = -1,
                        .scope = -1,
                        .kept = -1,
                        .listener = -1};
    int hello[2], go[2];
    stage_unconfined(&in);
    stage_walled(&in);
    if (pipe2(hello, O_CLOEXEC) < 0 || pipe2(go, O_CLOEXEC) < 0)
        fail(s, STAGE_FORK, errno);
    check(s, STAGE_FORK, start_command(&in, hello, go));
    close(hello[1]);
    close(go[0]);
    struct hello h;
    if (read(hello[0], &h, sizeof(h)) != sizeof(h))
        fail(s, STAGE_FORK, EIO);
    if (h.stage != STAGE_NONE)
        fail(s, (enum launch_stage)h.stage, h.value);
    if (h.value >= 0) {
        in.listener = take_listener(in.command, h.value);
        check(s, STAGE_LISTENER, in.listener);
    }
    stage_judging(&in);
    tell(s, STATUS_STARTED, 0, in.command);
    if (write(go[1], "", 1) != 1)
        fail(s, STAGE_FORK, errno);
    if (read(hello[0], &h, sizeof(h)) == sizeof(h))
        tell(s, STATUS_FAILED, h.stage, h.value); /* the watcher tells of its end */
    close(hello[0]);
    if (in.listener >= 0)
        worker_loop(&the_worker);
    for (;;)
        pause();
}
