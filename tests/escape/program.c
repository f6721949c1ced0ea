/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Programs and processes: starting what may not be started, in every form that Linux has, and
 * reaching processes that may not be reached. Signals actually sent are SIGCONT, to this attacker's
 * own processes; other processes are only checked with signal 0.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "escape.h"

#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

extern char **environ;

/* ---- a program that reports its location ---- */

/* linger FILE: at a path with /in/ in it, does nothing. Elsewhere, writes a line when it starts,
 * and one after it was left alone for a while. */
static int run_linger(char **a)
{
    char exe[4096];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    exe[n > 0 ? n : 0] = '\0';
    if (strstr(exe, "/in/"))
        return 0;
    int fd = open(a[0], O_WRONLY | O_APPEND);
    if (write(fd, "started\n", 8) < 0)
        return 3;
    for (double end = now() + 2; now() < end;)
        ;
    if (write(fd, "survived\n", 9) < 0)
        return 3;
    return 0;
}

/* linger-fork FILE: the same for a child that it leaves behind and that makes a judged call. */
static int run_linger_fork(char **a)
{
    char exe[4096];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    exe[n > 0 ? n : 0] = '\0';
    if (strstr(exe, "/in/"))
        return 0;
    if (fork() > 0)
        return 0;
    int fd = open(a[0], O_WRONLY | O_APPEND);
    if (write(fd, "started\n", 8) < 0)
        return 3;
    usleep(100000);
    execl("/nowhere", "nowhere", NULL);
    if (write(fd, "survived\n", 9) < 0)
        return 3;
    return 0;
}

/* ---- racing ---- */

static volatile char racing[4096];
static size_t differs_at;
static char choice[2];

static void *flip(void *arg)
{
    (void)arg;
    for (unsigned i = 0;; i++)
        racing[differs_at] = choice[i & 1];
    return NULL;
}

static char **racing_argv;

static void *exec_racing(void *arg)
{
    (void)arg;
    syscall(SYS_execve, racing, racing_argv, environ);
    _exit(errno == EPERM || errno == EACCES ? 100 : 101);
}

/* The process's first thread keeps making calls while another executes. */
static void exec_beside(void)
{
    pthread_t t;
    pthread_create(&t, NULL, exec_racing, NULL);
    for (;;)
        syscall(SYS_execve, "/nowhere", racing_argv, environ);
}

/* The same with a descriptor that is one file or the other. */
enum { RACING_FD = 100 };
static int choice_fd[2];

static void *flip_descriptor(void *arg)
{
    (void)arg;
    for (unsigned i = 0;; i++)
        dup2(choice_fd[i & 1], RACING_FD);
    return NULL;
}

static void exec_descriptor(void)
{
    syscall(SYS_execveat, RACING_FD, "", racing_argv, environ, AT_EMPTY_PATH);
    _exit(errno == EPERM || errno == EACCES ? 100 : 101);
}

/* exec-race ALLOWED DENIED FILE SECONDS WORD: the paths differ in one byte; the programs are this
 * one, and get WORD and FILE. */
static int race_to_exec(char **a, void *(*exchange)(void *), void (*run)(void))
{
    size_t n = strlen(a[0]);
    unsigned long started = 0, refused = 0;
    while (a[0][differs_at] == a[1][differs_at] && differs_at < n)
        differs_at++;
    choice[0] = a[0][differs_at];
    choice[1] = a[1][differs_at];
    for (double end = now() + atof(a[3]); now() < end;) {
        pid_t child = fork();
        must(child, "fork");
        if (child == 0) {
            pthread_t t;
            memcpy((char *)racing, a[0], n + 1);
            char *argv[] = {a[0], a[4], a[2], NULL};
            for (int i = 0; i < 2; i++)
                choice_fd[i] = open(a[i], O_PATH | O_CLOEXEC);
            dup2(choice_fd[0], RACING_FD);
            pthread_create(&t, NULL, exchange, NULL);
            racing_argv = argv;
            run();
        }
        int status;
        waitpid(child, &status, 0);
        started += status == 0;
        refused += WIFEXITED(status) && WEXITSTATUS(status) == 100;
    }
    printf("started: %s\nrefused: %s\n", started ? "some" : "none", refused ? "some" : "none");
    return 0;
}

static void exec_here(void)
{
    exec_racing(NULL);
}

static int run_exec_race(char **a)
{
    return race_to_exec(a, flip, exec_here);
}

static int run_exec_race_beside(char **a)
{
    return race_to_exec(a, flip, exec_beside);
}

static int run_exec_race_descriptor(char **a)
{
    return race_to_exec(a, flip_descriptor, exec_descriptor);
}

/* ---- forms of executing ---- */

static char nothing[] = "nothing";
static char *quiet[] = {nothing, nothing, NULL};

static int run_nothing(char **a)
{
    (void)a;
    return 0;
}

/* The outcome of a child that tried to execute something: ok, or its errno. */
static void report_child(const char *what, pid_t child)
{
    int status;
    must(child, what);
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) {
        printf("%s: killed\n", what);
        return;
    }
    errno = WEXITSTATUS(status);
    report(what, errno ? -1 : 0);
}

static void *exec_in_thread(void *path)
{
    syscall(SYS_execve, path, quiet, environ);
    _exit(errno);
}

#define IN_CHILD(what, call)                                                                       \
    do {                                                                                           \
        pid_t child_ = fork();                                                                     \
        if (child_ == 0) {                                                                         \
            call;                                                                                  \
            _exit(errno);                                                                          \
        }                                                                                          \
        report_child(what, child_);                                                                \
    } while (0)

static int copy_to_memory(const char *path)
{
    char buffer[65536];
    int from = open(path, O_RDONLY), to = (int)syscall(SYS_memfd_create, "copy", 0);
    must(from, "open");
    must(to, "memfd_create");
    for (ssize_t n; (n = read(from, buffer, sizeof(buffer))) > 0;)
        must(write(to, buffer, (size_t)n), "write");
    close(from);
    return to;
}

/* exec-forms PROGRAM: a static program that exits with 0 when its argument is "nothing". */
static int run_exec_forms(char **a)
{
    char *path = a[0];
    pid_t child;
    IN_CHILD("execve", syscall(SYS_execve, path, quiet, environ));
    IN_CHILD("execveat", syscall(SYS_execveat, AT_FDCWD, path, quiet, environ, 0));
    int fd = open(path, O_RDONLY | O_CLOEXEC), named = open(path, O_PATH | O_CLOEXEC);
    IN_CHILD("fexecve", syscall(SYS_execveat, fd, "", quiet, environ, AT_EMPTY_PATH));
    IN_CHILD("execveat O_PATH", syscall(SYS_execveat, named, "", quiet, environ, AT_EMPTY_PATH));
    char by_fd[64];
    snprintf(by_fd, sizeof(by_fd), "/proc/self/fd/%d", fd);
    IN_CHILD("by descriptor", syscall(SYS_execve, by_fd, quiet, environ));
    unlink("link-to-it");
    if (symlink(path, "link-to-it") == 0)
        IN_CHILD("by link", syscall(SYS_execve, "link-to-it", quiet, environ));
    IN_CHILD("from a thread", ({
                 pthread_t t;
                 pthread_create(&t, NULL, exec_in_thread, path);
                 pause();
             }));
    child = vfork();
    if (child == 0) {
        syscall(SYS_execve, path, quiet, environ);
        _exit(errno);
    }
    report_child("vfork", child);
    errno = posix_spawn(&child, path, NULL, NULL, quiet, environ);
    if (errno)
        report("posix_spawn", -1);
    else
        report_child("posix_spawn", child);
    IN_CHILD("from memory", ({
                 int memory = copy_to_memory(path);
                 syscall(SYS_execveat, memory, "", quiet, environ, AT_EMPTY_PATH);
             }));
    IN_CHILD("guessed pass", ({
                 for (unsigned i = 0; i < 1000; i++)
                     syscall(SYS_execve, path, quiet, environ, 0, i, i);
             }));
    return 0;
}

/* ---- forms of forking ---- */

static void *no_work(void *arg)
{
    return arg;
}

static void report_fork(const char *what, long child)
{
    if (child == 0)
        _exit(0);
    if (child > 0)
        waitpid((pid_t)child, NULL, __WALL);
    report(what, child);
}

static int run_fork_forms(char **a)
{
    pthread_t t;
    struct clone_args args = {.exit_signal = SIGCHLD};
    (void)a;
#ifdef SYS_fork
    report_fork("fork", syscall(SYS_fork));
#endif
    report_fork("clone", syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
    report_fork("clone without signal", syscall(SYS_clone, 0, 0, 0, 0, 0));
    report_fork("clone3", syscall(SYS_clone3, &args, sizeof(args)));
    pid_t child = vfork();
    if (child == 0)
        _exit(0);
    report("vfork", child);
    errno = pthread_create(&t, NULL, no_work, NULL);
    report("thread", errno ? -1 : 0);
    if (!errno)
        pthread_join(t, NULL);
    return 0;
}

/* ---- signals ---- */

static pid_t pausing(void)
{
    pid_t child = fork();
    must(child, "fork");
    while (child == 0)
        pause();
    return child;
}

/* A child of a child, with or without its parent. */
static pid_t grandchild(int stays, pid_t *between)
{
    int ends[2];
    pid_t pid = 0;
    must(pipe(ends), "pipe");
    *between = fork();
    must(*between, "fork");
    if (*between == 0) {
        pid = pausing();
        must(write(ends[1], &pid, sizeof(pid)), "write");
        while (stays)
            pause();
        _exit(0);
    }
    must(read(ends[0], &pid, sizeof(pid)), "read");
    if (!stays)
        waitpid(*between, NULL, 0);
    return pid;
}

/* Every way to send sig, one line each: "WHO way: outcome". */
static void report_signals(const char *who, pid_t pid, int sig)
{
    char what[64];
    siginfo_t info = {.si_signo = sig, .si_code = SI_QUEUE};
    int fd[2], pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct f_owner_ex owner = {F_OWNER_PID, pid};
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), "socketpair");
#define WAY(name, call)                                                                            \
    snprintf(what, sizeof(what), "%s " name, who);                                                 \
    report(what, call)
    WAY("kill", syscall(SYS_kill, pid, sig));
    WAY("tkill", syscall(SYS_tkill, pid, sig));
    WAY("tgkill", syscall(SYS_tgkill, pid, pid, sig));
    WAY("sigqueue", syscall(SYS_rt_sigqueueinfo, pid, sig, &info));
    WAY("tgsigqueue", syscall(SYS_rt_tgsigqueueinfo, pid, pid, sig, &info));
    WAY("pidfd", syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0));
    WAY("F_SETOWN", fcntl(fd[0], F_SETOWN, pid));
    WAY("F_SETOWN_EX", fcntl(fd[0], F_SETOWN_EX, &owner));
    WAY("F_SETSIG", fcntl(fd[0], F_SETSIG, SIGUSR1));
    WAY("FIOSETOWN", ioctl(fd[0], 0x8901, &pid));
#undef WAY
    close(fd[0]);
    close(fd[1]);
    close(pidfd);
}

/* signals OTHER GROUP: OTHER is an unrelated process, GROUP a group that contains it. */
static int run_signals(char **a)
{
    pid_t between, gone;
    must(setpgid(0, 0), "setpgid");
    pid_t child = pausing(), far = pausing(), deep = grandchild(1, &between),
          orphan = grandchild(0, &gone);
    setpgid(far, far);
    report_signals("self", getpid(), SIGCONT);
    report_signals("child", child, SIGCONT);
    report_signals("child elsewhere", far, SIGCONT);
    report_signals("grandchild", deep, SIGCONT);
    report_signals("orphan", orphan, SIGCONT);
    report_signals("other", (pid_t)atoi(a[0]), 0);
    report("own group", kill(0, 0));
    report("child's group", kill(-far, 0));
    report("other's group", kill(-atoi(a[1]), 0));
    report("everybody", kill(-1, 0));
    report("nobody", kill(4000000, 0));
    report("bad signal", kill(child, 1000));
    report("priority of itself", setpriority(PRIO_PROCESS, 0, 1));
    report("priority of child", setpriority(PRIO_PROCESS, (id_t)child, 1));
    report("priority of other", setpriority(PRIO_PROCESS, (id_t)atoi(a[0]), 1));
    report("priority of everybody", setpriority(PRIO_USER, 0, 1));
    cpu_set_t all;
    must(sched_getaffinity(0, sizeof(all), &all), "sched_getaffinity");
    report("affinity of itself", sched_setaffinity(0, sizeof(all), &all));
    report("affinity of other", sched_setaffinity((pid_t)atoi(a[0]), sizeof(all), &all));
    const pid_t mine[] = {child, far, deep, orphan, between};
    for (size_t i = 0; i < sizeof(mine) / sizeof(mine[0]); i++)
        syscall(SYS_kill, mine[i], SIGKILL);
    return 0;
}

/* signal-numbers: which signals reach a child that ignores them. */
static int run_signal_numbers(char **a)
{
    pid_t child = fork();
    (void)a;
    if (child == 0) {
        signal(SIGTERM, SIG_IGN);
        signal(SIGUSR1, SIG_IGN);
        signal(SIGIO, SIG_IGN);
        signal(SIGRTMIN + 1, SIG_IGN);
        for (;;)
            pause();
    }
    must(child, "fork");
    usleep(50000);
    report("TERM", kill(child, SIGTERM));
    report("USR1", kill(child, SIGUSR1));
    report("IO", kill(child, SIGIO));
    report("RTMIN+1", kill(child, SIGRTMIN + 1));
    report("KILL", kill(child, SIGKILL));
    syscall(SYS_tgkill, getpid(), getpid(), SIGCONT);
    if (kill(child, 0) == 0)
        waitpid(child, NULL, WNOHANG);
    return 0;
}

/* ---- memory ---- */

static void *map(int prot, int flags, int fd)
{
    return mmap(NULL, 4096, prot, flags, fd, 0);
}

/* map FILE: all ways to map code. */
static int run_map(char **a)
{
    int fd = open(a[0], O_RDONLY), memory = copy_to_memory(a[0]);
    must(fd, "open");
    enum { R = PROT_READ, W = PROT_WRITE, X = PROT_EXEC, ANON = MAP_PRIVATE | MAP_ANONYMOUS };
#define REPORT_MAP(what, prot, flags, fd) report(what, map(prot, flags, fd) == MAP_FAILED ? -1 : 0)
    REPORT_MAP("file", R | X, MAP_PRIVATE, fd);
    REPORT_MAP("file to read", R, MAP_PRIVATE, fd);
    void *text = map(R, MAP_PRIVATE, fd);
    report("file made executable", mprotect(text, 4096, R | X));
    report("file made executable by key", syscall(SYS_pkey_mprotect, text, 4096, R | X, -1));
    REPORT_MAP("memory file", R | X, MAP_PRIVATE, memory);
    REPORT_MAP("anonymous", R | X, ANON, -1);
    REPORT_MAP("anonymous to write", R | W | X, ANON, -1);
    REPORT_MAP("data", R | W, ANON, -1);
    void *data = map(R | W, ANON, -1);
    report("data made executable", mprotect(data, 4096, R | X));
    REPORT_MAP("shared to write", R | W | X, MAP_SHARED, memory);
    report("personality", personality(READ_IMPLIES_EXEC) < 0 ? -1 : 0);
#undef REPORT_MAP
    return 0;
}

/* ---- objects ---- */

union semun {
    int val;
};

static int run_sysv(char **a)
{
    struct {
        long type;
        char text[1];
    } message = {1, "x"};
    struct sembuf up = {0, 1, 0};
    (void)a;
    int shm = shmget(IPC_PRIVATE, 4096, 0600), sem = semget(IPC_PRIVATE, 1, 0600),
        msg = msgget(IPC_PRIVATE, 0600);
    report("shmget", shm);
    report("shmat", (intptr_t)shmat(shm < 0 ? 0 : shm, NULL, 0));
    report("shmctl", shmctl(shm < 0 ? 0 : shm, IPC_RMID, NULL));
    report("semget", sem);
    report("semop", semop(sem < 0 ? 0 : sem, &up, 1));
    report("semctl", semctl(sem < 0 ? 0 : sem, 0, IPC_RMID, (union semun){0}));
    report("msgget", msg);
    report("msgsnd", msgsnd(msg < 0 ? 0 : msg, &message, 1, IPC_NOWAIT));
    report("msgrcv", msgrcv(msg < 0 ? 0 : msg, &message, 1, 0, IPC_NOWAIT));
    report("msgctl", msgctl(msg < 0 ? 0 : msg, IPC_RMID, NULL));
    return 0;
}

/* sockets: families other than Internet and Unix. */
static int run_families(char **a)
{
    static const struct {
        const char *name;
        int family, type;
    } all[] = {
        {"netlink", AF_NETLINK, SOCK_RAW}, {"vsock", AF_VSOCK, SOCK_STREAM},
        {"inet", AF_INET, SOCK_STREAM},    {"inet6", AF_INET6, SOCK_STREAM},
        {"unix", AF_UNIX, SOCK_STREAM},    {"alg", AF_ALG, SOCK_SEQPACKET},
    };
    (void)a;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        report(all[i].name, socket(all[i].family, all[i].type, 0));
    return 0;
}

const struct attack attacks_program[] = {
    {"linger", 1, run_linger},
    {"linger-fork", 1, run_linger_fork},
    {"exec-race", 5, run_exec_race},
    {"exec-race-beside", 5, run_exec_race_beside},
    {"exec-race-descriptor", 5, run_exec_race_descriptor},
    {"nothing", 0, run_nothing},
    {"exec-forms", 1, run_exec_forms},
    {"fork-forms", 0, run_fork_forms},
    {"signals", 2, run_signals},
    {"signal-numbers", 0, run_signal_numbers},
    {"map", 1, run_map},
    {"sysv", 0, run_sysv},
    {"families", 0, run_families},
    {NULL, 0, NULL},
};
