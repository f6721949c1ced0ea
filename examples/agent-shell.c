/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A shell tool for an agent, in one loop: agent-shell SETTINGS.json. Each line of standard input is
 * a command; what is printed is what the agent would get to read.
 */

#include <buckle/buckle.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fail(struct buckle_error *error)
{
    fputs(buckle_error_report(error), stderr);
    buckle_error_free(error);
    return 2;
}

/* A whole file, for free(). */
static char *read_all(FILE *f, size_t *n)
{
    char *text = malloc(1 << 20);
    rewind(f);
    *n = text ? fread(text, 1, 1 << 20, f) : 0;
    return text;
}

/* Runs it with its error output kept, and prints that with what was denied. */
static void run(struct buckle_manager *manager, const char *line)
{
    struct buckle_error *error = NULL;
    uint64_t id;
    size_t n;
    FILE *errors = tmpfile();
    struct buckle_command *command = buckle_manager_command(manager, line, "sh", &id, &error);
    if (!command || !errors) {
        fail(error);
        return;
    }
    buckle_command_stdio(command, -1, STDOUT_FILENO, fileno(errors));
    buckle_command_timeout(command, 60000);
    struct buckle_run *started = buckle_start(command, &error);
    buckle_command_free(command);
    if (!started || buckle_run_wait(started, &error) < 0) {
        fail(error);
    } else {
        char *text = read_all(errors, &n);
        char *annotated = buckle_manager_annotate(manager, id, line, text ? text : "", n);
        printf("%s\n[exit status %d]\n", annotated ? annotated : "", buckle_run_status(started));
        buckle_free(annotated);
        free(text);
    }
    buckle_run_free(started);
    fclose(errors);
}

int main(int argc, char **argv)
{
    struct buckle_error *error = NULL;
    char settings[65536], line[4096];
    FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
    size_t n = file ? fread(settings, 1, sizeof(settings), file) : 0;
    struct buckle_manager *manager = buckle_manager_new(NULL);
    if (file)
        fclose(file);
    if (!manager || buckle_manager_start(manager, file ? settings : NULL, n, &error) < 0)
        return fail(error);
    buckle_manager_mode(manager, BUCKLE_MODE_OPEN, 0);
    char *summary = buckle_manager_summary(manager, 0);
    printf("%s", summary ? summary : "");
    buckle_free(summary);
    while (fgets(line, sizeof(line), stdin)) {
        const char *reason;
        line[strcspn(line, "\n")] = '\0';
        enum buckle_decision decision = buckle_manager_decide(manager, line, 0, NULL, &reason);
        printf("$ %s\n", line);
        fflush(stdout);
        if (decision == BUCKLE_RUN_SANDBOXED)
            run(manager, line);
        else /* an agent's host would run it outside, or ask the person */
            printf("[not run: %s]\n", reason);
        fflush(stdout);
    }
    printf("%llu violations\n",
           (unsigned long long)buckle_store_total(buckle_manager_store(manager)));
    buckle_manager_free(manager);
    return 0;
}
