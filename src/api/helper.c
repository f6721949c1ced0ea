/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "api/helper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/wire.h"
#include "base/own.h"
#include "run/run-policy.h"
#include "system/descriptors.h"
#include "system/process.h"

/* ---- starting ---- */

/* The program's handlers must not run in this process. Signals that it ignores stay ignored in its
 * commands, except those that libraries are known to ignore for themselves. */
static void reset_signals(void)
{
    struct sigaction plain = {.sa_handler = SIG_DFL}, now;
    sigset_t none;
    for (int sig = 1; sig < NSIG; sig++) {
        bool ignored = sigaction(sig, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
        if (!ignored || sig == SIGPIPE || sig == SIGCHLD)
            sigaction(sig, &plain, NULL);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

int helper_start(struct helper *c, void (*fn)(void *arg, int sock, pid_t parent), void *arg,
                 struct bk_err *err)
{
    int ends[2];
    sigset_t all, before;
    if (fd_stream_pair(ends) < 0)
        return err_sys(err, "socketpair");
    pid_t parent = getpid();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    if (pid == 0) {
        reset_signals();
        close(ends[0]);
        fn(arg, ends[1], parent);
        _exit(1);
    }
    int failed = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        errno = failed;
        return err_sys(err, "cannot start a process");
    }
    *c = (struct helper){pid, process_watch(pid), ends[0]};
    return 0;
}

void helper_collect(struct helper *c)
{
    while (c->pid > 0 && waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    c->pid = 0;
}

/* ---- a text ---- */

struct task {
    helper_fn *fn;
    void *arg;
};

static void write_text(void *arg, int sock, pid_t parent)
{
    struct task *task = arg;
    struct buf text = {0}, report = {0}, message = {0};
    const struct sbpl_unit *unit = NULL;
    struct bk_err err = {0};
    (void)parent;
    bool made = task->fn(task->arg, &text, &unit, &err) == 0;
    if (made && !buf_ok(&text))
        made = err_nomem(&err) == 0;
    size_t at = wire_begin(&message, made ? WIRE_ENDED : WIRE_FAILED);
    if (!made)
        api_report(&err, unit, &report);
    if (made)
        wire_text(&message, text.s, text.n);
    else
        wire_error(&message, &err, report.s, report.n);
    wire_end(&message, at);
    while (buf_ok(&message) && message.n && wire_send(sock, &message) == 0)
        poll(&(struct pollfd){sock, POLLOUT, 0}, 1, -1);
    _exit(0);
}

/* Reads the whole answer, or as much as there is. */
static void read_all(int sock, struct buf *into)
{
    while (wire_receive(sock, into) >= 0)
        poll(&(struct pollfd){sock, POLLIN, 0}, 1, -1);
}

char *helper_text(helper_fn *fn, void *arg, struct buckle_error **error)
{
    struct task task = {fn, arg};
    struct helper c;
    struct wire_message m;
    OWN(buf) struct buf bytes = {0};
    OWN(buf) struct buf report = {0};
    struct buf text = {0};
    struct bk_err err;
    if (helper_start(&c, write_text, &task, &err) < 0)
        return api_error(error, &err, NULL), NULL;
    read_all(c.sock, &bytes);
    close(c.sock);
    if (c.watch >= 0)
        close(c.watch);
    helper_collect(&c);
    bool whole = buf_ok(&bytes) && wire_first(bytes.s ? bytes.s : "", bytes.n, &m) > 0;
    if (whole && m.kind == WIRE_ENDED) {
        size_t n;
        const char *s = wire_take_text(&m, &n);
        buf_add(&text, s, n);
        return api_text_or(&text, error);
    }
    if (whole)
        wire_take_error(&m, &err, &report);
    else
        err_set(&err, BK_E_SYSTEM, "the helper process ended unexpectedly");
    api_error_made(error, &err, &report);
    return NULL;
}

/* ---- preparing ---- */

/* The writable folder must not be the whole home or disk, unless the caller named it. */
static int check_place(const char *cwd, struct bk_err *err)
{
    const char *all = run_place_is_all(cwd);
    if (!all)
        return 0;
    err_set(err, BK_E_INPUT, "%s is %s: the command could write to all of it", cwd, all);
    err_hint(err, "name the command's directory");
    return -1;
}

static int find_place(struct prepared *p, const struct buckle_command *c, struct bk_err *err)
{
    if (c->directory && chdir(c->directory) < 0)
        return err_sys(err, "%s", c->directory);
    if (!getcwd(p->cwd, sizeof(p->cwd)))
        return err_sys(err, "cannot find the working directory");
    bool open_everywhere = c->profile || c->settings || c->texts.n;
    return c->directory || open_everywhere ? 0 : check_place(p->cwd, err);
}

/* As a real path: mounts for the sandbox are found by it. */
static int find_tmpdir(struct prepared *p, const struct buckle_command *c, struct bk_err *err)
{
    p->private_tmpdir.lock = -1;
    if (!c->tmpdir)
        return tmpdir_name(&p->private_tmpdir, err);
    if ((mkdir(c->tmpdir, 0700) < 0 && errno != EEXIST) || !realpath(c->tmpdir, p->tmpdir))
        return err_sys(err, "%s", c->tmpdir);
    return 0;
}

int helper_prepare(struct prepared *p, const struct buckle_command *c, struct bk_err *err)
{
    arena_init(&p->arena, 64 << 20);
    if (find_tmpdir(p, c, err) < 0 || find_place(p, c, err) < 0)
        return -1;
    const char *tmpdir = c->tmpdir ? p->tmpdir : p->private_tmpdir.path;
    if (api_policy_make(&p->policy, c, p->cwd, tmpdir, err) < 0 ||
        api_spec(c, &p->policy, &p->arena, p->cwd, &p->spec, err) < 0)
        return -1;
    p->spec.tmpdir = c->tmpdir ? p->tmpdir : NULL;
    p->spec.private_tmpdir = c->tmpdir ? NULL : &p->private_tmpdir;
    return 0;
}
