/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Commands run by the library: how they end, what they report while they run, what can be said to
 * them, from one thread and from many. */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "buckle/buckle.h"
#include "tap.h"

static char dir[PATH_MAX];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct buckle_command *shell(const char *script)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    struct buckle_command *c = buckle_command_new(argv);
    buckle_command_directory(c, dir);
    buckle_command_stdio(c, -1, -1, -1);
    return c;
}

/* Starts it and frees the command. */
static struct buckle_run *start(struct buckle_command *c)
{
    struct buckle_error *error = NULL;
    struct buckle_run *run = buckle_start(c, &error);
    if (!run) {
        printf("# %s\n", buckle_error_message(error));
        buckle_error_free(error);
    }
    buckle_command_free(c);
    return run;
}

/* Its status, or -1. */
static int finish(struct buckle_run *run)
{
    struct buckle_error *error = NULL;
    if (run && buckle_run_wait(run, &error) == 0)
        return buckle_run_status(run);
    if (error)
        printf("# %s\n", buckle_error_message(error));
    buckle_error_free(error);
    return -1;
}

static int run_to_end(struct buckle_command *c)
{
    struct buckle_run *run = start(c);
    int status = finish(run);
    buckle_run_free(run);
    return status;
}

/* ---- ends ---- */

static void test_ends(void)
{
    is_int(run_to_end(shell("exit 0")), 0, "a command that succeeds");
    is_int(run_to_end(shell("exit 41")), 41, "its own status");
    struct buckle_run *run = start(shell("kill -9 $$"));
    is_int(finish(run), 128 + SIGKILL, "a signal, as shells have it");
    is_int(buckle_run_signal_number(run), SIGKILL, "and by its number");
    ok(!buckle_run_cancelled(run) && !buckle_run_timed_out(run), "and nobody else's doing");
    buckle_run_free(run);
    struct buckle_command *c = shell("sleep 60 & sleep 60");
    buckle_command_timeout(c, 200);
    double begin = now();
    run = start(c);
    is_int(finish(run), 124, "a time limit");
    ok(buckle_run_timed_out(run) && !buckle_run_cancelled(run), "which is not a cancellation");
    ok(now() - begin < 5, "and is kept");
    buckle_run_free(run);
    c = shell("kill -STOP $$; exit 3");
    buckle_command_timeout(c, 300);
    is_int(run_to_end(c), 124, "a command that stopped itself is ended by its time limit");
    ok(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "no process of ours is left");
}

static void test_failures(void)
{
    struct buckle_error *error = NULL;
    const char *const argv[] = {"/nowhere/at/all", NULL};
    struct buckle_command *c = buckle_command_new(argv);
    buckle_command_directory(c, dir);
    struct buckle_run *run = start(c);
    is_int(buckle_run_wait(run, &error), -1, "a program that is not there");
    ok(error && strstr(buckle_error_message(error), "/nowhere/at/all"), "is named");
    buckle_error_free(error);
    error = NULL;
    is_int(buckle_run_wait(run, &error), -1, "and told again to who asks again");
    buckle_error_free(error);
    is_int(buckle_run_status(run), -1, "there is no status");
    buckle_run_free(run);
    c = shell("exit 0");
    const char *text = "(version 1)\n(allow default)\n(allow file-reed*)\n";
    buckle_command_text(c, "mine.sb", text, strlen(text));
    run = start(c);
    error = NULL;
    is_int(buckle_run_wait(run, &error), -1, "a policy with a mistake");
    ok(error && strstr(buckle_error_report(error), "mine.sb:3:"), "the error names its line");
    ok(error && strstr(buckle_error_report(error), "file-reed*"), "and its word");
    buckle_error_free(error);
    buckle_run_free(run);
    c = shell("exit 0");
    buckle_command_rule(c, "allow-everything", "/");
    is_int(run_to_end(c), -1, "a rule that nobody knows");
    c = shell("exit 0");
    buckle_command_directory(c, "/nowhere/at/all");
    is_int(run_to_end(c), -1, "a directory that is not there");
    c = buckle_command_new(NULL);
    ok(!buckle_start(c, NULL), "no command at all");
    buckle_command_free(c);
}

/* ---- what it is given ---- */

static void test_given(void)
{
    int out[2], kept[2];
    char got[4096] = {0};
    if (pipe(out) < 0 || pipe(kept) < 0)
        return;
    struct buckle_command *c = shell("echo $MINE $A_TOKEN $B_TOKEN; pwd; cat; echo kept >&$K; "
                                     "echo e >&2; (echo leaked >&$L) 2>/dev/null");
    char number[16], leak[16];
    snprintf(number, sizeof(number), "%d", kept[1]);
    snprintf(leak, sizeof(leak), "%d", kept[0]);
    setenv("A_TOKEN", "a", 1);
    setenv("B_TOKEN", "b", 1);
    buckle_command_set_env(c, "MINE", "m");
    buckle_command_set_env(c, "K", number);
    buckle_command_set_env(c, "L", leak);
    buckle_command_keep_env(c, "B_TOKEN");
    buckle_command_stdio(c, -1, out[1], out[1]);
    buckle_command_keep_fd(c, kept[1]);
    struct buckle_run *run = start(c);
    finish(run);
    buckle_run_free(run);
    close(out[1]);
    close(kept[1]);
    size_t n = 0;
    for (ssize_t more;
         n < sizeof(got) - 1 && (more = read(out[0], got + n, sizeof(got) - 1 - n)) > 0;)
        n += (size_t)more;
    char want[PATH_MAX + 64];
    snprintf(want, sizeof(want), "m b\n%s\ne\n", dir);
    is_str(got, want, "environment, directory, input and output are what was said");
    memset(got, 0, sizeof(got));
    ok(read(kept[0], got, sizeof(got) - 1) == 5 && strcmp(got, "kept\n") == 0,
       "a descriptor that is kept, and none that is not");
    close(out[0]);
    close(kept[0]);
}

/* Nothing of ours is in its hands: no socket to answer questions or grant anything by. */
static void test_not_given(void)
{
    struct buckle_command *c =
        shell("for f in /proc/self/fd/*; do case $(readlink $f) in socket:*|anon_inode:*) exit 1; "
              "esac; done; set -- /proc/[0-9]*; [ $# -lt 20 ] || exit 2; exit 0");
    buckle_command_flag(c, BUCKLE_GRANTABLE, 1);
    is_int(run_to_end(c), 0, "a command holds no socket of ours, and sees none of our processes");
}

static void test_policies(void)
{
    struct buckle_command *c = shell("echo x > in && ! echo x > /var/tmp/buckle-out");
    is_int(run_to_end(c), 0, "without a policy: the default profile");
    c = shell("echo x > in");
    buckle_command_profile(c, "readonly");
    ok(run_to_end(c) > 0, "a shipped profile by name");
    c = shell("! echo x > in2 && echo x > in");
    buckle_command_rule(c, "deny-write", "in2");
    is_int(run_to_end(c), 0, "a rule, as a flag");
    c = shell("echo x > in && ! echo x > shut/in");
    char settings[PATH_MAX + 128];
    mkdir("shut", 0700);
    snprintf(settings, sizeof(settings),
             "{\"filesystem\": {\"allowWrite\": [\".\"], \"denyWrite\": [\"shut\"]}}");
    buckle_command_settings(c, settings, strlen(settings));
    is_int(run_to_end(c), 0, "settings in the profile's place");
    c = shell("! echo x > shut/in");
    buckle_command_settings(c, settings, strlen(settings));
    buckle_command_rule(c, "allow-write", "shut");
    is_int(run_to_end(c), 0, "what settings deny no rule opens");
    c = shell("exit 0");
    buckle_command_settings(c, "{\"filesystem\": 3}", 17);
    is_int(run_to_end(c), -1, "settings of the wrong shape");
    c = shell("test $(cat file) = 7");
    const char *text = "(version 1) (allow default) (deny file-write* (subpath (param \"P\")))";
    buckle_command_text(c, "mine", text, strlen(text));
    buckle_command_param(c, "P", dir);
    ok(run_to_end(c) != 0 && access("file", F_OK) < 0, "a text alone is the whole policy");
    struct buckle_error *error = NULL;
    c = shell("exit 0");
    char *plan = buckle_plan(c, 0, &error), *json = buckle_plan(c, 1, &error);
    ok(plan && strstr(plan, "file-write"), "a plan in words");
    ok(json && json[0] == '{', "and as JSON");
    buckle_free(plan);
    buckle_free(json);
    buckle_command_text(c, "bad", "(", 1);
    ok(!buckle_plan(c, 0, &error) && error && strstr(buckle_error_report(error), "bad:1"),
       "a plan of a policy with a mistake");
    buckle_error_free(error);
    buckle_command_free(c);
}

/* ---- events ---- */

struct seen {
    atomic_int events, questions, withdrawn;
    char line[512], operation[64], target[512], json[2048];
    uint32_t id;
    pthread_t in;
    struct buckle_run *run;
    const char *grant;
    enum buckle_answer answer;
    int granted;
};

static void on_event(void *arg, struct buckle_run *run, const struct buckle_event *e)
{
    struct seen *s = arg;
    if (!buckle_event_denied(e))
        return;
    s->in = pthread_self();
    s->run = run;
    snprintf(s->line, sizeof(s->line), "%s", buckle_event_line(e));
    snprintf(s->operation, sizeof(s->operation), "%s", buckle_event_operation(e));
    snprintf(s->target, sizeof(s->target), "%s", buckle_event_target(e));
    snprintf(s->json, sizeof(s->json), "%s", buckle_event_json(e));
    if (s->events++ == 0 && s->grant)
        s->granted = buckle_run_grant(run, "allow-write", s->grant, NULL, NULL);
}

static void test_events(void)
{
    struct seen s = {0};
    struct buckle_store *store = buckle_store_new(0);
    struct buckle_command *c = shell("echo x > /var/tmp/buckle-out; echo y > /var/tmp/buckle-out");
    buckle_command_on_event(c, on_event, &s);
    buckle_command_store(c, store, 7, "the command");
    struct buckle_run *run = start(c);
    finish(run);
    is_int(s.events, 2, "each denial is reported");
    is_str(s.operation, "file-write-create", "by its operation");
    is_str(s.target, "/var/tmp/buckle-out", "and what it was about");
    ok(strstr(s.json, "\"rule\": {") && strstr(s.json, "default.sb"), "with the rule behind it");
    ok(s.run == run && pthread_equal(s.in, pthread_self()), "in the thread that dispatches");
    struct buckle_violations *v = buckle_store_get(store, 0, 7, NULL, 0);
    is_int((int)buckle_violations_count(v), 2, "the store has them");
    is_str(buckle_violation_command(v, 0), "the command", "as those of the command");
    is_str(buckle_violation_line(v, 1), s.line, "in the same words");
    char *annotated = buckle_annotate("oops\n", 5, v);
    ok(strstr(annotated, "oops\n\n<sandbox_violations>\n") && strstr(annotated, s.line),
       "for an agent to read");
    char *plain = buckle_strip(annotated, strlen(annotated));
    is_str(plain, "oops", "and for a person not to");
    buckle_free(annotated);
    buckle_free(plain);
    buckle_violations_free(v);
    buckle_run_free(run);
    buckle_store_free(store);
}

/* Nobody listens while it runs: it is not held up, and nothing is forgotten. */
static void test_late_listener(void)
{
    struct seen s = {0};
    struct buckle_command *c = shell(
        "i=0; while [ $i -lt 300 ]; do echo > /var/tmp/buckle-out; i=$((i+1)); done; : > end");
    buckle_command_on_event(c, on_event, &s);
    unlink("end");
    struct buckle_run *run = start(c);
    for (int i = 0; i < 200 && access("end", F_OK) < 0; i++)
        usleep(50000);
    ok(access("end", F_OK) == 0, "a command runs on when nobody dispatches");
    is_int(finish(run), 0, "and ends");
    is_int(s.events, 300, "its events wait");
    buckle_run_free(run);
}

static void test_poll(void)
{
    struct seen s = {0};
    struct buckle_command *c = shell("sleep 0.3; echo > /var/tmp/buckle-out; sleep 0.3; exit 5");
    buckle_command_on_event(c, on_event, &s);
    struct buckle_run *run = start(c);
    is_int(buckle_run_dispatch(run, 0, NULL), 0, "dispatching does not wait when told so");
    struct pollfd p = {buckle_run_fd(run), POLLIN, 0};
    is_int(poll(&p, 1, 5000), 1, "its descriptor tells of an event");
    while (s.events == 0 && buckle_run_dispatch(run, 0, NULL) == 0)
        poll(&p, 1, 1000);
    is_int(s.events, 1, "which is there then");
    int ended;
    while ((ended = buckle_run_dispatch(run, 0, NULL)) == 0)
        poll(&p, 1, 5000);
    ok(ended == 1 && buckle_run_status(run) == 5, "and tells of the end");
    is_int(poll(&p, 1, 0), 1, "for good");
    buckle_run_free(run);
}

/* ---- from elsewhere ---- */

static void *cancel_soon(void *arg)
{
    usleep(300000);
    buckle_run_cancel(arg);
    return NULL;
}

static void test_cancel(void)
{
    pthread_t other;
    struct buckle_run *run = start(shell("sleep 100 & sleep 100"));
    double begin = now();
    pthread_create(&other, NULL, cancel_soon, run);
    is_int(finish(run), 128 + SIGTERM, "cancelled from another thread");
    ok(buckle_run_cancelled(run) && !buckle_run_timed_out(run), "and reported as cancelled");
    ok(now() - begin < 2, "at once, when it takes the hint");
    pthread_join(other, NULL);
    is_int(buckle_run_cancel(run), -1, "an end cannot be cancelled");
    buckle_run_free(run);
    run = start(shell("trap '' TERM; while :; do sleep 0.1; done"));
    begin = now();
    usleep(300000);
    buckle_run_cancel(run);
    is_int(finish(run), 128 + SIGKILL, "one that does not take it");
    ok(now() - begin > 1.5 && now() - begin < 6, "is ended after a while");
    buckle_run_free(run);
    unlink("ready");
    run = start(shell("trap 'exit 9' USR1; : > ready; while :; do sleep 0.05; done"));
    for (int i = 0; i < 100 && access("ready", F_OK) < 0; i++)
        usleep(50000);
    is_int(buckle_run_signal(run, SIGUSR1), 0, "a signal is passed on");
    is_int(finish(run), 9, "and arrives");
    buckle_run_free(run);
    unlink("alive");
    run = start(shell("(while :; do : > alive; sleep 0.05; done) & sleep 100"));
    for (int i = 0; i < 100 && access("alive", F_OK) < 0; i++)
        usleep(50000);
    buckle_run_free(run);
    unlink("alive");
    usleep(300000);
    ok(access("alive", F_OK) < 0, "a run that is freed ends, with all it started");
}

/* The program goes: so does what it runs. */
static void test_orphan(void)
{
    unlink("alive");
    pid_t pid = fork();
    if (pid == 0) {
        start(shell("while :; do : > alive; sleep 0.05; done"));
        for (int i = 0; i < 100 && access("alive", F_OK) < 0; i++)
            usleep(50000);
        kill(getpid(), SIGKILL);
    }
    waitpid(pid, NULL, 0);
    bool was = access("alive", F_OK) == 0;
    usleep(500000);
    unlink("alive");
    usleep(300000);
    ok(was && access("alive", F_OK) < 0, "a command ends with the program that ran it");
}

static void test_changes(void)
{
    struct seen s = {.grant = dir};
    struct buckle_error *error = NULL;
    char *waits = NULL, script[256];
    const char *tries = "i=0; until echo > %s || [ $i -ge 200 ]; do i=$((i+1)); sleep 0.05; done; "
                        "[ $i -lt 200 ]";
    snprintf(script, sizeof(script), tries, "closed");
    struct buckle_command *c = shell(script);
    buckle_command_profile(c, "readonly");
    buckle_command_flag(c, BUCKLE_GRANTABLE, 1);
    buckle_command_on_event(c, on_event, &s);
    is_int(run_to_end(c), 0, "a grant, from the callback that hears of the denial");
    is_int(s.granted, 0, "succeeds");
    unlink("closed");
    c = shell(script);
    const char *shut = "{\"filesystem\": {\"allowWrite\": []}}";
    const char *opened = "{\"filesystem\": {\"allowWrite\": [\".\"]}}";
    buckle_command_settings(c, shut, strlen(shut));
    buckle_command_flag(c, BUCKLE_UPDATABLE, 1);
    struct buckle_run *run = start(c);
    usleep(300000);
    is_int(buckle_run_update_settings(run, "{", 1, NULL, &error), -1, "settings with a mistake");
    ok(error && buckle_error_message(error)[0], "are refused in words");
    buckle_error_free(error);
    is_int(buckle_run_dispatch(run, 0, NULL), 0, "and the command goes on");
    is_int(buckle_run_update_settings(run, opened, strlen(opened), &waits, NULL), 0,
           "other settings for a running command");
    is_int(finish(run), 0, "are in force at its next call");
    buckle_free(waits);
    is_int(buckle_run_grant(run, "allow-read", "/", NULL, NULL), -1, "nothing after its end");
    buckle_run_free(run);
    unlink("closed");
    c = shell(script);
    buckle_command_profile(c, "readonly");
    buckle_command_flag(c, BUCKLE_UPDATABLE, 1);
    run = start(c);
    const char *text = "(version 1) (allow default)";
    is_int(buckle_run_grant(run, "allow-all", "/", NULL, NULL), -1, "an unknown grant");
    is_int(buckle_run_update_text(run, text, strlen(text), NULL, NULL), 0, "a text");
    is_int(finish(run), 0, "in force as well");
    buckle_run_free(run);
}

/* ---- macOS's means ---- */

static void write_program(const char *name, const char *text)
{
    FILE *f = fopen(name, "w");
    if (f && fputs(text, f) >= 0)
        fchmod(fileno(f), 0755);
    if (f)
        fclose(f);
}

/* With programs in the place of macOS's: what the library makes of it is the same. */
static void test_seatbelt(void)
{
    char path[PATH_MAX + 600], old[512];
    snprintf(old, sizeof(old), "%s", getenv("PATH"));
    snprintf(path, sizeof(path), "%s/bin:%s", dir, old);
    mkdir("bin", 0755);
    write_program("bin/sandbox-exec", "#!/bin/sh\nshift 2\nexec \"$@\"\n");
    write_program("bin/log", "#!/bin/sh\nexec sleep 60\n");
    setenv("PATH", path, 1);
    setenv("BUCKLE_BACKEND", "seatbelt", 1);
    is_int(run_to_end(shell("exit 17")), 17, "macOS: a command's status");
    unlink("ready");
    struct buckle_run *run = start(shell(": > ready; exec sleep 60"));
    for (int i = 0; i < 100 && access("ready", F_OK) < 0; i++)
        usleep(50000);
    is_int(buckle_run_grant(run, "allow-read", "/", NULL, NULL), -1, "macOS: no grants");
    is_int(buckle_run_cancel(run), 0, "macOS: a command is cancelled");
    is_int(finish(run), 128 + SIGTERM, "macOS: and ends");
    ok(buckle_run_cancelled(run), "macOS: by that");
    buckle_run_free(run);
    unsetenv("BUCKLE_BACKEND");
    setenv("PATH", old, 1);
}

/* ---- questions ---- */

static void *answer_soon(void *arg)
{
    struct seen *s = arg;
    usleep(100000);
    buckle_run_answer(s->run, s->id, s->answer);
    return NULL;
}

static void on_question(void *arg, struct buckle_run *run, const struct buckle_question *q)
{
    struct seen *s = arg;
    pthread_t other;
    if (buckle_question_withdrawn(q)) {
        s->withdrawn++;
        return;
    }
    s->questions++;
    s->run = run;
    s->id = buckle_question_id(q);
    snprintf(s->target, sizeof(s->target), "%s:%u", buckle_question_host(q),
             buckle_question_port(q));
    if ((int)s->answer >= 0 && pthread_create(&other, NULL, answer_soon, s) == 0)
        pthread_detach(other);
}

/* 192.0.2.1 is nobody's; and who is refused does not even try. */
static int ask(struct seen *s, uint32_t wait_ms)
{
    const char *const argv[] = {
        "bash", "-c", "exec 3<>/dev/tcp/192.0.2.1/80; echo hello >&3; read -r x <&3", NULL};
    struct buckle_command *c = buckle_command_new(argv);
    buckle_command_directory(c, dir);
    buckle_command_stdio(c, -1, -1, -1);
    buckle_command_on_question(c, on_question, s, wait_ms);
    return run_to_end(c);
}

static void test_questions(void)
{
    struct seen no = {.answer = BUCKLE_ANSWER_DENY}, never = {.answer = (enum buckle_answer) - 1};
    ok(ask(&no, 0) != 0 && no.questions == 1, "a host that no rule names is asked about");
    is_str(no.target, "192.0.2.1:80", "by name and port");
    double begin = now();
    ok(ask(&never, 300) != 0 && never.questions == 1, "and refused when nobody answers");
    ok(now() - begin < 10, "in time");
    is_int(no.withdrawn + never.withdrawn, 1, "which is reported");
}

/* ---- many ---- */

static void *run_many(void *arg)
{
    int *good = arg;
    for (int i = 0; i < 4; i++) {
        struct seen s = {0};
        char script[96];
        snprintf(script, sizeof(script), "echo > /var/tmp/buckle-out; exit %d", 10 + i);
        struct buckle_command *c = shell(script);
        buckle_command_on_event(c, on_event, &s);
        *good += run_to_end(c) == 10 + i && s.events == 1;
    }
    return NULL;
}

static void test_many(void)
{
    /* A sanitizer's malloc(), unlike the C library's, may be locked by another thread at a fork(),
     * and stays so in the child. */
    enum { THREADS = SANITIZED_MALLOC ? 1 : 6 };
    pthread_t threads[THREADS];
    int good[THREADS] = {0}, sum = 0;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run_many, &good[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sum += good[i];
    }
    is_int(sum, THREADS * 4, "several threads, several runs each, each with its own events");
    struct buckle_run *runs[8];
    for (int i = 0; i < 8; i++) {
        char script[32];
        snprintf(script, sizeof(script), "sleep 0.2; exit %d", i);
        runs[i] = start(shell(script));
    }
    sum = 0;
    for (int i = 7; i >= 0; i--) {
        sum += finish(runs[i]) == i;
        buckle_run_free(runs[i]);
    }
    is_int(sum, 8, "several at once from one thread");
}

/* What decides about sandboxes, under a policy that allows everything. */
static void test_own_places(void)
{
    static const char free[] = "(version 1)(allow default)";
    struct buckle_command *c =
        shell("echo x >plain && ! mkdir .buckle && ! echo x >.srt-settings.json");
    buckle_command_text(c, "free.sb", free, strlen(free));
    struct buckle_run *run = start(c);
    is_int(finish(run), 0, "a policy that allows everything does not open Buckle's settings");
    buckle_run_free(run);
}

int main(void)
{
    char name[] = "/tmp/buckle-api-XXXXXX", remove[64];
    if (!mkdtemp(name) || !realpath(name, dir) || chdir(dir) < 0)
        return 1;
    test_ends();
    test_failures();
    test_given();
    test_not_given();
    test_policies();
    test_events();
    test_late_listener();
    test_poll();
    test_cancel();
    test_orphan();
    test_changes();
    test_seatbelt();
    test_questions();
    test_many();
    test_own_places();
    snprintf(remove, sizeof(remove), "rm -rf %s", name);
    ok(chdir("/") == 0 && system(remove) == 0, "clean");
    return done_testing();
}
