/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * `buckle run` for those whose session keeps a spare, as a program of its own: it starts and ends
 * sooner, since it is small. If there is no spare for the command, it becomes
 * the whole program.
 *
 *     buckle-client run OPTION… -- SHELL -c LINE
 */

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/agent/client-path.h"
#include "cli/run/exit-status.h"
#include "cli/run/run-options.h"
#include "cli/run/run-spare.h"
#include "system/process.h"

static const struct cli_command command = {
    .name = "run", .options = run_options, .takes_command = true};

/* The hook writes the whole path; asking for it takes longer than all else here. */
static bool find_program(const char *name, char program[PATH_MAX])
{
    char own[PATH_MAX];
    return (name[0] == '/' && client_program_path(name, program)) ||
           (process_own_path(own) == 0 && client_program_path(own, program));
}

static bool run_in_spare(const char *name, int argc, char **argv, int *status)
{
    struct cli_args args;
    struct bk_err err;
    struct launch_end end = {0};
    char program[PATH_MAX];
    bool taken = false;
    if (args_parse(&args, &command, argc, argv, &err) == 0 && !args.help) {
        struct spare_call c = spare_call_of_run(&args);
        c.program = program;
        taken = spare_reach(&c) && find_program(name, program) && spare_take(&c, &end.status);
    }
    args_free(&args);
    if (taken)
        *status = exit_as(&end);
    return taken;
}

int main(int argc, char **argv)
{
    char program[PATH_MAX];
    int status;
    if (argc > 1 && strcmp(argv[1], "run") == 0 &&
        run_in_spare(argv[0], argc - 1, argv + 1, &status))
        return status;
    if (argc < 1 || !find_program(argv[0], program)) {
        fprintf(stderr, "buckle-client: it is not beside buckle (libexec/buckle and bin)\n");
        return 125;
    }
    argv[0] = program;
    execv(program, argv);
    perror("buckle-client: cannot start buckle");
    return 125;
}
