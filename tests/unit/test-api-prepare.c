/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Runs of the library that are prepared and begin later: what they execute, when they are made
 * anew, and that nothing runs before. */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "buckle/buckle.h"
#include "tap.h"

static char dir[PATH_MAX];

static void wait_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static struct buckle_command *shell(const char *script)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    struct buckle_command *c = buckle_command_new(argv);
    buckle_command_directory(c, dir);
    buckle_command_stdio(c, -1, -1, -1);
    return c;
}

/* Prepares it, and lets it become ready. */
static struct buckle_run *prepare(struct buckle_command *c)
{
    struct buckle_run *run = buckle_prepare(c, NULL);
    wait_ms(300);
    return run;
}

static int begin(struct buckle_run *run, const char *script, const int *stdio)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    struct buckle_error *error = NULL;
    int begun = buckle_run_begin(run, script ? argv : NULL, stdio, &error);
    if (begun < 0)
        printf("# %s\n", buckle_error_message(error));
    buckle_error_free(error);
    return begun;
}

static int finish(struct buckle_run *run)
{
    int status = buckle_run_wait(run, NULL) == 0 ? buckle_run_status(run) : -1;
    buckle_run_free(run);
    return status;
}

/* The processes that this one started, as the kernel lists them. */
static void children(char out[256])
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)gettid());
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, out, 255);
    out[n < 0 ? 0 : n] = '\0';
    close(fd);
}

static bool is_there(const char *name)
{
    return access(name, F_OK) == 0;
}

static void put(const char *name, const char *text)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ok(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), "%s is written", name);
    close(fd);
}

static void test_begins(void)
{
    char before[256], after[256], got[64] = {0};
    int out[2];
    struct buckle_command *c = shell("echo own >own");
    struct buckle_run *run = prepare(c);
    ok(run && !is_there("own"), "a prepared run has not run anything");
    is_int(buckle_run_dispatch(run, 0, NULL), 0, "and has not ended");
    children(before);
    is_int(begin(run, NULL, NULL), 0, "its own command");
    children(after);
    is_str(after, before, "in the sandbox that waited");
    is_int(finish(run), 0, "runs");
    ok(is_there("own"), "and did what it does");
    run = prepare(c);
    ok(pipe2(out, O_CLOEXEC) == 0, "a pipe");
    children(before);
    is_int(begin(run, "echo $0 $PWD; exit 7", (int[]){-1, out[1], -1}), 0, "another command");
    children(after);
    is_str(after, before, "in the sandbox that waited as well");
    buckle_command_free(c);
    close(out[1]);
    is_int(finish(run), 7, "with its own status");
    ok(read(out[0], got, sizeof(got) - 1) > 0 && strncmp(got, "sh ", 3) == 0 && strstr(got, dir),
       "its own output, in its folder: %s", got);
    close(out[0]);
    c = shell("exit 5");
    run = buckle_prepare(c, NULL);
    is_int(begin(run, NULL, NULL), 0, "without waiting until it is ready");
    is_int(finish(run), 5, "it runs too");
    buckle_command_free(c);
    ok(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "no process of ours is left");
}

static void count(void *arg, struct buckle_run *run, const struct buckle_event *event)
{
    (void)run;
    *(int *)arg += buckle_event_denied(event) && strstr(buckle_event_target(event), "/outside");
}

static void test_confined(void)
{
    int denied = 0;
    char policy[PATH_MAX + 128];
    ok(mkdir("outside", 0777) == 0, "a folder outside");
    snprintf(policy, sizeof(policy),
             "(version 1)(allow default)(deny file-write* (subpath \"%s/outside\"))", dir);
    struct buckle_command *c = shell("exit 0");
    buckle_command_text(c, "policy.sb", policy, strlen(policy));
    buckle_command_on_event(c, count, &denied);
    struct buckle_run *run = prepare(c);
    is_int(begin(run, "! echo x >outside/outside && echo x >inside", NULL), 0, "another command");
    is_int(finish(run), 0, "is confined as ever");
    is_int(denied, 1, "and reported");
    ok(!is_there("outside/outside") && is_there("inside"), "by the policy");
    buckle_command_free(c);
}

static int begin_after(struct buckle_command *c, void (*change)(void), const char *script,
                       const char *what)
{
    char before[256], after[256];
    struct buckle_run *run = prepare(c);
    wait_ms(700); /* surely: what was read later would not be stale */
    children(before);
    change();
    is_int(begin(run, script, NULL), 0, "%s: it begins", what);
    children(after);
    ok(strcmp(before, after) != 0, "%s: in a sandbox of its own", what);
    return finish(run);
}

static void allow(void)
{
    put("policy.sb", "(version 1)(allow default)");
}

static void deny(void)
{
    put("policy.sb", "(version 1)(allow default)(deny file-write* (subpath \"/\"))");
}

static void replace_folder(void)
{
    ok(rename("sub", "sub-before") == 0 && mkdir("sub", 0755) == 0, "another folder of that name");
}

static void test_stale(void)
{
    char profile[PATH_MAX + 16], sub[PATH_MAX + 16];
    snprintf(profile, sizeof(profile), "%s/policy.sb", dir);
    snprintf(sub, sizeof(sub), "%s/sub", dir);
    allow();
    struct buckle_command *c = shell("exit 0");
    buckle_command_profile(c, profile);
    is_int(begin_after(c, deny, "echo x >denied", "a stricter policy"), 2, "which counts");
    ok(!is_there("denied"), "nothing was written");
    is_int(begin_after(c, allow, "echo x >allowed", "a laxer policy"), 0, "which counts, too");
    buckle_command_free(c);
    ok(mkdir("sub", 0755) == 0, "a folder to work in");
    c = shell("exit 0");
    buckle_command_directory(c, sub);
    is_int(begin_after(c, replace_folder, "echo x >here", "another working folder"), 0, "fine");
    ok(is_there("sub/here") && !is_there("sub-before/here"), "the new one is written to");
    buckle_command_free(c);
}

static void test_refused(void)
{
    struct buckle_error *error = NULL;
    struct buckle_command *c = shell("echo x >ran");
    struct buckle_run *run = prepare(c);
    buckle_run_free(run);
    wait_ms(100);
    ok(!is_there("ran"), "a prepared run that is freed runs nothing");
    ok(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "and leaves no process");
    run = prepare(c);
    is_int(begin(run, "exit 0", NULL), 0, "once");
    is_int(begin(run, "exit 0", NULL), -1, "and not twice");
    is_int(finish(run), 0, "which does not harm it");
    run = buckle_start(c, NULL);
    is_int(begin(run, "exit 0", NULL), -1, "nor a run that was started");
    finish(run);
    run = prepare(c);
    buckle_run_cancel(run);
    is_int(begin(run, "exit 0", NULL), -1, "nor one that was cancelled");
    buckle_run_free(run);
    buckle_command_rule(c, "allow-everything", "/");
    run = prepare(c);
    is_int(buckle_run_begin(run, NULL, NULL, &error), -1, "a rule that nobody knows");
    ok(error && strstr(buckle_error_message(error), "allow-everything"), "is named");
    buckle_error_free(error);
    buckle_run_free(run);
    buckle_command_free(c);
}

/* The limit begins with the command. */
static void test_timeout(void)
{
    struct buckle_command *c = shell("exit 0");
    buckle_command_timeout(c, 250);
    struct buckle_run *run = prepare(c);
    wait_ms(200);
    is_int(begin(run, "exit 3", NULL), 0, "after more than its time");
    is_int(finish(run), 3, "a command has all of it");
    run = prepare(c);
    is_int(begin(run, "sleep 60", NULL), 0, "a command that takes longer");
    is_int(finish(run), 124, "is ended");
    buckle_command_free(c);
}

/* A program that is killed while it holds one. */
static void test_orphan(void)
{
    int alive[2];
    char byte;
    ok(pipe2(alive, O_CLOEXEC) == 0, "a pipe");
    pid_t pid = fork();
    if (pid == 0) {
        struct buckle_command *c = shell("echo x >orphan");
        buckle_command_stdio(c, -1, alive[1], -1);
        struct buckle_run *run = prepare(c);
        raise(run ? SIGKILL : SIGTERM);
    }
    close(alive[1]);
    is_int(waitpid(pid, NULL, 0), pid, "a program that dies");
    is_int((int)read(alive[0], &byte, 1), 0, "takes what waits along");
    ok(!is_there("orphan"), "which ran nothing");
    close(alive[0]);
}

int main(void)
{
    char name[] = "/tmp/buckle-prepare-XXXXXX", remove[64];
    if (!mkdtemp(name) || !realpath(name, dir) || chdir(dir) < 0)
        return 1;
    test_begins();
    test_confined();
    test_stale();
    test_refused();
    test_timeout();
    test_orphan();
    snprintf(remove, sizeof(remove), "rm -rf %s", name);
    ok(chdir("/") == 0 && system(remove) == 0, "clean");
    return done_testing();
}
