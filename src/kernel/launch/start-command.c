/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * From the judge to the command: the last layer, the filter, exec. The new process borrows the
 * judge's memory until it execs, which saves copying it, and its file descriptors until the filter
 * is installed, which is how the judge gets the listener. The judge sleeps meanwhile. So once the
 * filter is installed nothing here may make a judged call: nobody would answer.
 *
 * Only children of a process that entered a pid namespace are in it, and such a process can start
 * no threads any more. Hence a short-lived go-between, which makes the command our child and not
 * its own.
 */

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/host/kabi.h"
#include "kernel/launch/held.h"
#include "kernel/launch/walls.h"
#include "kernel/shared/processor.h"
#include "kernel/shared/setup.h"

enum { STACK_BYTES = 64 << 10 };

/* One launch at a time in a process; both stacks are idle once the command has execed. */
static struct {
    volatile pid_t pid;
    volatile int listener, step, err;
    bool stays; /* both start on the judge's processor, and leave it at will */
    cpu_set_t processors;
    bool kept; /* nobody preempts the command when it executes */
    _Alignas(16) char stack[STACK_BYTES], between[STACK_BYTES];
} start;

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

static void fail_if(enum launch_step step, int err)
{
    if (err >= 0)
        return;
    start.step = (int)step;
    start.err = -err;
    syscall(SYS_exit_group, 127); /* before _exit() sanitizers would look for the stack they know */
}

/* The network is the last part of init to be ready. */
static void enter_network(struct command *c)
{
    enum launch_step step;
    c->net = init_take_network(c->s->init, &step);
    fail_if(step, c->net);
    fail_if(STEP_NAMESPACES, setns(c->net, CLONE_NEWNET) < 0 ? -errno : 0);
}

static void wait_for_loopback(const struct command *c)
{
    enum launch_step step;
    int err = init_wait_loopback(c->s->init, &step);
    fail_if(step, err);
}

static void wait_for_sentries(const struct command *c)
{
    enum launch_step step;
    int err = guarded_paths_wait(c->guarded, c->s->plan, c->s->sentries, &step);
    fail_if(step, err);
}

/* Docker's default filter refuses unshare() as a whole, and lets this do the same: it closes no
 * descriptor, in a table of our own. */
static int own_descriptors(void)
{
    return syscall(SYS_close_range, ~0U, ~0U, KABI_CLOSE_RANGE_UNSHARE) < 0 ? -errno : 0;
}

static int command_main(void *arg)
{
    struct command *c = arg;
    const struct setup *s = c->s;
    const struct launch *l = s->launch;
    int listener = -1;
    if (start.stays)
        processor_roam(&start.processors);
    if (start.kept)
        processor_keep_end();
    fail_if(STEP_LIMITS, set_limits(l));
    fail_if(STEP_LIMITS, limit_core(s->plan));
    /* one layer more than the judge has, so that the judge can read this process and not the
     * reverse */
    fail_if(STEP_LANDLOCK, landlock_enter(c->scope >= 0 ? c->scope : c->walls));
    bool network = s->init && s->plan->net_ns && c->net < 0;
    if (network)
        enter_network(c);
    fail_if(STEP_CAPABILITIES, capabilities_drop(s->plan->caps));
    fail_if(STEP_FILTER, filter_install(s->plan, s->filter, s->nfilter, &listener));
    start.listener = listener;
    /* from here on the file descriptor table is our own, and the listener stays in the judge's */
    fail_if(STEP_FILTER, own_descriptors());
    if (network)
        wait_for_loopback(c);
    if (c->guarded)
        wait_for_sentries(c);
    fail_if(STEP_LIMITS, setrlimit(RLIMIT_NOFILE, &s->descriptors) < 0 ? -errno : 0);
    inherited_close(&s->inherited);
    char *const *argv = l->argv, *const *env = s->env;
    enum launch_step step = STEP_NONE;
    int held = s->hold[0] >= 0 ? held_wait(s, &argv, &env, &step) : 0;
    fail_if(step, held);
    sigprocmask(SIG_SETMASK, &s->mask, NULL);
    if (s->pass)
        syscall(SYS_execve, s->first, argv, env, 0, (uint32_t)s->pass, s->pass >> 32);
    else
        execvpe(argv[0], argv, env);
    fail_if(STEP_EXEC, -errno);
    return 127;
}

enum { BORROW = CLONE_VM | CLONE_VFORK | CLONE_FILES };

static int between_main(void *arg)
{
    const struct command *c = arg;
    fail_if(STEP_ENTER_PIDS, setns(c->pids, CLONE_NEWPID) < 0 ? -errno : 0);
    start.pid =
        clone(command_main, start.stack + STACK_BYTES, BORROW | CLONE_PARENT | SIGCHLD, arg);
    fail_if(STEP_FORK, start.pid < 0 ? -errno : 0);
    return 0;
}

static void start_in_namespace(struct command *c)
{
    pid_t between = clone(between_main, start.between + STACK_BYTES, BORROW | SIGCHLD, c);
    if (between < 0) {
        start.step = STEP_FORK;
        start.err = errno;
        return;
    }
    while (waitpid(between, NULL, 0) < 0 && errno == EINTR)
        ;
}

int command_start(struct command *c, pid_t *pid, int *listener, enum launch_step *step)
{
    start.pid = start.listener = -1;
    start.step = start.err = 0;
    bool held = c->s->launch->on_held != NULL;
    start.stays = !held && processor_stay(&start.processors);
    start.kept = held && processor_keep(); /* the go-between and us */
    if (c->pids >= 0) {
        start_in_namespace(c);
    } else {
        start.pid = clone(command_main, start.stack + STACK_BYTES, BORROW | SIGCHLD, c);
        if (start.pid < 0) {
            start.step = STEP_FORK;
            start.err = errno;
        }
    }
    if (start.stays)
        processor_roam(&start.processors);
    if (start.kept)
        processor_keep_end();
    *step = (enum launch_step)start.step;
    if (start.err) {
        if (start.pid > 0)
            waitpid(start.pid, NULL, 0);
        return -start.err;
    }
    *pid = start.pid;
    *listener = start.listener;
    return 0;
}
