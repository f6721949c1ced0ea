/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Whose working folder counts: the judge keeps it from one call to the next. Each attempt moves the
 * caller in a way that could leave a wrong folder behind, and then creates or removes a name there.
 */

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "escape.h"

static int folder[2]; /* 0 and 1 */

static void folders(void)
{
    for (int i = 0; i < 2; i++) {
        char name[2] = {(char)('0' + i), '\0'};
        must(mkdir(name, 0700), name);
        folder[i] = open(name, O_RDONLY | O_DIRECTORY);
        must(folder[i], name);
    }
}

/* Creates a name in the working folder; prints where it is, and removes it. Several times: the
 * first calls after a change open the folder, the others could use a kept one. */
static void show(const char *what)
{
    for (int i = 0; i < 3; i++) {
        bool made = mkdir("x", 0700) == 0;
        bool in[2] = {faccessat(folder[0], "x", F_OK, 0) == 0,
                      faccessat(folder[1], "x", F_OK, 0) == 0};
        printf("%s, %d: %s%s%s\n", what, i, in[0] ? "in 0" : "", in[1] ? "in 1" : "",
               made && (in[0] || in[1]) ? "" : "elsewhere");
        rmdir("x");
        unlinkat(folder[0], "x", AT_REMOVEDIR);
        unlinkat(folder[1], "x", AT_REMOVEDIR);
    }
}

/* ---- one at a time ---- */

static void by_itself(void)
{
    fchdir(folder[0]);
    show("fchdir");
    chdir("../1");
    show("chdir");
    report("to nothing", chdir("nothing"));
    show("after a failure");
    report("to no descriptor", fchdir(77));
    show("after another");
    fchdir(folder[0]);
    close(open("y", O_WRONLY | O_CREAT, 0600));
    chdir("../1");
    report("a file that was left behind", unlink("y"));
    report("write it", open("y", O_WRONLY));
    report("by its path", unlink("../0/y"));
    renameat(AT_FDCWD, "../1", AT_FDCWD, "../moved");
    show("moved");
    report("moved back", rename("../moved", "../1"));
}

static void *go_to(void *arg)
{
    fchdir(*(int *)arg);
    return NULL;
}

static void by_thread(void)
{
    pthread_t thread;
    fchdir(folder[0]);
    show("before a thread");
    pthread_create(&thread, NULL, go_to, &folder[1]);
    pthread_join(thread, NULL);
    show("moved by a thread");
}

static int child_goes(void *arg)
{
    fchdir(*(int *)arg);
    return 0;
}

/* A process of its own that shares the working folder, or has a copy. */
static void by_process(const char *what, int flags)
{
    static char stack[65536] __attribute__((aligned(16)));
    fchdir(folder[0]);
    show(what);
    pid_t child = clone(child_goes, stack + sizeof(stack), flags | SIGCHLD, &folder[1]);
    must(child, "clone");
    waitpid(child, NULL, 0);
    show(what);
}

static void by_vfork(void)
{
    fchdir(folder[0]);
    show("before vfork");
    pid_t child = vfork();
    if (child == 0) {
        syscall(SYS_fchdir, folder[1]);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    show("after vfork");
}

/* ---- while the other one is on its way ---- */

static atomic_int asked, arrived, over;

static int flip(void *arg)
{
    (void)arg;
    for (int at = 1; !atomic_load(&over); at = !at) {
        while (atomic_load(&asked) == atomic_load(&arrived) && !atomic_load(&over))
            sched_yield();
        fchdir(folder[at]);
        atomic_fetch_add(&arrived, 1);
    }
    return 0;
}

static void *flip_thread(void *arg)
{
    flip(arg);
    return NULL;
}

/* Makes calls while another task moves both, and another call once it has: that one must be in the
 * new folder. */
static int wrong_after(int turns)
{
    int wrong = 0;
    for (int i = 0; i < turns; i++) {
        int at = (i + 1) % 2;
        atomic_fetch_add(&asked, 1);
        for (int k = 0; atomic_load(&arrived) != atomic_load(&asked); k++)
            if (mkdir("meanwhile", 0700) == 0)
                rmdir("meanwhile");
        for (int k = 0; k < 2; k++) {
            mkdir("x", 0700);
            wrong += unlinkat(folder[at], "x", AT_REMOVEDIR) < 0;
            unlinkat(folder[!at], "x", AT_REMOVEDIR);
        }
        unlinkat(folder[0], "meanwhile", AT_REMOVEDIR);
        unlinkat(folder[1], "meanwhile", AT_REMOVEDIR);
    }
    atomic_store(&over, 1);
    return wrong;
}

static void on_the_way(void)
{
    enum { TURNS = 500 };
    static char stack[65536] __attribute__((aligned(16)));
    pthread_t thread;
    fchdir(folder[0]);
    pthread_create(&thread, NULL, flip_thread, NULL);
    printf("in a folder that a thread had left: %d\n", wrong_after(TURNS));
    pthread_join(thread, NULL);
    atomic_store(&over, 0);
    atomic_store(&asked, 0);
    atomic_store(&arrived, 0);
    fchdir(folder[0]);
    pid_t child = clone(flip, stack + sizeof(stack), CLONE_FS | CLONE_VM | SIGCHLD, NULL);
    must(child, "clone");
    printf("in a folder that a process had left: %d\n", wrong_after(TURNS));
    waitpid(child, NULL, 0);
}

/* ---- another thread's number ---- */

/* A thread with a working folder of its own executes a program, and takes over the first thread's
 * number. */
static pthread_barrier_t turns;

static void *run_touch(void *arg)
{
    (void)arg;
    must(unshare(CLONE_FS), "unshare");
    fchdir(folder[1]);
    pthread_barrier_wait(&turns);
    pthread_barrier_wait(&turns);
    execl("/bin/touch", "touch", "by-thread", NULL);
    return NULL;
}

static void by_exec(void)
{
    pthread_t thread;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        fchdir(folder[0]);
        pthread_barrier_init(&turns, NULL, 2);
        pthread_create(&thread, NULL, run_touch, NULL);
        pthread_barrier_wait(&turns);
        for (int i = 0; i < 3; i++)
            close(open("by-first", O_WRONLY | O_CREAT, 0600));
        pthread_barrier_wait(&turns);
        for (;;)
            pause();
    }
    waitpid(child, NULL, 0);
    report("by the first thread", unlinkat(folder[0], "by-first", 0));
    report("by the one that took its number", unlinkat(folder[1], "by-thread", 0));
}

static int like_folders(char **a)
{
    (void)a;
    folders();
    by_itself();
    by_thread();
    by_process("shared", CLONE_FS);
    by_process("shared, and memory", CLONE_FS | CLONE_VM);
    by_process("copied", 0);
    by_vfork();
    on_the_way();
    by_exec();
    return 0;
}

/* ---- the number of a process that is gone: for e2e-folders.py ---- */

static void say(const char *what)
{
    printf("%s\n", what);
    fflush(stdout);
}

static char hear(int from)
{
    char byte = 0;
    return read(from, &byte, 1) == 1 ? byte : 'n';
}

/* Its children work in folder 1. The test says which of them has the number of one that worked in
 * folder 0. Nobody changes folders meanwhile: that would make the judge forget them. */
static int heir(int begin)
{
    hear(begin);
    for (say("heir"); hear(0) == 'f'; say("again")) {
        pid_t child = fork();
        if (child == 0) {
            say("forked");
            bool meant = hear(0) == 'y';
            if (meant)
                show("with its number");
            fflush(stdout);
            _exit(meant ? 7 : 0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        if (WEXITSTATUS(status) == 7)
            return 0;
    }
    return 1;
}

static int like_heir(char **a)
{
    int begin[2];
    (void)a;
    folders();
    must(pipe(begin), "pipe");
    fchdir(folder[1]);
    show("heir");
    fflush(stdout);
    if (fork() == 0)
        _exit(heir(begin[0]));
    fchdir(folder[0]);
    show("owner");
    fflush(stdout);
    pid_t owner = fork();
    if (owner == 0) {
        show("with its own number");
        say("owner");
        hear(0);
        _exit(0);
    }
    waitpid(owner, NULL, 0);
    must(write(begin[1], "x", 1), "write");
    wait(NULL);
    return 0;
}

/* ---- a change that is not reported ---- */

/* The number is ours: start-up code uses it (kabi.h). It must mislead nobody but the caller. */
static void go_unreported(const char *path)
{
    syscall(SYS_chdir, path, 0, 0, 0, 0, 0xb0c4e1d700000000);
}

static void try_here(const char *what)
{
    printf("%s\n", what);
    for (int i = 0; i < 3; i++) {
        report("create", mkdir("made", 0700));
        report("remove", rmdir("made"));
        report_fd("write", open("victim", O_WRONLY));
        report("unlink", unlink("victim"));
        report("move", rename("sub", "moved"));
    }
}

/* From IN to OUT and back, without a word. */
static int way_unreported(char **a)
{
    chdir(a[0]);
    mkdir("first", 0700);
    mkdir("second", 0700);
    go_unreported(a[1]);
    try_here("in OUT");
    chdir(a[1]);
    mkdir("first", 0700);
    mkdir("second", 0700);
    go_unreported(a[0]);
    try_here("in IN");
    go_unreported(a[1]);
    try_here("in OUT again");
    return 0;
}

const struct attack attacks_like_folders[] = {{"like-folders", 0, like_folders},
                                              {"like-heir", 0, like_heir},
                                              {"way-unreported", 2, way_unreported},
                                              {0}};
