/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Attacks on the process next to the command: init of its pid namespace, which set everything up
 * with all capabilities and drops them around the time when the command starts, or the reaper where
 * there is no such namespace. Threads try every way into it, over and over from the first moment
 * on, to catch what is open only briefly. Every line must report a failure. Signals are number 0,
 * nothing is written, and values are only set to what they already are.
 */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "escape.h"

static pid_t victim;
static double end;

static const char *file_of(const char *name, char path[96])
{
    snprintf(path, 96, "/proc/%d/%s", victim, name);
    return path;
}

/* ---- through /proc ---- */

static long read_file(const char *name)
{
    char path[96];
    return read_of(file_of(name, path));
}

static long open_with(const char *name, int flags)
{
    char path[96];
    int fd = open(file_of(name, path), flags | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0)
        close(fd);
    return fd;
}

static long open_file(const char *name)
{
    return open_with(name, O_RDONLY);
}

static long open_to_write(const char *name)
{
    return open_with(name, O_RDWR);
}

static long walk_through(const char *name)
{
    return open_with(name, O_PATH);
}

static long read_link(const char *name)
{
    char path[96], where[256];
    return readlink(file_of(name, path), where, sizeof(where));
}

static long thread_memory(const char *unused)
{
    char name[32];
    (void)unused;
    snprintf(name, sizeof(name), "task/%d/mem", victim);
    return open_file(name);
}

static long any_descriptor(const char *unused)
{
    char name[16];
    long got = -1;
    (void)unused;
    for (int i = 0; i < 32 && got < 0; i++) {
        snprintf(name, sizeof(name), "fd/%d", i);
        got = open_file(name);
    }
    return got;
}

/* ---- by number ---- */

static long trace(const char *how)
{
    return ptrace(strcmp(how, "seize") == 0 ? PTRACE_SEIZE : PTRACE_ATTACH, victim, NULL, NULL);
}

static long read_memory(const char *unused)
{
    char room[16];
    struct iovec ours = {room, sizeof(room)}, theirs = {(void *)0x400000, sizeof(room)};
    (void)unused;
    long got = process_vm_readv(victim, &ours, 1, &theirs, 1, 0);
    return got < 0 && errno == EFAULT ? 0 : got; /* there is nothing, but we could look */
}

static long write_memory(const char *unused)
{
    char room[16];
    struct iovec none = {room, 0};
    (void)unused;
    return process_vm_writev(victim, &none, 1, &none, 1, 0);
}

static long signal_it(const char *unused)
{
    (void)unused;
    return kill(victim, 0);
}

static long signal_thread(const char *unused)
{
    (void)unused;
    return syscall(SYS_tgkill, victim, victim, 0);
}

static long queue_signal(const char *unused)
{
    (void)unused;
    return syscall(SYS_rt_sigqueueinfo, victim, 0, &(siginfo_t){.si_code = SI_QUEUE});
}

static long with_pidfd(long (*act)(int))
{
    int fd = (int)syscall(SYS_pidfd_open, victim, 0);
    if (fd < 0)
        return -1;
    long got = act(fd);
    int err = errno;
    close(fd);
    errno = err;
    return got;
}

static long signal_by(int fd)
{
    return syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0);
}

static long take_from(int fd)
{
    long got = -1;
    for (int i = 0; i < 32 && got < 0; i++)
        got = syscall(SYS_pidfd_getfd, fd, i, 0);
    return got;
}

static long join_all(int fd)
{
    static const int kinds[] = {CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWPID,
                                CLONE_NEWNET,  CLONE_NEWIPC, CLONE_NEWUTS};
    long got = -1;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && got < 0; i++)
        got = setns(fd, kinds[i]);
    return got;
}

static long signal_descriptor(const char *unused)
{
    (void)unused;
    return with_pidfd(signal_by);
}

static long take_descriptor(const char *unused)
{
    (void)unused;
    return with_pidfd(take_from);
}

static long join(const char *unused)
{
    (void)unused;
    return with_pidfd(join_all);
}

static long join_by_name(const char *name)
{
    char path[96];
    int fd = open(file_of(name, path), O_RDONLY);
    if (fd < 0)
        return -1;
    long got = setns(fd, 0);
    int err = errno;
    close(fd);
    errno = err;
    return got;
}

static long compare(const char *unused)
{
    (void)unused;
    return syscall(SYS_kcmp, victim, getpid(), 0, 0, 0);
}

static long locks_of(const char *unused)
{
    void *head;
    size_t size;
    (void)unused;
    return syscall(SYS_get_robust_list, victim, &head, &size);
}

static long pages_of(const char *unused)
{
    (void)unused;
    return syscall(SYS_move_pages, victim, 0, NULL, NULL, NULL, 0);
}

/* ---- all of them ---- */

struct attempt {
    const char *what;
    long (*run)(const char *arg);
    const char *arg;
};

static const struct attempt attempts[] = {
    {"seize it", trace, "seize"},
    {"attach to it", trace, "attach"},
    {"its memory", open_file, "mem"},
    {"its memory, to write", open_to_write, "mem"},
    {"its thread's memory", thread_memory, NULL},
    {"read its memory", read_memory, NULL},
    {"write its memory", write_memory, NULL},
    {"its descriptors", any_descriptor, NULL},
    {"where one leads", read_link, "fd/0"},
    {"take a descriptor", take_descriptor, NULL},
    {"its root", read_file, "root"},
    {"through its root", walk_through, "root/proc"},
    {"its folder", read_file, "cwd"},
    {"its program", read_file, "exe"},
    {"its environment", read_file, "environ"},
    {"its map", read_file, "maps"},
    {"its mapped files", read_file, "map_files"},
    {"its vector", read_file, "auxv"},
    {"its stack", read_file, "stack"},
    {"its call", read_file, "syscall"},
    {"its timers", read_file, "timerslack_ns"},
    {"where its mounts are", read_link, "ns/mnt"},
    {"join its mounts", join_by_name, "ns/mnt"},
    {"join its user", join_by_name, "ns/user"},
    {"join its network", join_by_name, "ns/net"},
    {"join its processes", join_by_name, "ns/pid"},
    {"join it", join, NULL},
    {"signal it", signal_it, NULL},
    {"signal its thread", signal_thread, NULL},
    {"queue a signal", queue_signal, NULL},
    {"signal it by descriptor", signal_descriptor, NULL},
    {"compare it", compare, NULL},
    {"its locks", locks_of, NULL},
    {"its pages", pages_of, NULL},
};
enum { ATTEMPTS = sizeof(attempts) / sizeof(attempts[0]), THREADS = 8 };

/* -1 after the first success, else the last errno. */
static _Atomic int came[ATTEMPTS];
static _Atomic unsigned rounds;

static void *insist(void *arg)
{
    for (size_t i = (size_t)(uintptr_t)arg; now() < end || rounds < THREADS * 2;) {
        long got = attempts[i].run(attempts[i].arg);
        if (got >= 0)
            came[i] = -1;
        else if (came[i] >= 0)
            came[i] = errno;
        i = (i + 1) % ATTEMPTS;
        rounds += i == 0;
    }
    return NULL;
}

/* What it can do at this moment, so that the test knows which moment it was. */
static void report_state(const char *when)
{
    static const char *const fields[] = {"CapPrm:", "NoNewPrivs:", "Seccomp:"};
    char path[96], line[256];
    FILE *f = fopen(file_of("status", path), "r");
    while (f && fgets(line, sizeof(line), f))
        for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
            if (strncmp(line, fields[i], strlen(fields[i])) == 0)
                printf("%s %s", when, line);
    if (f)
        fclose(f);
}

static int first(char **a)
{
    pthread_t threads[THREADS];
    victim = getppid() ? getppid() : 1;
    end = now() + atof(a[0]);
    for (uintptr_t i = 0; i < THREADS; i++)
        must(-pthread_create(&threads[i], NULL, insist, (void *)(i * ATTEMPTS / THREADS)),
             "thread");
    report_state("early");
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    report_state("late");
    for (size_t i = 0; i < ATTEMPTS; i++) {
        errno = came[i];
        report(attempts[i].what, came[i] < 0 ? 0 : -1);
    }
    return 0;
}

/* What a debugger does with the programs it starts. */
static int first_trace_own(char **a)
{
    int status = 0;
    (void)a;
    pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        _exit(0);
    }
    must(waitpid(child, &status, WUNTRACED), "wait");
    report("own: let it go on", WIFSTOPPED(status) ? ptrace(PTRACE_CONT, child, NULL, NULL) : -1);
    return 0;
}

const struct attack attacks_first[] = {
    {"first", 1, first}, {"first-trace-own", 0, first_trace_own}, {0}};
