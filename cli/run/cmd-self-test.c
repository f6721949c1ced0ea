/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * `buckle self-test`: shows on this machine what `buckle doctor` concludes from probes. Each trial
 * runs this program as a user would, in a folder of its own, with a command that tries something,
 * and then looks from outside whether it happened. Nothing leaves the machine: the server that a
 * command may or may not reach is a child of this process.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "base/remove-tree.h"
#include "cli/args.h"
#include "cli/run/self-test.h"
#include "system/process.h"

static const struct cli_option options[] = {
    {"json", 'j', NULL, "print one JSON object", NULL},
    {0},
};

struct self_test {
    char program[PATH_MAX];
    char folder[PATH_MAX - 256]; /* with home, work and outside in it */
    struct buf why;              /* what went wrong in this trial */
    struct test_server server;
};

enum { ARGS_MAX = 24 };

/* ---- helpers for trials ---- */

static void path_in(const struct self_test *t, const char *name, char out[PATH_MAX])
{
    snprintf(out, PATH_MAX, "%s/%s", t->folder, name);
}

static bool has(const struct self_test *t, const char *name)
{
    char path[PATH_MAX];
    struct stat st;
    path_in(t, name, path);
    return lstat(path, &st) == 0;
}

static int put_file(const struct self_test *t, const char *name, const char *text)
{
    char path[PATH_MAX];
    path_in(t, name, path);
    OWN(fd) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) ? -1 : 0;
}

/* Says what went wrong, with the first line of what the program said; returns false. */
static bool wrong(struct self_test *t, const struct test_run *r, const char *what)
{
    const char *said = r && r->err.s ? r->err.s : "";
    buf_fmt(&t->why, "%s", what);
    if (r)
        buf_fmt(&t->why, "; exit status %d", r->status);
    if (*said) {
        buf_str(&t->why, ": ");
        buf_safe(&t->why, said, strcspn(said, "\n"));
    }
    return false;
}

/* Runs `buckle run WORDS…` in the work folder, with the trial's home. */
static void run(struct self_test *t, struct test_run *r, ...)
{
    const char *argv[ARGS_MAX] = {t->program, "run", "--no-settings"};
    size_t n = 3;
    va_list words;
    va_start(words, r);
    for (const char *w; n < ARGS_MAX - 1 && (w = va_arg(words, const char *));)
        argv[n++] = w;
    va_end(words);
    char home[PATH_MAX], work[PATH_MAX];
    path_in(t, "home", home);
    path_in(t, "work", work);
    test_run(argv, home, work, r);
}

static bool printed(const struct test_run *r, const char *text)
{
    return r->out.s && strstr(r->out.s, text);
}

/* ---- trials: each returns whether it holds ---- */

static bool try_run(struct self_test *t)
{
    OWN(test_run) struct test_run r = {0};
    run(t, &r, "--", "/bin/sh", "-c", "echo ran; exit 7", NULL);
    return (r.status == 7 && printed(&r, "ran")) || wrong(t, &r, "the command did not run");
}

static bool try_write_here(struct self_test *t)
{
    OWN(test_run) struct test_run r = {0};
    run(t, &r, "--", "/bin/sh", "-c", "echo x >made", NULL);
    return (r.status == 0 && has(t, "work/made")) ||
           wrong(t, &r, "it could not write to its own folder");
}

static bool try_write_elsewhere(struct self_test *t)
{
    OWN(test_run) struct test_run r = {0};
    run(t, &r, "--", "/bin/sh", "-c", "echo x >../outside/made", NULL);
    if (has(t, "outside/made"))
        return wrong(t, NULL, "the file was written");
    return (r.status != 0 && r.status < 125) || wrong(t, &r, "the command did not run");
}

static bool try_secret(struct self_test *t)
{
    OWN(test_run) struct test_run r = {0};
    run(t, &r, "--", "/bin/sh", "-c", "cat ~/.ssh/id_ed25519; echo ended", NULL);
    if (printed(&r, SELF_TEST_SECRET))
        return wrong(t, NULL, "the key was read");
    return printed(&r, "ended") || wrong(t, &r, "the command did not run");
}

static bool try_network(struct self_test *t)
{
    OWN(test_run) struct test_run r = {0};
    char proxy[64];
    snprintf(proxy, sizeof(proxy), "ALL_PROXY=http://127.0.0.1:%u", t->server.port);
    run(t, &r, "--", "/usr/bin/env", proxy, t->program, "connect", "direct.example", "443", NULL);
    if (printed(&r, SELF_TEST_HELLO))
        return wrong(t, NULL, "the command reached a server of this machine");
    return (r.status != 0 && r.status < 125) || wrong(t, &r, "the command did not run");
}

static bool try_host(struct self_test *t)
{
    OWN(test_run) struct test_run good = {0}, bad = {0};
    char proxy[64];
    snprintf(proxy, sizeof(proxy), "http://127.0.0.1:%u", t->server.port);
    run(t, &good, "--upstream", proxy, "--allow-net", "allowed.example", "--", t->program,
        "connect", "allowed.example", "443", NULL);
    if (!printed(&good, SELF_TEST_HELLO "allowed.example"))
        return wrong(t, &good, "the allowed host was not reached");
    run(t, &bad, "--upstream", proxy, "--allow-net", "allowed.example", "--", t->program, "connect",
        "other.example", "443", NULL);
    if (printed(&bad, SELF_TEST_HELLO))
        return wrong(t, NULL, "another host was reached");
    return bad.status != 0 || wrong(t, &bad, "another host seems to be allowed");
}

static bool try_nested(struct self_test *t)
{
    OWN(test_run) struct test_run r = {0};
    run(t, &r, "--", t->program, "run", "--no-settings", "--deny-write", "kept", "--", "/bin/sh",
        "-c", "echo x >free && ! echo x >kept && ! echo x >../outside/nested && echo ended", NULL);
    if (has(t, "work/kept") || has(t, "outside/nested"))
        return wrong(t, NULL, "one of the two policies did not hold");
    return (printed(&r, "ended") && has(t, "work/free")) ||
           wrong(t, &r, "a sandbox inside a sandbox did not run");
}

static bool try_signals(struct self_test *t)
{
    OWN(test_run) struct test_run r = {0}, killed = {0};
    char script[64];
    snprintf(script, sizeof(script), "kill -KILL %d; echo ended", (int)t->server.pid);
    run(t, &r, "--", "/bin/sh", "-c", script, NULL);
    if (!test_server_answers(&t->server))
        return wrong(t, NULL, "the command killed a process outside");
    if (!printed(&r, "ended"))
        return wrong(t, &r, "the command did not run");
    run(t, &killed, "--", "/bin/sh", "-c", "kill -TERM $$", NULL);
    return killed.status == 128 + SIGTERM ||
           wrong(t, &killed, "the signal that ended the command was not passed on");
}

static bool try_report(struct self_test *t)
{
    OWN(test_run) struct test_run r = {0};
    run(t, &r, "--report=json", "--", "/bin/sh", "-c", "echo x >../outside/reported", NULL);
    const char *event = r.err.s ? strstr(r.err.s, "\"operation\"") : NULL;
    return (event && strstr(event, "file-write") && strstr(r.err.s, "outside/reported")) ||
           wrong(t, &r, "no report names the denied file");
}

/* The process in the background holds the other end of our pipe, so that we see when it ends. */
static bool try_leftovers(struct self_test *t)
{
    OWN(test_run) struct test_run r = {0};
    struct stat st;
    OWN(buf) struct buf before = {0};
    OWN(buf) struct buf after = {0};
    test_mounts(&before);
    run(t, &r, "--", "/bin/sh", "-c", "sleep 100 & echo \"$TMPDIR\"", NULL);
    test_mounts(&after);
    if (r.late)
        return wrong(t, NULL, "a process in the background outlived the command");
    if (!r.out.s || r.out.s[0] != '/')
        return wrong(t, &r, "the command did not run");
    r.out.s[strcspn(r.out.s, "\n")] = '\0';
    if (lstat(r.out.s, &st) == 0)
        return wrong(t, NULL, "its temporary folder is still there");
    return (before.n == after.n && (!before.n || memcmp(before.s, after.s, before.n) == 0)) ||
           wrong(t, NULL, "there are other mounts than before");
}

static const struct trial {
    const char *name;  /* in JSON */
    const char *words; /* what must hold */
    bool (*holds)(struct self_test *t);
} trials[] = {
    {"run", "a command runs, and its exit status is passed on", try_run},
    {"write-here", "it can write to the working directory", try_write_here},
    {"write-elsewhere", "it cannot write elsewhere", try_write_elsewhere},
    {"secret", "it cannot read a private key", try_secret},
    {"network", "it cannot reach the network", try_network},
    {"host", "with an allowed host, it reaches that one and no other", try_host},
    {"nested", "a sandbox inside a sandbox obeys both policies", try_nested},
    {"signals", "signals stay inside; one that ends the command is passed on", try_signals},
    {"report", "a denied operation is reported", try_report},
    {"nothing-left", "nothing is left: processes, folders, mounts", try_leftovers},
};
enum { TRIALS = sizeof(trials) / sizeof(trials[0]) };

/* ---- the whole ---- */

static int make_folders(struct self_test *t, struct bk_err *err)
{
    /* not /tmp, where each sandbox has a private layer */
    const char *places[] = {"/var/tmp", getenv("HOME"), "."};
    static const char *const folders[] = {"home", "home/.ssh", "work", "outside"};
    char path[PATH_MAX];
    bool made = false;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && !made; i++) {
        if (!places[i] || !realpath(places[i], path))
            continue;
        int n = snprintf(t->folder, sizeof(t->folder), "%s/self-test-XXXXXX", path);
        made = n < (int)sizeof(t->folder) && mkdtemp(t->folder);
    }
    if (!made) {
        t->folder[0] = '\0';
        return err_sys(err, "cannot create a folder for the test in /var/tmp or at home");
    }
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        path_in(t, folders[i], path);
        if (mkdir(path, 0700) < 0)
            return err_sys(err, "cannot create %s", path);
    }
    return put_file(t, "home/.ssh/id_ed25519", SELF_TEST_SECRET "\n") < 0
               ? err_sys(err, "cannot write a key for the test")
               : 0;
}

static void print_row(struct buf *out, const struct trial *l, bool good, uint64_t ms,
                      const struct buf *why)
{
    buf_fmt(out, "  %s %-64s %5llu ms\n", good ? "✓" : "✗", l->words, (unsigned long long)ms);
    if (!good)
        buf_fmt(out, "      %s\n", why->s ? why->s : "");
}

static void print_object(struct buf *out, const struct trial *l, bool good, uint64_t ms,
                         const struct buf *why)
{
    buf_fmt(out, "%s{\"name\": \"%s\", \"claim\": \"%s\", \"holds\": %s, \"ms\": %llu",
            l == trials ? "" : ", ", l->name, l->words, good ? "true" : "false",
            (unsigned long long)ms);
    if (!good) {
        buf_str(out, ", \"reason\": ");
        buf_json(out, why->s ? why->s : "", why->n);
    }
    buf_chr(out, '}');
}

static size_t run_trials(struct self_test *t, bool json, struct buf *out)
{
    size_t good = 0;
    for (size_t i = 0; i < TRIALS; i++) {
        uint64_t begun = now_ms();
        bool holds = trials[i].holds(t);
        good += holds;
        (json ? print_object : print_row)(out, &trials[i], holds, now_ms() - begun, &t->why);
        buf_free(&t->why);
        t->why = (struct buf){0};
        if (!json)
            cli_emit(out, CLI_OK); /* as it happens */
    }
    return good;
}

static int test_all(struct self_test *t, bool json)
{
    OWN(buf) struct buf out = {0};
    uint64_t begun = now_ms();
    if (json)
        buf_str(&out, "{\"version\": \"" BK_VERSION "\", \"trials\": [");
    size_t good = run_trials(t, json, &out);
    unsigned long long ms = now_ms() - begun;
    if (json)
        buf_fmt(&out, "], \"holds\": %s, \"ms\": %llu}\n", good == TRIALS ? "true" : "false", ms);
    else if (good == TRIALS)
        buf_fmt(&out, "\nAll %d hold (%llu.%llu s).\n", (int)TRIALS, ms / 1000, ms / 100 % 10);
    else
        buf_fmt(&out, "\n%zu of %d do not hold. `buckle doctor` may say why.\n", TRIALS - good,
                (int)TRIALS);
    return cli_emit(&out, good == TRIALS ? CLI_OK : CLI_NO);
}

static int cmd_self_test_run(struct cli_args *args)
{
    static struct self_test t;
    struct bk_err err;
    if (args->npos)
        return cli_usage(args, "self-test takes no arguments");
    int status = process_own_path(t.program) < 0 ? err_sys(&err, "cannot find this program")
                                                 : make_folders(&t, &err);
    if (status == 0 && (status = test_server_start(&t.server, &err)) == 0) {
        status = test_all(&t, args_has(args, "json"));
        test_server_stop(&t.server);
    }
    if (t.folder[0])
        remove_tree(t.folder);
    return status < 0 ? cli_fail(&err) : status;
}

const struct cli_command cmd_self_test = {
    .name = "self-test",
    .usage = "[OPTION…]",
    .brief = "try out on this machine what Buckle promises",
    .about =
        "Runs real commands in sandboxes, in a temporary folder, and looks from outside what they\n"
        "could do: write, read a key, reach a server, signal, and leave something behind. Takes a\n"
        "few seconds and uses no network outside this machine. `buckle doctor` explains failures.\n"
        "\n"
        "Exit status: 0 if everything holds, 1 if not, 2 on error.",
    .options = options,
    .run = cmd_self_test_run,
};
