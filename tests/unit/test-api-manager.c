/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The store, tags, gates and the manager, as a program that embeds them sees them. */

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "buckle/buckle.h"
#include "tap.h"

static char dir[PATH_MAX];

/* ---- the store ---- */

static void count_calls(void *arg, struct buckle_store *store)
{
    int *calls = arg;
    *calls += 1 + 100 * (buckle_store_total(store) > 2);
}

static void test_store(void)
{
    int calls = 0;
    struct buckle_store *s = buckle_store_new(2);
    int number = buckle_store_subscribe(s, count_calls, &calls);
    ok(number > 0 && calls == 1, "a subscriber is called at once");
    is_int(buckle_store_add(s, 1, "make", "a(1) deny(1) x /a", NULL), 1, "one is added");
    buckle_store_add(s, 2, "ls", "b(1) deny(1) x /b", "{}");
    is_int(calls, 3, "and told of");
    buckle_store_unsubscribe(s, number);
    buckle_store_add(s, 1, "make", "c(1) deny(1) x /c", NULL);
    is_int(calls, 3, "not to who has left");
    is_int((int)buckle_store_count(s), 2, "the newest are kept");
    is_int((int)buckle_store_total(s), 3, "and all are counted");
    struct buckle_violations *v = buckle_store_get(s, 0, 0, NULL, 0);
    is_str(buckle_violation_line(v, 0), "b(1) deny(1) x /b", "oldest first");
    is_int((int)buckle_violation_number(v, 1), 3, "by number");
    ok(buckle_violation_time(v, 0) > 0, "with their time");
    buckle_violations_free(v);
    v = buckle_store_get(s, 0, 0, "make", 0);
    ok(buckle_violations_count(v) == 1 && buckle_violation_command_id(v, 0) == 1,
       "by a command's text");
    buckle_violations_free(v);
    buckle_store_clear(s);
    ok(buckle_store_count(s) == 0 && buckle_store_total(s) == 3, "clearing keeps the total");
    const char *commands[] = {"*", "npm"}, *texts[] = {"/noise", "/cache"};
    buckle_store_ignore(s, commands, texts, 2);
    is_int(buckle_store_add(s, 0, "ls", "x(1) deny(1) x /noise", NULL), 0, "ignored everywhere");
    is_int(buckle_store_add(s, 0, "npm ci", "x(1) deny(1) x /cache", NULL), 0, "ignored for one");
    is_int(buckle_store_add(s, 0, "ls", "x(1) deny(1) x /cache", NULL), 1, "but not for others");
    buckle_store_free(s);
}

static void test_tags(void)
{
    char *session = buckle_tag_session(), *tag = buckle_tag_encode("echo hi", session);
    char *command = NULL, *whose = NULL, text[256];
    snprintf(text, sizeof(text), "kernel: deny %s", tag);
    is_int(buckle_tag_decode(text, &command, &whose), 1, "a tag is found in a line");
    is_str(command, "echo hi", "with its command");
    is_str(whose, session, "and its session");
    is_int(buckle_tag_decode("nothing", NULL, NULL), 0, "and none where there is none");
    buckle_free(session);
    buckle_free(tag);
    buckle_free(command);
    buckle_free(whose);
}

/* ---- deciding ---- */

static void test_gates(void)
{
    const char *reason = NULL;
    int inside = -1;
    struct buckle_gates *g = buckle_gates_new();
    is_int(buckle_decide(g, "ls", 0, &inside, &reason), BUCKLE_ASK, "prompt asks");
    is_int(inside, 1, "and keeps it inside");
    ok(reason && reason[0], "with a reason");
    buckle_gates_auto_allow(g, 1);
    is_int(buckle_decide(g, "ls", 0, NULL, NULL), BUCKLE_RUN_SANDBOXED, "unless inside is fine");
    buckle_gates_mode(g, BUCKLE_MODE_OPEN);
    is_int(buckle_decide(g, "ls", 1, NULL, NULL), BUCKLE_RUN_SANDBOXED,
           "no bypass counts by default");
    buckle_gates_allow_unsandboxed(g, 1);
    is_int(buckle_decide(g, "ls", 1, &inside, NULL), BUCKLE_ASK, "one that counts is asked about");
    is_int(inside, 0, "and runs outside");
    buckle_gates_allow_unsandboxed(g, 0);
    is_int(buckle_decide(g, "ls", 1, NULL, NULL), BUCKLE_RUN_SANDBOXED, "and one that does not");
    buckle_gates_exclude(g, "docker:*");
    is_int(buckle_decide(g, "docker ps", 0, NULL, NULL), BUCKLE_RUN_OUTSIDE, "an excluded one");
    is_int(buckle_decide(g, "docker ps; ls", 0, NULL, NULL), BUCKLE_RUN_SANDBOXED,
           "which must be alone");
    buckle_gates_planning(g, 1);
    is_int(buckle_decide(g, "ls", 0, NULL, NULL), BUCKLE_REFUSE, "a plan runs nothing");
    buckle_gates_free(g);
}

static void test_wrap(void)
{
    const char *settings = "{\"filesystem\": {\"denyRead\": [\"/secret\"]}}";
    char *line = buckle_wrap(settings, strlen(settings), "echo hi", "sh", 8080, 0, NULL);
    ok(line && strstr(line, "sandbox-exec -p ") && strstr(line, "/secret") &&
           strstr(line, "-c 'echo hi'"),
       "a command line for macOS");
    ok(line && !strchr(line + strlen(line) - 1, '\n'), "on one line's worth of shell");
    buckle_free(line);
    struct buckle_error *error = NULL;
    ok(!buckle_wrap("[", 1, "ls", NULL, 0, 0, &error) && error, "not of wrong settings");
    buckle_error_free(error);
}

/* ---- the manager ---- */

static const char good[] = "{\"enabled\": true, \"filesystem\": {\"allowWrite\": [\".\"], "
                           "\"denyRead\": [\"/secret\"]}, \"network\": {\"allowedDomains\": "
                           "[\"example.com\"]}, \"excludedCommands\": [\"git:*\"], "
                           "\"ignoreViolations\": {\"*\": [\"/noise\"]}}";

static void *start_it(void *arg)
{
    return (void *)(intptr_t)buckle_manager_start(arg, good, strlen(good), NULL);
}

static void test_start(struct buckle_manager *m)
{
    struct buckle_error *error = NULL;
    const char *reason = NULL;
    is_int(buckle_manager_decide(m, "ls", 0, NULL, &reason), BUCKLE_REFUSE, "not before it starts");
    ok(!buckle_manager_enabled(m) && !buckle_manager_unsandboxed_allowed(m) &&
           !buckle_manager_summary(m, 0) && !buckle_manager_command(m, "ls", NULL, NULL, NULL),
       "closed until then");
    is_int(buckle_manager_start(m, "{\"network\": 1}", 14, &error), -1, "a failed start");
    ok(error && buckle_error_message(error)[0] && !buckle_manager_started(m), "says why");
    buckle_error_free(error);
    pthread_t threads[4];
    void *went;
    int fine = 0;
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, start_it, m);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &went);
        fine += went == NULL;
    }
    ok(fine == 4 && buckle_manager_started(m), "can be tried again, by several at once");
    is_int(buckle_manager_start(m, "{", 1, NULL), 0, "and once is enough");
}

static void has(struct buckle_manager *m, enum buckle_config which, const char *want)
{
    char *text = buckle_manager_config(m, which);
    if (!ok(text && strstr(text, want), "configuration %d has %s", which, want))
        printf("# %s\n", text ? text : "NULL");
    buckle_free(text);
}

static void test_config(struct buckle_manager *m)
{
    ok(buckle_manager_enabled(m), "enabled");
    ok(!buckle_manager_unsandboxed_allowed(m), "no unsandboxed command is allowed by default");
    has(m, BUCKLE_CONFIG_READ, "\"denyRead\": [\"/secret\"]");
    has(m, BUCKLE_CONFIG_WRITE, dir);
    has(m, BUCKLE_CONFIG_NETWORK, "\"allowedDomains\": [\"example.com\"]");
    has(m, BUCKLE_CONFIG_SOCKETS, "\"allowAllUnixSockets\": false");
    has(m, BUCKLE_CONFIG_IGNORED, "/noise");
    has(m, BUCKLE_CONFIG_EXCLUDED, "git:*");
    has(m, BUCKLE_CONFIG_ALL, "\"enabled\": true");
    char *reported = buckle_manager_summary(m, 0);
    ok(reported && strstr(reported, "/secret") && strstr(reported, "example.com"),
       "a summary for a model");
    buckle_free(reported);
    buckle_manager_mode(m, BUCKLE_MODE_OPEN, 0);
    is_int(buckle_manager_decide(m, "git push", 0, NULL, NULL), BUCKLE_RUN_OUTSIDE, "decides");
    buckle_manager_mode(m, BUCKLE_MODE_OPEN, 1);
    is_int(buckle_manager_decide(m, "git push", 0, NULL, NULL), BUCKLE_REFUSE, "as configured");
    char *line = buckle_manager_wrap(m, "ls", "sh", 0, 0, NULL);
    ok(line && strstr(line, "sandbox-exec"), "wraps");
    buckle_free(line);
}

/* The status of a command, and its number. */
static int run(struct buckle_manager *m, const char *command, uint64_t *id)
{
    struct buckle_command *c = buckle_manager_command(m, command, "sh", id, NULL);
    buckle_command_stdio(c, -1, -1, -1);
    struct buckle_run *r = buckle_start(c, NULL);
    int status = r && buckle_run_wait(r, NULL) == 0 ? buckle_run_status(r) : -1;
    buckle_command_free(c);
    buckle_run_free(r);
    return status;
}

static void test_commands(struct buckle_manager *m)
{
    uint64_t first = 0, second = 0;
    is_int(run(m, "echo x > mine && echo x > $TMPDIR/mine", &first), 0, "a command runs");
    ok(run(m, "echo x > /var/tmp/buckle-out", &second) > 0 && second > first, "another is denied");
    run(m, "echo x > /var/tmp/noise", NULL);
    is_int((int)buckle_store_total(buckle_manager_store(m)), 1, "the store has that, and no noise");
    char *text = buckle_manager_annotate(m, second, NULL, "no\n", 3);
    ok(text && strstr(text, "/var/tmp/buckle-out"), "annotated by its number");
    buckle_free(text);
    text = buckle_manager_annotate(m, 0, "echo x > /var/tmp/buckle-out", "no\n", 3);
    ok(text && strstr(text, "<sandbox_violations>"), "and by its text");
    buckle_free(text);
    text = buckle_manager_annotate(m, first, NULL, "fine", 4);
    is_str(text, "fine", "as it is where nothing was denied");
    buckle_free(text);
}

static void test_update(struct buckle_manager *m)
{
    const char *closed = "{\"enabled\": true, \"filesystem\": {\"allowWrite\": []}}";
    is_int(buckle_manager_update(m, "{", 1, NULL), -1, "wrong settings");
    is_int(run(m, "echo x > mine", NULL), 0, "change nothing");
    struct buckle_command *c = buckle_manager_command(
        m, "while echo > mine; do sleep 0.05; done; exit 7", "sh", NULL, NULL);
    buckle_command_stdio(c, -1, -1, -1);
    buckle_command_flag(c, BUCKLE_UPDATABLE, 1);
    struct buckle_run *r = buckle_start(c, NULL);
    usleep(400000);
    is_int(buckle_manager_update(m, closed, strlen(closed), NULL), 0, "others are taken");
    ok(buckle_run_wait(r, NULL) == 0 && buckle_run_status(r) == 7, "by a command that runs");
    ok(run(m, "echo x > mine", NULL) > 0, "and by the next");
    buckle_run_free(r);
    buckle_command_free(c);
}

static void test_reset(struct buckle_manager *m)
{
    struct buckle_command *c = buckle_manager_command(m, "sleep 100", "sh", NULL, NULL);
    struct buckle_run *r = buckle_start(c, NULL);
    buckle_command_free(c);
    usleep(300000);
    buckle_manager_reset(m);
    ok(!buckle_manager_started(m), "a manager that was reset is not started");
    ok(buckle_run_wait(r, NULL) == 0 && buckle_run_cancelled(r), "what ran has ended");
    is_int((int)buckle_store_count(buckle_manager_store(m)), 0, "violations are forgotten");
    buckle_run_free(r);
    is_int(buckle_manager_start(m, NULL, 0, NULL), 0, "and can be started again");
}

static void test_host(void)
{
    int full = -1;
    struct buckle_error *error = NULL;
    is_int(buckle_supported_platform(), 1, "this platform");
    char *text = buckle_dependencies(&full, &error);
    ok(text && text[0] == '{' && strstr(text, "\"landlock\"") && (full == 0 || full == 1),
       "what this host can do");
    buckle_free(text);
    buckle_error_free(error);
}

int main(void)
{
    char name[] = "/tmp/buckle-manager-XXXXXX", remove[64];
    if (!mkdtemp(name) || !realpath(name, dir) || chdir(dir) < 0)
        return 1;
    test_store();
    test_tags();
    test_gates();
    test_wrap();
    test_host();
    struct buckle_manager *m = buckle_manager_new(NULL);
    test_start(m);
    test_config(m);
    test_commands(m);
    test_update(m);
    test_reset(m);
    buckle_manager_free(m);
    ok(!buckle_manager_new("/nowhere/at/all"), "no manager of nowhere");
    snprintf(remove, sizeof(remove), "rm -rf %s", name);
    ok(chdir("/") == 0 && system(remove) == 0, "clean");
    return done_testing();
}
