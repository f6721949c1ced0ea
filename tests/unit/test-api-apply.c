/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* A process that sandboxes itself. Each attempt is made by a child, which tells what it met as its
 * exit status; as root the whole is done once more as somebody else. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "buckle/buckle.h"
#include "tap.h"

static char dir[PATH_MAX], outside[PATH_MAX]; /* where the child is, and where it is not */
static int report[2], reported[2], hint[2];
static uid_t who;

/* ---- what children do ---- */

static const char *policy = NULL; /* NULL: the default profile */

static int apply(void)
{
    struct buckle_error *error = NULL;
    struct buckle_command *c = buckle_command_new(NULL);
    if (policy)
        buckle_command_text(c, "mine", policy, strlen(policy));
    int got = buckle_apply(c, report[1], &error);
    if (got < 0)
        printf("# %s\n", buckle_error_message(error));
    int half = got < 0 && buckle_error_half(error);
    buckle_error_free(error);
    buckle_command_free(c);
    return half ? -2 : got;
}

/* 0, or the errno of making that file. */
static int make(const char *folder, const char *name)
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    if (fd >= 0)
        close(fd);
    return fd < 0 ? errno : 0;
}

static int is_confined(void)
{
    return make(dir, "in") == 0 && make(outside, "out") == EPERM;
}

static int child_is_held(void)
{
    pid_t before = getpid();
    if (apply() < 0)
        return 1;
    if (getpid() != before || waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD)
        return 2; /* it is itself, and has no child it does not know */
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    return is_confined() && fd < 0 ? 0 : 3;
}

static int child_of_it_is_held(void)
{
    char script[PATH_MAX + 64];
    snprintf(script, sizeof(script), "echo x > in2 && ! echo x > %s/out2", outside);
    if (apply() < 0)
        return 1;
    fclose(stderr);
    close(2);
    return system(script) == 0 ? 0 : 2;
}

static void *try_in_thread(void *arg)
{
    *(int *)arg = is_confined();
    return NULL;
}

static int thread_of_it_is_held(void)
{
    pthread_t thread;
    int held = 0;
    if (apply() < 0 || pthread_create(&thread, NULL, try_in_thread, &held) != 0)
        return 1;
    pthread_join(thread, NULL);
    return held ? 0 : 2;
}

static int orphan_is_held(void)
{
    int ready[2];
    char byte;
    if (pipe(ready) < 0 || apply() < 0)
        return 1;
    pid_t middle = fork();
    if (middle == 0) {
        if (fork() == 0) {
            close(ready[1]);
            (void)!read(ready[0], &byte, 1);
            byte = is_confined() ? 'y' : 'n';
            (void)!write(reported[1], &byte, 1);
        }
        _exit(0);
    }
    waitpid(middle, NULL, 0);
    close(ready[0]);
    close(ready[1]); /* go on when we are gone */
    return 0;
}

static int secret_is_unread(void)
{
    if (apply() < 0)
        return 1;
    struct stat st;
    bool seen = stat("secret", &st) == 0;
    int fd = open("secret", O_RDONLY), other = open("plain", O_RDONLY);
    return seen && fd < 0 && errno == EPERM && other >= 0 ? 0 : 2;
}

static int programs_are_distinguished(void)
{
    if (apply() < 0)
        return 1;
    return system("exit 3") != 3 << 8 && make(dir, "in3") == 0 ? 0 : 2;
}

static void *sleep_on(void *arg)
{
    pause();
    return arg;
}

static int threads_are_refused(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, sleep_on, NULL);
    return apply() == -1 && make(outside, "out") == 0 ? 0 : 1;
}

static int is_refused(void)
{
    return apply() == -1 && make(outside, "out") == 0 ? 0 : 1;
}

/* ---- against the judge ---- */

/* The judge: the youngest that is called so and runs this program, which only those outside can
 * see. */
static pid_t find_judge(void)
{
    char own[PATH_MAX], path[300], text[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
    pid_t found = 0;
    DIR *d = opendir("/proc");
    for (struct dirent *e; d && n > 0 && (e = readdir(d));) {
        pid_t pid = atoi(e->d_name);
        snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
        FILE *f = pid > 0 ? fopen(path, "r") : NULL;
        bool named = f && fgets(text, sizeof(text), f) && strcmp(text, "buckle-judge\n") == 0;
        if (f)
            fclose(f);
        snprintf(path, sizeof(path), "/proc/%s/exe", e->d_name);
        if (named && readlink(path, text, sizeof(text)) == n && memcmp(text, own, (size_t)n) == 0 &&
            pid > found)
            found = pid;
    }
    if (d)
        closedir(d);
    return found;
}

/* As somebody outside says. */
static pid_t ask_for_judge(void)
{
    pid_t judge = 0;
    bool received = write(reported[1], "?", 1) == 1 && read(hint[0], &judge, sizeof(judge)) > 0;
    return received ? judge : 0;
}

static int judge_is_out_of_reach(void)
{
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {1, &allow};
    char path[64];
    if (apply() < 0)
        return 1;
    pid_t judge = ask_for_judge();
    if (judge <= 0)
        return 2;
    snprintf(path, sizeof(path), "/proc/%d/mem", judge);
    if (open(path, O_RDWR) >= 0 || open(path, O_RDONLY) >= 0)
        return 3;
    if (ptrace(PTRACE_ATTACH, judge, NULL, NULL) == 0)
        return 4;
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program) >=
        0)
        return 5;
    if (kill(judge, SIGKILL) == 0)
        return 6;
    return is_confined() ? 0 : 7;
}

/* Without any rule about files a process still has no way into the one that judges it. */
static int judge_is_never_in_reach(void)
{
    char path[64];
    if (apply() < 0)
        return 1;
    pid_t judge = ask_for_judge();
    snprintf(path, sizeof(path), "/proc/%d/mem", judge);
    if (judge <= 0)
        return 2;
    return open(path, O_RDWR) < 0 && ptrace(PTRACE_ATTACH, judge, NULL, NULL) < 0 ? 0 : 3;
}

static int lost_judge_opens_nothing(void)
{
    if (apply() < 0)
        return 1;
    if (ask_for_judge() <= 0) /* the one that reported it has killed it */
        return 4;
    if (make(outside, "out") == 0)
        return 2;
    return make(dir, "in4") == ENOSYS ? 0 : 3;
}

/* ---- running them ---- */

static int become_somebody(void)
{
    if (who == 0)
        return 0;
    if (setgid(who) < 0 || setuid(who) < 0)
        return -1;
    return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

static pid_t begin(int (*fn)(void))
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        int status = become_somebody() < 0 ? 99 : fn();
        fflush(stdout);
        _exit(status);
    }
    return pid;
}

static int end(pid_t pid)
{
    int status = -1;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int try(int (*fn)(void), const char *text)
{
    policy = text;
    return end(begin(fn));
}

static void test_held(const char *as)
{
    is_int(try(child_is_held, NULL), 0, "%s: a process sandboxes itself", as);
    is_int(try(child_of_it_is_held, NULL), 0, "%s: and what it starts", as);
    is_int(try(thread_of_it_is_held, NULL), 0, "%s: and its threads", as);
    char answer = 0;
    is_int(try(orphan_is_held, NULL), 0, "%s: one that ends before what it started", as);
    ok(read(reported[0], &answer, 1) == 1 && answer == 'y', "%s: which stays inside", as);
    is_int(try(secret_is_unread,
               "(version 1) (allow default) (deny file-read-data (regex #\"/secret$\"))"),
           0, "%s: reading is judged", as);
    is_int(try(programs_are_distinguished,
               "(version 1) (allow default) (deny process-exec* (regex #\"/(ba|da)?sh$\"))"),
           0, "%s: so is executing, and the process itself goes on", as);
}

static void test_refused(const char *as)
{
    is_int(try(threads_are_refused, NULL), 0, "%s: not with threads", as);
    is_int(try(is_refused, "(version 1) (allow default) (deny network*) "
                           "(allow network-outbound (domain \"example.com\"))"),
           0, "%s: not hosts by name", as);
    is_int(try(is_refused, "(version 1) (allow dfault)"), 0, "%s: not a mistake", as);
}

/* Tells the child who judges it, and ends that one first if wanted. */
static int try_with_hint(int (*fn)(void), const char *text, bool ends)
{
    char byte;
    policy = text;
    pid_t pid = begin(fn);
    if (read(reported[0], &byte, 1) != 1)
        return -1;
    pid_t judge = find_judge();
    if (ends && judge > 1) {
        kill(judge, SIGKILL);
        usleep(200000);
    }
    (void)!write(hint[1], &judge, sizeof(judge));
    return end(pid);
}

static void test_judge(const char *as)
{
    is_int(try_with_hint(judge_is_out_of_reach, NULL, false), 0, "%s: the judge is out of reach",
           as);
    is_int(try_with_hint(judge_is_never_in_reach,
                         "(version 1) (allow default) (deny file-write* (subpath \"/nowhere\"))",
                         false),
           0, "%s: even where little is denied", as);
    is_int(try_with_hint(lost_judge_opens_nothing, NULL, true), 0,
           "%s: a judge that is killed from outside opens nothing", as);
}

static void drain(void)
{
    char text[65536];
    while (read(report[0], text, sizeof(text)) > 0)
        ;
}

static void test_report(const char *as)
{
    char text[65536] = {0}, path[PATH_MAX + 8];
    snprintf(path, sizeof(path), "%s/out", outside);
    unlink(path);
    drain();
    try(child_is_held, NULL);
    for (int i = 0; i < 50 && !strstr(text, outside); i++) {
        size_t n = strlen(text);
        usleep(20000);
        (void)!read(report[0], text + n, sizeof(text) - 1 - n);
    }
    ok(strstr(text, "\"operation\": \"file-write-create\"") && strstr(text, outside) &&
           strstr(text, "default.sb"),
       "%s: denials are told, with their rule", as);
    pid_t left = 1;
    for (int i = 0; i < 100 && left; i++) {
        usleep(20000);
        left = find_judge();
    }
    is_int(left, 0, "%s: no judge is left behind", as);
}

static void test_all(const char *as)
{
    test_held(as);
    test_refused(as);
    fcntl(report[0], F_SETFL, O_NONBLOCK);
    test_report(as);
    drain();
    fcntl(report[0], F_SETFL, 0);
    test_judge(as);
}

static bool make_place(const char *pattern, char out[PATH_MAX])
{
    char name[64];
    snprintf(name, sizeof(name), "%s", pattern);
    return mkdtemp(name) && chmod(name, 0777) == 0 && realpath(name, out);
}

int main(void)
{
    char remove[2 * PATH_MAX + 32];
    if (!make_place("/var/tmp/buckle-apply-XXXXXX", dir) ||
        !make_place("/var/tmp/buckle-beside-XXXXXX", outside) || chdir(dir) < 0 ||
        pipe(report) < 0 || pipe(reported) < 0 || pipe(hint) < 0)
        return 1;
    int fd = open("secret", O_CREAT | O_WRONLY, 0644),
        plain = open("plain", O_CREAT | O_WRONLY, 0644);
    close(fd);
    close(plain);
    test_all(geteuid() == 0 ? "root" : "user");
    if (geteuid() == 0) {
        who = 4242;
        snprintf(remove, sizeof(remove), "rm -f %s/* %s/in*", outside, dir);
        ok(system(remove) == 0, "once more as somebody else");
        test_all("user");
    }
    snprintf(remove, sizeof(remove), "rm -rf %s %s", dir, outside);
    ok(chdir("/") == 0 && system(remove) == 0, "clean");
    return done_testing();
}
