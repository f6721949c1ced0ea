/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The probe's operations on processes. Signals go to children made for the purpose; other processes
 * are only checked with signal 0.
 */

#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "probe.h"

/* ---- starting ---- */

static long ended(pid_t child)
{
    int status;
    if (child < 0)
        return -1;
    waitpid(child, &status, 0);
    errno = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    return errno ? -1 : 0;
}

static long do_exec(char **a)
{
    int channel[2], err = 0;
    if (pipe2(channel, O_CLOEXEC) < 0)
        return -1;
    pid_t child = fork();
    if (child == 0) {
        char *argv[] = {a[0], NULL};
        execv(a[0], argv);
        err = errno;
        _exit(write(channel[1], &err, sizeof(err)) == sizeof(err) ? 127 : 126);
    }
    close(channel[1]);
    ssize_t n = read(channel[0], &err, sizeof(err));
    close(channel[0]);
    waitpid(child, NULL, 0);
    errno = err;
    return n == sizeof(err) ? -1 : 0;
}

/* exec-program PATH: whether it starts; its output and exit status do not matter. */
static long do_exec_program(char **a)
{
    char *argv[] = {a[0], NULL}, *env[] = {NULL};
    int channel[2], err = 0;
    if (pipe2(channel, O_CLOEXEC) < 0)
        return -1;
    pid_t child = fork();
    if (child < 0)
        err = errno;
    if (child == 0) {
        int null = open("/dev/null", O_RDONLY);
        dup2(null, 0);
        dup2(null, 1);
        syscall(SYS_execve, a[0], argv, env);
        err = errno;
        _exit(write(channel[1], &err, sizeof(err)) < 0);
    }
    close(channel[1]);
    ssize_t n = child < 0 ? -1 : read(channel[0], &err, sizeof(err));
    close(channel[0]);
    if (child > 0)
        waitpid(child, NULL, 0);
    errno = err;
    return n == 0 ? 0 : -1;
}

static long do_fork(char **a)
{
    (void)a;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    return ended(child);
}

/* ---- signals ---- */

/* Starts a process that waits, in its own group or ours, as a child or an orphan. */
static pid_t waiting(int own_group, int orphan)
{
    int ends[2];
    pid_t pid = -1;
    if (pipe(ends) < 0)
        return -1;
    pid_t child = fork();
    if (child == 0) {
        pid_t it = orphan ? fork() : 0;
        if (it > 0)
            _exit(0);
        if (own_group)
            setpgid(0, 0);
        pid = getpid();
        if (write(ends[1], &pid, sizeof(pid)) < 0)
            _exit(1);
        alarm(10);
        for (;;)
            pause();
    }
    close(ends[1]);
    if (child < 0 || read(ends[0], &pid, sizeof(pid)) != sizeof(pid))
        pid = -1;
    close(ends[0]);
    if (orphan)
        waitpid(child, NULL, 0);
    return pid;
}

static long signal_it(pid_t pid, int sig, int orphan)
{
    if (pid < 0)
        return -1;
    long got = syscall(SYS_kill, pid, sig);
    int err = errno;
    /* it ends by itself if it may not be killed; then nothing waits for it */
    if (!orphan && syscall(SYS_kill, pid, SIGKILL) == 0)
        waitpid(pid, NULL, 0);
    errno = err;
    return got;
}

static long do_signal_children(char **a)
{
    return signal_it(waiting(1, 0), atoi(a[0]), 0);
}

static long do_signal_group(char **a)
{
    return signal_it(waiting(0, 1), atoi(a[0]), 1);
}

static long do_signal_fellow(char **a)
{
    return signal_it(waiting(1, 1), atoi(a[0]), 1);
}

/* In a child, which may not survive it. */
static long do_signal_self(char **a)
{
    pid_t child = fork();
    if (child == 0)
        _exit(syscall(SYS_kill, getpid(), atoi(a[0])) < 0 ? errno : 0);
    return ended(child);
}

/* ---- code ---- */

static long do_map_file(char **a)
{
    int fd = open(a[0], O_RDONLY);
    if (fd < 0)
        return -1;
    void *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    int err = errno;
    close(fd);
    errno = err;
    return at == MAP_FAILED ? -1 : munmap(at, 4096);
}

static long do_map_code(char **a)
{
    (void)a;
    void *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? -1 : munmap(at, 4096);
}

/* ---- objects ---- */

static long do_sysv_shm(char **a)
{
    (void)a;
    int id = shmget(IPC_PRIVATE, 4096, 0600);
    return id < 0 ? -1 : shmctl(id, IPC_RMID, NULL);
}

static long do_sysv_sem(char **a)
{
    (void)a;
    int id = semget(IPC_PRIVATE, 1, 0600);
    return id < 0 ? -1 : semctl(id, 0, IPC_RMID);
}

static long do_sysv_msg(char **a)
{
    (void)a;
    int id = msgget(IPC_PRIVATE, 0600);
    return id < 0 ? -1 : msgctl(id, IPC_RMID, NULL);
}

static long then_close(int fd)
{
    return fd < 0 ? -1 : close(fd);
}

static long do_shm_create(char **a)
{
    return then_close(shm_open(a[0], O_RDONLY | O_CREAT, 0600));
}

static long do_shm_write(char **a)
{
    int fd = shm_open(a[0], O_RDONLY | O_CREAT, 0600);
    return fd < 0 ? -1 : (close(fd), then_close(shm_open(a[0], O_RDWR, 0)));
}

static long do_shm_unlink(char **a)
{
    int fd = shm_open(a[0], O_RDONLY | O_CREAT, 0600);
    char path[300];
    snprintf(path, sizeof(path), "/dev/shm/%s", a[0] + (a[0][0] == '/'));
    return fd < 0 ? -1 : (close(fd), unlink(path));
}

static long do_sem_create(char **a)
{
    sem_t *sem = sem_open(a[0], O_CREAT | O_EXCL, 0600, 1);
    if (sem == SEM_FAILED)
        return errno == EEXIST ? 0 : -1;
    return sem_close(sem);
}

static long do_sem_open(char **a)
{
    if (do_sem_create(a) < 0)
        return -1;
    sem_t *sem = sem_open(a[0], 0);
    return sem == SEM_FAILED ? -1 : sem_close(sem);
}

/* ---- access to other processes, and devices ---- */

/* mode is r or w; writes nothing. */
static long look_at(pid_t pid, const char *name, const char *mode)
{
    char path[64];
    if (pid < 0)
        return -1;
    snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
    long got = then_close(open(path, mode[0] == 'w' ? O_WRONLY : O_RDONLY));
    int err = errno;
    if (pid != getpid())
        syscall(SYS_kill, pid, SIGKILL);
    errno = err;
    return got;
}

static long do_info_self(char **a)
{
    return look_at(getpid(), a[0], a[1]);
}

static long do_info_children(char **a)
{
    return look_at(waiting(1, 0), a[0], a[1]);
}

static long do_info_group(char **a)
{
    return look_at(waiting(0, 1), a[0], a[1]);
}

static long do_info_fellow(char **a)
{
    return look_at(waiting(1, 1), a[0], a[1]);
}

static long do_flock(char **a)
{
    int fd = open(a[0], O_RDONLY | O_CLOEXEC);
    long got = fd < 0 ? -1 : flock(fd, LOCK_SH);
    int err = errno;
    close(fd);
    errno = err;
    return got;
}

static long do_lock(char **a)
{
    struct flock whole = {.l_type = F_RDLCK};
    int fd = open(a[0], O_RDONLY | O_CLOEXEC);
    long got = fd < 0 ? -1 : fcntl(fd, F_SETLK, &whole);
    int err = errno;
    close(fd);
    errno = err;
    return got;
}

static long do_ioctl_device(char **a)
{
    struct termios t;
    int fd = open(a[0], O_RDONLY | O_NOCTTY | O_CLOEXEC);
    long got = fd < 0 ? -1 : ioctl(fd, TCGETS, &t);
    int err = errno;
    close(fd);
    errno = err;
    return got;
}

static long do_socket_route(char **a)
{
    (void)a;
    return then_close(socket(AF_NETLINK, SOCK_RAW, 0));
}

const struct operation process_operations[] = {
    {"exec", 1, do_exec},
    {"exec-program", 1, do_exec_program},
    {"fork", 0, do_fork},
    {"signal-self", 1, do_signal_self},
    {"signal-children", 1, do_signal_children},
    {"signal-group", 1, do_signal_group},
    {"signal-fellow", 1, do_signal_fellow},
    {"map-file", 1, do_map_file},
    {"map-code", 0, do_map_code},
    {"sysv-shm", 0, do_sysv_shm},
    {"sysv-sem", 0, do_sysv_sem},
    {"sysv-msg", 0, do_sysv_msg},
    {"shm-create", 1, do_shm_create},
    {"shm-write", 1, do_shm_write},
    {"shm-unlink", 1, do_shm_unlink},
    {"sem-create", 1, do_sem_create},
    {"sem-open", 1, do_sem_open},
    {"socket-route", 0, do_socket_route},
    {"info-self", 2, do_info_self},
    {"info-children", 2, do_info_children},
    {"info-group", 2, do_info_group},
    {"info-fellow", 2, do_info_fellow},
    {"flock", 1, do_flock},
    {"lock", 1, do_lock},
    {"ioctl-device", 1, do_ioctl_device},
    {NULL, 0, NULL},
};
