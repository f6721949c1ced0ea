/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Runs a command as `buckle run` does, in a sandbox that is prepared in advance: the attackers of
 * the escape suite meet what programs with the library give their commands.
 *
 *   held-run run [--report json|none] [--profile FILE] [--max-procs N] [--allow-net HOST]
 *                [--deny-read PATTERN] -- COMMAND …
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "buckle/buckle.h"

enum { PREPARED_MS = 250 }; /* long enough for a sandbox to be ready */

static void print_event(void *arg, struct buckle_run *run, const struct buckle_event *event)
{
    (void)arg;
    (void)run;
    if (buckle_event_denied(event))
        fprintf(stderr, "%s\n", buckle_event_json(event));
}

static int set_report(struct buckle_command *c, const char *value)
{
    if (strcmp(value, "json") == 0)
        buckle_command_on_event(c, print_event, NULL);
    return 0;
}

static int set_processes(struct buckle_command *c, const char *value)
{
    buckle_command_max_procs(c, (uint32_t)strtoul(value, NULL, 10));
    return 0;
}

static int allow_net(struct buckle_command *c, const char *value)
{
    return buckle_command_rule(c, "allow-net", value);
}

static int deny_read(struct buckle_command *c, const char *value)
{
    return buckle_command_rule(c, "deny-read", value);
}

static const struct {
    const char *name;
    int (*set)(struct buckle_command *c, const char *value);
} options[] = {
    {"--report", set_report},   {"--profile", buckle_command_profile},
    {"--allow-net", allow_net}, {"--max-procs", set_processes},
    {"--deny-read", deny_read},
};

static int set_option(struct buckle_command *c, const char *name, const char *value)
{
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (strcmp(name, options[i].name) == 0)
            return options[i].set(c, value);
    fprintf(stderr, "held-run: no option %s\n", name);
    return -1;
}

static int fail(const char *what, const struct buckle_error *error)
{
    fprintf(stderr, "held-run: %s: %s\n", what, error ? buckle_error_message(error) : "?");
    return 125;
}

int main(int argc, char **argv)
{
    const char *const nothing[] = {"true", NULL};
    struct buckle_command *c = buckle_command_new(nothing);
    struct buckle_error *error = NULL;
    int i = 2; /* after "run" */
    if (!c)
        return 125;
    for (; i + 1 < argc && strcmp(argv[i], "--") != 0; i += 2)
        if (set_option(c, argv[i], argv[i + 1]) < 0)
            return 125;
    if (++i >= argc)
        return 125;
    struct buckle_run *run = buckle_prepare(c, &error);
    if (!run)
        return fail("cannot prepare", error);
    nanosleep(&(struct timespec){0, PREPARED_MS * 1000000L}, NULL);
    if (buckle_run_begin(run, (const char *const *)argv + i, NULL, &error) < 0)
        return fail("cannot begin", error);
    if (buckle_run_wait(run, &error) < 0)
        return fail("lost", error);
    int status = buckle_run_status(run);
    buckle_run_free(run);
    buckle_command_free(c);
    return status;
}
