/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "agent/job.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"

enum { GRACE_MS = 2000, WORDS = 24 };

/* Where it ends is where the next one begins, however it ends. */
static const char script[] = "trap 'pwd -P >&9' EXIT 2>/dev/null; eval \"$1\"";
enum { CWD_FD = 9, SESSION_FD = 8 };

/* ---- starting ---- */

struct words {
    const char **at;
    size_t n;
    char procs[16];
};

static void add(struct words *w, const char *word)
{
    w->at[w->n++] = word;
}

static int word_command(struct words *w, const struct job_spec *s)
{
    w->at = calloc(WORDS + 2 * s->nsettings, sizeof(*w->at));
    if (!w->at)
        return -1;
    if (s->sandboxed) {
        static const char *const fixed[] = {
            "run", "--watch-net", "--report=none", "--session=fd:8", "--keep-fd=9", "--max-procs"};
        add(w, s->program);
        for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
            add(w, fixed[i]);
        snprintf(w->procs, sizeof(w->procs), "%u", s->max_procs);
        add(w, w->procs);
        add(w, "--cd");
        add(w, s->cwd);
        add(w, "--tmpdir");
        add(w, s->tmpdir);
        if (s->here)
            add(w, "--here");
        if (s->grantable)
            add(w, "--grantable");
        for (size_t i = 0; i < s->nsettings; i++) {
            add(w, "--settings");
            add(w, s->settings[i]);
        }
        add(w, "--");
    }
    add(w, s->shell);
    add(w, "-c");
    add(w, script);
    add(w, "sh");
    add(w, s->command);
    return 0;
}

static void put_at(int from, int to)
{
    if (from == to)
        fcntl(to, F_SETFD, 0);
    else
        dup2(from, to);
}

/*
 * What runs outside has the person's own folders: its TMPDIR is not the sandbox's, and it does not
 * begin there either, since a job inside could put anything in its way. Where it really is counts,
 * not the name: the inside can turn links.
 */
static bool go_outside(const struct job_spec *s)
{
    char here[PATH_MAX], shared[PATH_MAX];
    if (chdir(s->cwd) < 0 || !getcwd(here, sizeof(here)) || !realpath(s->tmpdir, shared))
        return false;
    size_t n = strlen(shared);
    return strncmp(here, shared, n) != 0 || (here[n] && here[n] != '/');
}

/* In the child. Its descriptors are moved out of the way first: they may lie where others go. */
static void __attribute__((noreturn))
become(const struct job_spec *s, const struct words *w, pid_t owner, const int writing[JOB_PIPES])
{
    int high[JOB_PIPES], null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int session = s->sandboxed ? fcntl(s->session, F_DUPFD_CLOEXEC, 20) : -1;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != owner)
        _exit(125); /* it died before we were tied to it */
    setsid();       /* nobody's terminal, and a group that can be ended as one */
    for (int i = 0; i < JOB_PIPES; i++)
        high[i] = fcntl(writing[i], F_DUPFD_CLOEXEC, 20);
    put_at(null, 0);
    put_at(high[JOB_OUT], 1);
    put_at(high[JOB_ERR], 2);
    put_at(high[JOB_CWD], CWD_FD);
    if (session >= 0)
        put_at(session, SESSION_FD);
    const char *folder = s->sandboxed || !go_outside(s) ? s->root : NULL;
    if (folder && chdir(folder) < 0) {
        dprintf(2, "buckle: cannot go to %s: %s\n", folder, strerror(errno));
        _exit(125);
    }
    execvp(w->at[0], (char *const *)w->at);
    dprintf(2, "buckle: cannot run %s: %s\n", w->at[0], strerror(errno));
    _exit(127);
}

static void close_all(int *fds)
{
    for (int i = 0; i < JOB_PIPES; i++)
        if (fds[i] >= 0)
            close(steal_fd(&fds[i]));
}

static int make_pipes(struct job *j, int writing[JOB_PIPES])
{
    for (int i = 0; i < JOB_PIPES; i++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) < 0)
            return -1;
        j->pipes[i] = ends[0];
        writing[i] = ends[1];
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
    }
    return 0;
}

int job_start(struct job *j, const struct job_spec *spec, struct bk_err *err)
{
    struct words w = {.n = 0};
    int writing[JOB_PIPES] = {-1, -1, -1};
    *j = (struct job){.pidfd = -1, .pipes = {-1, -1, -1}, .sandboxed = spec->sandboxed};
    capture_init(&j->captured[JOB_OUT], spec->max_output);
    capture_init(&j->captured[JOB_ERR], spec->max_output);
    pid_t owner = getpid();
    j->pid = word_command(&w, spec) == 0 && make_pipes(j, writing) == 0 ? fork() : -1;
    if (j->pid == 0)
        become(spec, &w, owner, writing);
    if (j->pid < 0)
        err_sys(err, "cannot start another command");
    free(w.at);
    close_all(writing);
    if (j->pid < 0)
        return close_all(j->pipes), -1;
    j->pidfd = (int)syscall(SYS_pidfd_open, j->pid, 0);
    j->deadline_ms = spec->timeout_ms ? now_ms() + spec->timeout_ms : 0;
    return 0;
}

/* ---- hearing ---- */

static void take(struct job *j, enum job_pipe from, const char *s, size_t n)
{
    switch (from) {
    case JOB_OUT:
    case JOB_ERR:
        capture_add(&j->captured[from], s, n);
        break;
    case JOB_CWD:
        for (size_t i = 0; i < n; i++) /* the last line counts */
            if (s[i] == '\n')
                j->cwd[j->ncwd < sizeof(j->cwd) ? j->ncwd : 0] = '\0', j->ncwd = 0;
            else if (j->ncwd < sizeof(j->cwd) - 1)
                j->cwd[j->ncwd++] = s[i];
        break;
    default:
        break;
    }
}

/* Not without end: others want to be heard as well. */
static void read_pipe(struct job *j, enum job_pipe from)
{
    enum { AT_ONCE = 16 };
    static char block[65536];
    for (int i = 0; i < AT_ONCE && j->pipes[from] >= 0; i++) {
        ssize_t n = read(j->pipes[from], block, sizeof(block));
        if (n > 0)
            take(j, from, block, (size_t)n);
        else if (n == 0 || (errno != EAGAIN && errno != EINTR))
            close(steal_fd(&j->pipes[from]));
        else
            return;
    }
}

void job_hear(struct job *j)
{
    struct pollfd ended = {j->pidfd, POLLIN, 0};
    if (!j->exited && poll(&ended, 1, 0) == 1) {
        j->exited = waitpid(j->pid, &j->status, WNOHANG) == j->pid;
        if (j->exited && !j->sandboxed)
            kill(-j->pid, SIGKILL); /* what it left behind; a sandbox sees to that itself */
    }
    for (int i = 0; i < JOB_PIPES; i++)
        read_pipe(j, (enum job_pipe)i);
    /* who else holds the other end has no say any more */
    if (j->exited && poll(&(struct pollfd){j->pipes[JOB_OUT], POLLIN, 0}, 1, 0) <= 0 &&
        poll(&(struct pollfd){j->pipes[JOB_ERR], POLLIN, 0}, 1, 0) <= 0)
        close_all(j->pipes);
}

bool job_is_over(const struct job *j)
{
    for (int i = 0; i < JOB_PIPES; i++)
        if (j->pipes[i] >= 0)
            return false;
    return j->exited;
}

/* ---- ending ---- */

static void signal_all(const struct job *j, int sig)
{
    if (j->exited || j->pid <= 0)
        return;
    if (j->sandboxed)
        kill(j->pid, sig); /* it passes the first on, and takes all along with the second */
    else
        kill(-j->pid, sig);
}

void job_end(struct job *j)
{
    if (j->exited || j->kill_ms)
        return;
    signal_all(j, SIGTERM);
    j->kill_ms = now_ms() + GRACE_MS;
    j->deadline_ms = 0;
}

int job_tick(struct job *j)
{
    uint64_t now = now_ms();
    if (j->exited)
        return -1;
    if (j->deadline_ms && now >= j->deadline_ms) {
        j->timed_out = true;
        job_end(j);
    }
    if (j->kill_ms && now >= j->kill_ms) {
        signal_all(j, SIGKILL);
        j->kill_ms = now + GRACE_MS;
    }
    uint64_t next = j->kill_ms ? j->kill_ms : j->deadline_ms;
    return next ? (int)(next - now > 60000 ? 60000 : next - now) : -1;
}

void job_free(struct job *j)
{
    if (j->pid > 0 && !j->exited) {
        signal_all(j, SIGKILL);
        while (waitpid(j->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    close_all(j->pipes);
    if (j->pidfd >= 0)
        close(j->pidfd);
    capture_free(&j->captured[JOB_OUT]);
    capture_free(&j->captured[JOB_ERR]);
    j->pid = 0;
    j->pidfd = -1;
}
