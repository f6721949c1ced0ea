/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * `buckle graph`: prints the policy graph in four formats. For SVG, Graphviz's dot reads the dot
 * text from its standard input; no shell is involved.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyze/analyze.h"
#include "api/question.h"
#include "base/fd.h"
#include "base/own.h"
#include "cli/args.h"
#include "cli/profile/profile-options.h"
#include "system/descriptors.h"

extern char **environ;

static const struct cli_option options[] = {
    LOAD_OPTIONS,
    LOAD_BLOB_OPTIONS,
    {"format", 0, "FORMAT", "text, dot, json or svg (default: by the name of FILE, else text)",
     "text dot json svg"},
    {"output", 'o', "FILE", "write to FILE", "file"},
    {0},
};

typedef void print_fn(const struct graph *g, enum vocab_op op, struct buf *out);

static const struct format {
    const char *name;
    print_fn *print;
    bool through_dot;
} formats[] = {
    {"text", graph_print_text, false},
    {"dot", graph_print_dot, false},
    {"json", graph_print_json, false},
    {"svg", graph_print_dot, true},
};

static const struct format *find_format(const char *name)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}

/* Returns NULL if --format is unknown. */
static const struct format *choose_format(const struct cli_args *args)
{
    const char *name = args_value(args, "format"), *path = args_value(args, "output");
    if (name)
        return find_format(name);
    const char *dot = path ? strrchr(path, '.') : NULL;
    const struct format *f = dot ? find_format(dot + 1) : NULL;
    return f ? f : &formats[0];
}

static int start_dot(int in, int out, pid_t *pid, struct bk_err *err)
{
    static char program[] = "dot", format[] = "-Tsvg";
    char *argv[] = {program, format, NULL};
    posix_spawn_file_actions_t fds;
    posix_spawn_file_actions_init(&fds);
    posix_spawn_file_actions_adddup2(&fds, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&fds, out, STDOUT_FILENO);
    int failed = posix_spawnp(pid, program, &fds, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&fds);
    if (!failed)
        return 0;
    errno = failed;
    err_sys(err, "cannot run dot, which draws SVG");
    err_hint(err, "install the package graphviz, or use --format dot");
    return -1;
}

static int draw_svg(const struct buf *text, int out, struct bk_err *err)
{
    int ends[2];
    if (fd_pipe(ends) < 0)
        return err_sys(err, "pipe");
    OWN(fd) int read_end = ends[0];
    OWN(fd) int write_end = ends[1];
    pid_t pid;
    if (start_dot(read_end, out, &pid, err) < 0)
        return -1;
    close(steal_fd(&read_end));
    signal(SIGPIPE, SIG_IGN); /* if dot ends early, its exit status reports it */
    (void)fd_write_all(write_end, text->s, text->n);
    close(steal_fd(&write_end));
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    err_set(err, BK_E_SYSTEM, "dot failed to draw the graph");
    err_hint(err, "--format dot shows its input; give an OPERATION for a smaller graph");
    return -1;
}

static int write_output(const struct format *f, const struct buf *text, const char *path,
                        struct bk_err *err)
{
    OWN(fd) int file = -1;
    int out = STDOUT_FILENO;
    if (path) {
        file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (file < 0)
            return err_sys(err, "%s", path);
        out = file;
    }
    if (f->through_dot)
        return draw_svg(text, out, err);
    return fd_write_all(out, text->s, text->n) == 0
               ? 0
               : err_sys(err, "%s", path ? path : "standard output");
}

static int cmd_graph_run(struct cli_args *args)
{
    size_t first = load_from_text(args) ? 0 : 1;
    if (args->npos < first)
        return cli_usage(args, "no profile given");
    if (args->npos > first + 1)
        return cli_usage(args, "give at most one operation");
    const struct format *format = choose_format(args);
    if (!format)
        return cli_usage(args, "--format must be text, dot, json or svg");
    struct bk_err err;
    enum vocab_op op = OP_NONE;
    if (args->npos > first && question_operation(args->pos[first], &op, &err) < 0)
        return cli_fail(&err);
    OWN(loaded) struct loaded l;
    if (load_or_complain(args, first ? args->pos[0] : NULL, &l) != CLI_OK)
        return CLI_ERROR;
    OWN(buf) struct buf out = {0};
    format->print(l.graph, op, &out);
    if (out.n && out.s[out.n - 1] != '\n')
        buf_chr(&out, '\n');
    if (!buf_ok(&out)) {
        err_nomem(&err);
        return cli_fail(&err);
    }
    return write_output(format, &out, args_value(args, "output"), &err) < 0 ? cli_fail(&err)
                                                                            : CLI_OK;
}

const struct cli_command cmd_graph = {
    .name = "graph",
    .usage = "[OPTION…] PROFILE [OPERATION]",
    .brief = "print the policy graph of a profile",
    .about =
        "Prints the graph that a profile compiles to: for each operation the tests, in order,\n"
        "and the decisions they lead to. With OPERATION, prints only that operation's part.\n"
        "\n"
        "Graphviz (the program dot) draws SVG, if it is installed.",
    .options = options,
    .complete = "profile operation",
    .run = cmd_graph_run,
};
