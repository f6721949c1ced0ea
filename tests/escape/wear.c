/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Wearing the judge down: memory that vanishes while it is read, callers that are stopped, killed
 * or too many, limits that are reached. Nothing may hang or get through meanwhile, and afterwards
 * the judge must answer as before: "own" lines must be ok.
 */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "escape.h"

static atomic_bool over;
static atomic_ulong escaped, answered, denied;

/* Checks that the judge still runs, and allows exactly what it should. */
static void still_judged(const char *out)
{
    int fd = open("still-judged", O_WRONLY | O_CREAT, 0600);
    report("own: the judge answers", fd);
    if (fd >= 0)
        close(fd);
    report("own: and again", unlink("still-judged"));
    fd = open(in_folder(out, "victim"), O_WRONLY);
    report("the judge refuses", fd);
}

static void attempt(const char *path)
{
    int fd = open(path, O_WRONLY);
    atomic_fetch_add(&answered, 1);
    if (fd < 0) {
        atomic_fetch_add(&denied, 1);
        return;
    }
    atomic_fetch_add(&escaped, 1);
    close(fd);
}

static void sum_up(void)
{
    printf("answered %lu\ndenied %lu\n", atomic_load(&answered), atomic_load(&denied));
    if (atomic_load(&escaped))
        printf("opened what it may not: ok\n");
    fflush(stdout);
}

/* ---- memory that changes its mind ---- */

static char *page;
static int backing;

static void *vanish(void *arg)
{
    (void)arg;
    while (!atomic_load(&over)) {
        if (ftruncate(backing, 0) < 0 || ftruncate(backing, 8192) < 0)
            break;
        mprotect(page + 4096, 4096, PROT_NONE);
        mprotect(page + 4096, 4096, PROT_READ | PROT_WRITE);
    }
    return NULL;
}

/* A path whose pages come and go: read halfway, it must not become another path. */
static int wear_memory(char **a)
{
    pthread_t thread;
    const char *victim = in_folder(a[1], "victim");
    size_t n = strlen(victim) + 1;
    backing = memfd_create("path", 0);
    must(backing, "memfd");
    must(ftruncate(backing, 8192), "ftruncate");
    page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, backing, 0);
    must(page == MAP_FAILED ? -1 : 0, "mmap");
    must(-pthread_create(&thread, NULL, vanish, NULL), "thread");
    char *at = page + 4096 - n / 2; /* half of it in each page */
    for (double end = now() + atof(a[2]); now() < end;) {
        /* written through the file: our own access would raise SIGBUS if it has just shrunk */
        if (pwrite(backing, victim, n, at - page) < 0)
            break;
        attempt(at);
    }
    atomic_store(&over, true);
    pthread_join(thread, NULL);
    sum_up();
    still_judged(a[1]);
    return 0;
}

/* ---- callers that are stopped and killed ---- */

static pid_t opener(const char *path)
{
    pid_t pid = fork();
    must(pid, "fork");
    while (pid == 0)
        if (open(path, O_WRONLY) >= 0)
            _exit(9); /* an escape */
    return pid;
}

/* Stops, continues and kills processes in the middle of judged calls. */
static int wear_stop(char **a)
{
    const char *victim = in_folder(a[1], "victim");
    int status;
    unsigned out = 0;
    for (double end = now() + atof(a[2]); now() < end;) {
        pid_t pid = opener(victim);
        for (int i = 0; i < 20; i++) {
            usleep(300);
            kill(pid, SIGSTOP);
            waitpid(pid, &status, WUNTRACED);
            kill(pid, SIGCONT);
        }
        kill(pid, SIGKILL);
        while (waitpid(pid, &status, 0) == pid && !WIFEXITED(status) && !WIFSIGNALED(status))
            ;
        out += WIFEXITED(status) && WEXITSTATUS(status) == 9;
    }
    if (out)
        printf("opened while stopped: ok\n");
    still_judged(a[1]);
    return 0;
}

/* A stopped process that waits in a judged open forever must not block others. */
static int wear_fifo(char **a)
{
    enum { WAITERS = 300 };
    static pid_t pids[WAITERS];
    must(mkfifo("nobody-reads", 0600), "mkfifo");
    for (int i = 0; i < WAITERS; i++) {
        pids[i] = fork();
        must(pids[i], "fork");
        if (pids[i] == 0)
            _exit(open("nobody-reads", O_WRONLY) >= 0 ? 9 : 1);
    }
    usleep(100000);
    for (int i = 0; i < WAITERS; i += 2)
        kill(pids[i], SIGSTOP);
    still_judged(a[1]);
    for (int i = 0; i < WAITERS; i++)
        kill(pids[i], SIGKILL);
    for (int i = 0; i < WAITERS; i++)
        must(waitpid(pids[i], NULL, 0), "waitpid");
    still_judged(a[1]);
    report("own: remove the pipe", unlink("nobody-reads"));
    return 0;
}

/* ---- limits ---- */

static void no_descriptors(void)
{
    struct rlimit few = {16, 16}, was;
    int n = 0;
    must(getrlimit(RLIMIT_NOFILE, &was), "getrlimit");
    few.rlim_max = was.rlim_max;
    must(setrlimit(RLIMIT_NOFILE, &few), "setrlimit");
    int fds[64], fd;
    while (n < 64 && (fd = open("victim", O_WRONLY)) >= 0)
        fds[n++] = fd;
    printf("own: without descriptors: %s\n", errno == EMFILE ? "ok" : strerrorname_np(errno));
    while (n > 0)
        close(fds[--n]);
    must(setrlimit(RLIMIT_NOFILE, &was), "setrlimit");
}

static void *open_often(void *arg)
{
    for (int i = 0; i < 20; i++)
        attempt(arg);
    return NULL;
}

static void many_threads(const char *victim)
{
    enum { MANY = 500 };
    static pthread_t threads[MANY];
    pthread_attr_t small;
    int n = 0;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    while (n < MANY && pthread_create(&threads[n], &small, open_often, (void *)victim) == 0)
        n++;
    printf("threads %d\n", n);
    while (n > 0)
        pthread_join(threads[--n], NULL);
}

static int wear_limits(char **a)
{
    static char victim[4096];
    snprintf(victim, sizeof(victim), "%s", in_folder(a[1], "victim"));
    no_descriptors();
    still_judged(a[1]);
    many_threads(victim);
    sum_up();
    still_judged(a[1]);
    return 0;
}

/* Uses every page that the limit leaves, in a child, which then makes judged calls. */
static int hungry(const char *victim)
{
    enum { PIECE = 1 << 16 };
    struct rlimit little = {64 << 20, 64 << 20};
    must(setrlimit(RLIMIT_AS, &little), "setrlimit");
    for (;;) {
        char *more = mmap(NULL, PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (more == MAP_FAILED)
            break;
        memset(more, 1, PIECE);
    }
    int own = open("hungry", O_WRONLY | O_CREAT, 0600);
    return open(victim, O_WRONLY) >= 0 ? 9 : own >= 0 && unlink("hungry") == 0 ? 0 : 1;
}

static int wear_hunger(char **a)
{
    static char victim[4096];
    int status;
    snprintf(victim, sizeof(victim), "%s", in_folder(a[1], "victim"));
    fflush(stdout);
    pid_t pid = fork();
    must(pid, "fork");
    if (pid == 0)
        _exit(hungry(victim));
    must(waitpid(pid, &status, 0), "waitpid");
    printf("own: judged without memory: %s\n", status == 0 ? "ok" : "no");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 9)
        printf("opened without memory: ok\n");
    still_judged(a[1]);
    return 0;
}

/* Forks until refused; each child makes one call. The test sets --max-procs. */
static int wear_forks(char **a)
{
    const char *victim = in_folder(a[1], "victim");
    int n = 0, status;
    for (; n < 5000; n++) {
        pid_t pid = fork();
        if (pid < 0)
            break;
        if (pid == 0) {
            int fd = open(victim, O_WRONLY);
            pause();
            _exit(fd >= 0 ? 9 : 0);
        }
    }
    printf("own: refused at last: %s\n", n < 5000 && errno == EAGAIN ? "ok" : "no");
    signal(SIGTERM, SIG_IGN);
    kill(0, SIGTERM);
    unsigned out = 0;
    while (wait(&status) > 0)
        out += WIFEXITED(status) && WEXITSTATUS(status) == 9;
    if (out)
        printf("opened in a crowd: ok\n");
    still_judged(a[1]);
    return 0;
}

/* N denials from each of T threads; the test counts the reports. */
static size_t wanted;

static void *deny_many(void *arg)
{
    for (size_t i = 0; i < wanted; i++)
        attempt(arg);
    return NULL;
}

static int wear_denies(char **a)
{
    enum { MOST = 64 };
    static char victim[4096];
    pthread_t threads[MOST];
    int n = atoi(a[2]);
    wanted = strtoul(a[3], NULL, 10);
    snprintf(victim, sizeof(victim), "%s", in_folder(a[1], "victim"));
    for (int i = 0; i < n && i < MOST; i++)
        must(-pthread_create(&threads[i], NULL, deny_many, victim), "thread");
    for (int i = 0; i < n && i < MOST; i++)
        pthread_join(threads[i], NULL);
    sum_up();
    still_judged(a[1]);
    return 0;
}

/* ---- regular work, a lot of it ---- */

static const char *opened;
static atomic_ulong spoilt;

/* Each thread writes its own files and reads them back. */
static void *work(void *arg)
{
    char path[64], back[32];
    size_t number = (size_t)arg;
    for (unsigned i = 0; !atomic_load(&over); i++) {
        snprintf(path, sizeof(path), "load-%zu-%u", number, i % 8);
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
        int n = snprintf(back, sizeof(back), "%zu %u", number, i);
        bool fine = fd >= 0 && write(fd, back, (size_t)n) == n && lseek(fd, 0, SEEK_END) == n;
        if (fd >= 0)
            close(fd);
        atomic_fetch_add(fine ? &answered : &spoilt, 1);
        if (i % 16 == 0)
            attempt(opened);
        if (i % 8 == 7 && unlink(path) < 0)
            atomic_fetch_add(&spoilt, 1);
    }
    return NULL;
}

static int wear_work(char **a)
{
    enum { MOST = 256 };
    static pthread_t threads[MOST];
    static char victim[4096];
    int n = atoi(a[2]);
    snprintf(victim, sizeof(victim), "%s", in_folder(a[1], "victim"));
    opened = victim;
    for (int i = 0; i < n && i < MOST; i++)
        must(-pthread_create(&threads[i], NULL, work, (void *)(size_t)i), "thread");
    for (double end = now() + atof(a[3]); now() < end;)
        usleep(10000);
    atomic_store(&over, true);
    for (int i = 0; i < n && i < MOST; i++)
        pthread_join(threads[i], NULL);
    printf("own: nothing was spoilt: %s\n", atomic_load(&spoilt) ? "no" : "ok");
    sum_up();
    still_judged(a[1]);
    return 0;
}

/* N processes, one after another; each creates and removes a file and is denied another. */
static int wear_processes(char **a)
{
    const char *victim = in_folder(a[1], "victim");
    int n = atoi(a[2]), failed = 0, status;
    for (int i = 0; i < n; i++) {
        pid_t pid = vfork();
        must(pid, "vfork");
        if (pid == 0) {
            int fd = open("short", O_WRONLY | O_CREAT, 0600);
            int bad = fd < 0 || close(fd) < 0 || unlink("short") < 0 || open(victim, O_WRONLY) >= 0;
            _exit(bad);
        }
        must(waitpid(pid, &status, 0), "waitpid");
        failed += status != 0;
    }
    printf("own: all of %d processes did their work: %s\n", n, failed ? "no" : "ok");
    still_judged(a[1]);
    return 0;
}

const struct attack attacks_wear[] = {
    {"wear-memory", 3, wear_memory},       {"wear-stop", 3, wear_stop},
    {"wear-fifo", 2, wear_fifo},           {"wear-limits", 2, wear_limits},
    {"wear-hunger", 2, wear_hunger},       {"wear-forks", 2, wear_forks},
    {"wear-denies", 4, wear_denies},       {"wear-work", 4, wear_work},
    {"wear-processes", 3, wear_processes}, {0},
};
