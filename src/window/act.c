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
#include "system/files.h"

/* Texts that a command reads as files have these descriptors: /dev/fd/30, 31. */
enum { WORDS = 12, FIRST_FILE = 30, FILES = 2 };

struct made {
    char *argv[WORDS + 2];
    int files[FILES], nfiles;
};

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

static void free_made(struct made *m)
{
    for (size_t i = 1; i < WORDS + 1; i++)
        free(m->argv[i]);
    for (int i = 0; i < m->nfiles; i++)
        close(m->files[i]);
}

static int add_file(struct made *m, const char *text)
{
    size_t n = strlen(text);
    OWN(fd) int fd = m->nfiles < FILES ? file_unnamed() : -1;
    if (fd < 0 || write(fd, text, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET) != 0)
        return -1;
    /* above those that the child fills */
    m->files[m->nfiles] = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FILE + FILES);
    return m->files[m->nfiles] < 0 ? -1 : m->nfiles++;
}

/* The path of a program, as a shell would find it; NULL: there is none. */
static char *find_program(const char *name)
{
    const char *at = getenv("PATH");
    if (strchr(name, '/'))
        return realpath(name, NULL);
    for (size_t n; at && *at; at += n + (at[n] == ':')) {
        OWN(buf) struct buf path = {0};
        n = strcspn(at, ":");
        buf_add(&path, at, n);
        buf_fmt(&path, "/%s", name);
        if (n && buf_ok(&path) && access(path.s, X_OK) == 0)
            return realpath(path.s, NULL);
    }
    return NULL;
}

/* A word whose value is there: what is before the sign, and the value as the sign says. */
static char *fill_word(struct made *m, const char *word, const char *sign, const char *value)
{
    const char *home = getenv("HOME");
    OWN(buf) struct buf text = {0};
    buf_add(&text, word, (size_t)(sign - word));
    OWN(mem) char *program = *sign == '^' ? find_program(value) : NULL;
    int file = *sign == '%' ? add_file(m, value) : 0;
    if (file < 0 || (*sign == '^' && !program))
        return NULL;
    if (*sign == '%')
        buf_fmt(&text, "/dev/fd/%d", FIRST_FILE + file);
    else if (*sign == '~' && strncmp(value, "~/", 2) == 0 && home)
        buf_fmt(&text, "%s%s", home, value + 1);
    else if (program)
        buf_str(&text, program);
    else
        buf_str(&text, value);
    return buf_ok(&text) ? steal_ptr(&text.s) : NULL;
}

static int make_words(const struct act_row *row, const json_t *request, struct made *m,
                      struct bk_err *err)
{
    size_t n = 1;
    for (size_t i = 0; row->words[i]; i++) {
        const char *word = row->words[i], *sign = strpbrk(word, "$~%^");
        const char *value = sign ? json_text(request, sign + 1) : "";
        bool missing = sign && (!value || !*value);
        if (missing && sign == word)
            return err_set(err, BK_E_INPUT, "%s: %s is missing", row->name, word + 1);
        if (missing)
            continue;
        m->argv[n] = sign ? fill_word(m, word, sign, value) : strdup(word);
        if (!m->argv[n++])
            return sign && *sign == '^' ? err_set(err, BK_E_INPUT, "there is no program %s", value)
                                        : err_nomem(err);
    }
    return 0;
}

/* In the child. */
static void execute(const char *program, const struct made *m, const char *cwd, int out, int err)
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
    for (int i = 0; i < m->nfiles; i++)
        if (dup2(m->files[i], FIRST_FILE + i) < 0)
            _exit(127);
    execv(program, m->argv);
    _exit(127);
}

static int start_made(const char *program, const struct made *m, const char *cwd, struct act *a)
{
    int out[2], errs[2];
    if (fd_pipe(out) < 0)
        return -1;
    OWN(fd) int out_r = out[0];
    OWN(fd) int out_w = out[1];
    if (fd_pipe(errs) < 0)
        return -1;
    OWN(fd) int err_r = errs[0];
    OWN(fd) int err_w = errs[1];
    pid_t pid = fork();
    if (pid == 0)
        execute(program, m, cwd, out_w, err_w);
    if (pid < 0)
        return -1;
    *a = (struct act){pid, steal_fd(&out_r), steal_fd(&err_r)};
    return 0;
}

int act_start(const char *program, const json_t *request, struct act *a, struct bk_err *err)
{
    const struct act_row *row = find_act(json_text(request, "do"));
    const char *cwd = json_text(request, "cwd");
    struct made m = {.argv = {(char *)program}};
    if (!row)
        return err_set(err, BK_E_INPUT, "there is no such act");
    int result = make_words(row, request, &m, err);
    if (result == 0 && start_made(program, &m, cwd && cwd[0] == '/' ? cwd : NULL, a) < 0)
        result = err_sys(err, "cannot start %s", row->name);
    free_made(&m);
    return result;
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
