/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Another policy for a command that runs: what can be changed is changed at the next call, what
 * cannot is said, and a mistake changes nothing. Each command tries one thing over and over until
 * the other answer comes, or gives up.
 */

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "run/run.h"
#include "tap.h"

static char dir[PATH_MAX];

struct changing {
    struct run run;
    const char *update; /* given at the first event */
    int result;
    int events;
    uint32_t last_policy;
    struct buf waits;
    struct bk_err err;
};

static void on_event(void *arg, const struct event *e)
{
    struct changing *c = arg;
    c->last_policy = e->policy;
    if (c->events++ || !c->update)
        return;
    struct run_source source = {
        .kind = RUN_TEXT, .name = "<later>", .text = c->update, .n = strlen(c->update)};
    c->result = run_update(&c->run, &source, 1, &c->waits, &c->err);
}

static void complain(void *arg, const struct sbpl_unit *unit, const struct bk_err *err)
{
    (void)arg;
    (void)unit;
    printf("# %s\n", err->msg);
}

/* The command's exit status, or -1. */
static int run_changing(struct changing *c, const char *policy, const char *script, bool updatable,
                        bool grantable)
{
    const char *const argv[] = {"sh", "-c", script, "sh", dir, NULL};
    struct run_source source = {
        .kind = RUN_TEXT, .name = "<policy>", .text = policy, .n = strlen(policy)};
    struct sbpl_param param = {"DIR", dir};
    struct run_spec spec = {.sources = &source,
                            .nsources = 1,
                            .params = &param,
                            .nparams = 1,
                            .launch.argv = (char *const *)argv,
                            .launch.cwd = "/",
                            .plan.updatable = updatable,
                            .plan.grantable = grantable,
                            .launch.timeout_ms = 20000,
                            .launch.on_event = on_event,
                            .complain = complain,
                            .launch.arg = c};
    struct launch_end end = {0};
    struct bk_err err;
    int status = -1;
    if (run_open(&c->run, &spec, false, &err) < 0 || run_go(&c->run, &end, &err) < 0)
        printf("# %s\n", err.msg);
    else if (WIFEXITED(end.status) && !end.timed_out)
        status = WEXITSTATUS(end.status);
    run_close(&c->run);
    return status;
}

#define OPEN "(version 1)(allow default)"
#define NO_WRITING OPEN "(deny file-write* (subpath (param \"DIR\")))"
#define NO_READING OPEN "(deny file-read-data (subpath (param \"DIR\")))"
#define NO_NAMES OPEN "(deny network-outbound)"

/* Tries for about five seconds. */
#define UNTIL(what)                                                                                \
    "i=0; until " what " 2>/dev/null; do i=$((i+1)); [ $i -lt 250 ] || exit 9; "                   \
    "sleep 0.02; done"

static void widens(const char *name, const char *before, const char *after, const char *script,
                   bool updatable, bool grantable)
{
    struct changing c = {.update = after, .result = -2};
    int status = run_changing(&c, before, script, updatable, grantable);
    is_int(status, 0, "%s: is allowed after the change", name);
    is_int(c.result, 0, "%s: the change is taken", name);
    is_str(c.waits.s ? c.waits.s : "", "", "%s: nothing has to wait", name);
    ok(c.events >= 1, "%s: was denied before", name);
    buf_free(&c.waits);
}

static void narrows(void)
{
    /* the first thing that is denied lets the change come; then reading, which was allowed, ends */
    struct changing c = {.update = NO_READING, .result = -2};
    int status = run_changing(
        &c, NO_WRITING, "touch $1/no 2>/dev/null; " UNTIL("! cat $1/file >/dev/null"), true, false);
    is_int(status, 0, "updatable: what was allowed is denied after the change");
    is_int(c.result, 0, "updatable: the change is taken");
    is_str(c.waits.s ? c.waits.s : "", "", "updatable: nothing has to wait");
    is_int((int)c.last_policy, 1, "events tell of the policy that decided");
    buf_free(&c.waits);
}

static void waits(void)
{
    struct changing c = {.update = NO_READING, .result = -2};
    int status = run_changing(&c, NO_WRITING, "touch $1/no 2>/dev/null; cat $1/file >/dev/null",
                              false, false);
    is_int(status, 0, "what is not asked about stays allowed");
    is_int(c.result, 0, "the change is taken as far as it goes");
    ok(c.waits.s && strstr(c.waits.s, "file-read-data"), "and says that reading has to wait");
    buf_free(&c.waits);
}

static void keeps_walls(void)
{
    struct changing c = {.update = OPEN, .result = -2};
    int status = run_changing(
        &c, OPEN "(deny file-write*)(allow file-write* (subpath \"/dev\"))",
        "touch $1/no 2>/dev/null; sleep 0.3; if touch $1/no; then exit 1; fi 2>/dev/null", false,
        false);
    is_int(status, 0, "a wall keeps standing");
    ok(c.waits.s && strstr(c.waits.s, "wall"), "and the change says so: %.60s",
       c.waits.s ? c.waits.s : "");
    buf_free(&c.waits);
}

static void refuses(void)
{
    struct changing c = {.update = "(version 1)(allow no-such-operation)", .result = -2};
    int status =
        run_changing(&c, NO_WRITING,
                     "touch $1/no 2>/dev/null; sleep 0.2; ! touch $1/no 2>/dev/null", true, false);
    is_int(status, 0, "after a mistake the old policy stays");
    is_int(c.result, -1, "a mistake is refused");
    is_int((int)c.last_policy, 0, "nothing tells of another policy");
    ok(strstr(c.err.msg, "no-such-operation"), "and named: %s", c.err.msg);
    buf_free(&c.waits);
}

static void clean_up(void)
{
    static const char *const names[] = {"file", "new", "newer", "folder", ""};
    char path[PATH_MAX + 16];
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        remove(path);
    }
}

int main(void)
{
    char made[] = "/tmp/buckle-update-XXXXXX";
    char file[PATH_MAX + 8];
    if (!mkdtemp(made) || !realpath(made, dir))
        return 1;
    snprintf(file, sizeof(file), "%s/file", dir);
    OWN(file) FILE *f = fopen(file, "w");
    if (!f || fputs("text\n", f) < 0)
        return 1;
    widens("updatable, writing", NO_WRITING, OPEN, UNTIL("touch $1/new"), true, false);
    widens("grantable, writing", NO_WRITING, OPEN, UNTIL("touch $1/newer"), false, true);
    widens("grantable, making", NO_WRITING, OPEN, UNTIL("mkdir $1/folder"), false, true);
    widens("updatable, reading", NO_READING, OPEN, UNTIL("cat $1/file >/dev/null"), true, false);
    widens("grantable, reading", NO_READING, OPEN, UNTIL("cat $1/file >/dev/null"), false, true);
    widens("grantable, a name", NO_NAMES,
           NO_NAMES "(allow network-outbound (domain \"host.example\"))",
           UNTIL("getent hosts host.example >/dev/null"), false, true);
    narrows();
    waits();
    keeps_walls();
    refuses();
    clean_up();
    return done_testing();
}
