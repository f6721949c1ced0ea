/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "window/act.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/own.h"
#include "system/descriptors.h"

enum { WORDS = 12 };

static const struct act_row {
    const char *name, *words[WORDS];
} acts[] = {
#define ACT(name, ...) {name, {__VA_ARGS__, NULL}},
#include "window/acts.def"
#undef ACT
};

static const struct act_row *find_act(const char *name)
{
    for (size_t i = 0; name && i < sizeof(acts) / sizeof(acts[0]); i++)
        if (strcmp(acts[i].name, name) == 0)
            return &acts[i];
    return NULL;
}

/* One word of an act, or NULL with *missing if its value is. The caller frees it. */
static char *make_word(const char *word, const json_t *request, bool *missing)
{
    const char *dollar = strchr(word, '$');
    *missing = false;
    if (!dollar)
        return strdup(word);
    const char *value = json_text(request, dollar + 1);
    OWN(buf) struct buf text = {0};
    *missing = !value || !*value;
    if (*missing)
        return NULL;
    buf_add(&text, word, (size_t)(dollar - word));
    buf_str(&text, value);
    return buf_ok(&text) ? steal_ptr(&text.s) : NULL;
}

static void free_words(char **argv)
{
    for (size_t i = 1; i < WORDS + 1; i++)
        free(argv[i]);
}

static int make_words(const struct act_row *row, const json_t *request, char **argv,
                      struct bk_err *err)
{
    size_t n = 1;
    for (size_t i = 0; row->words[i]; i++) {
        bool missing;
        argv[n] = make_word(row->words[i], request, &missing);
        if (argv[n])
            n++;
        else if (!missing)
            return err_nomem(err);
        else if (row->words[i][0] == '$')
            return err_set(err, BK_E_INPUT, "%s: %s is missing", row->name, row->words[i] + 1);
    }
    return 0;
}

/* In the child. */
static void execute(const char *program, char **argv, const char *cwd, int out, int err)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    setenv("BUCKLE_PAGER", "cat", 1);
    if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0 ||
        (cwd && chdir(cwd) < 0))
        _exit(127);
    execv(program, argv);
    _exit(127);
}

int act_start(const char *program, const json_t *request, struct act *a, struct bk_err *err)
{
    const struct act_row *row = find_act(json_text(request, "do"));
    const char *cwd = json_text(request, "cwd");
    char *argv[WORDS + 2] = {(char *)program};
    int out[2], errs[2];
    if (!row)
        return err_set(err, BK_E_INPUT, "there is no such act");
    if (cwd && cwd[0] != '/')
        cwd = NULL;
    if (make_words(row, request, argv, err) < 0)
        return free_words(argv), -1;
    if (fd_pipe(out) < 0)
        return free_words(argv), err_sys(err, "cannot start %s", row->name);
    OWN(fd) int out_r = out[0];
    OWN(fd) int out_w = out[1];
    if (fd_pipe(errs) < 0)
        return free_words(argv), err_sys(err, "cannot start %s", row->name);
    OWN(fd) int err_r = errs[0];
    OWN(fd) int err_w = errs[1];
    pid_t pid = fork();
    if (pid == 0)
        execute(program, argv, cwd, out_w, err_w);
    free_words(argv);
    if (pid < 0)
        return err_sys(err, "cannot start %s", row->name);
    *a = (struct act){pid, steal_fd(&out_r), steal_fd(&err_r)};
    return 0;
}

static void read_all(int fd, struct buf *out)
{
    char bytes[4096];
    for (ssize_t n; (n = read(fd, bytes, sizeof(bytes))) > 0 || (n < 0 && errno == EINTR);)
        if (n > 0 && out->n < ACT_OUTPUT)
            buf_add(out, bytes, (size_t)n);
}

int act_wait(const char *program, const json_t *request, struct buf *out, struct bk_err *err)
{
    struct act a;
    int status;
    if (act_start(program, request, &a, err) < 0)
        return -1;
    read_all(a.out, out);
    read_all(a.err, out);
    close(a.out);
    close(a.err);
    while (waitpid(a.pid, &status, 0) < 0)
        if (errno != EINTR)
            return err_sys(err, "cannot wait");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
