/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Starts the command in its own session with pipes for stdout, stderr and the final working
 * directory. A sandboxed command is a `buckle run` child, which kills everything in the sandbox
 * when it dies; outside, the process group is killed.
 */

#include "agent/job.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/buf.h"
#include "base/own.h"
#include "command/end-folder.h"
#include "command/order.h"
#include "system/descriptors.h"
#include "system/process.h"

enum { GRACE_MS = 2000, WORDS = 24, RELEASE_MS = 5000 };

enum { CWD_FD = END_FOLDER_FD, SESSION_FD = 8, ORDER_FD = 7 };

/* ---- starting ---- */

struct argv_list {
    const char **at;
    size_t n;
    char procs[16];
    struct buf line; /* for the shell */
};

static void add_word(struct argv_list *w, const char *word)
{
    w->at[w->n++] = word;
}

static int build_command(struct argv_list *w, const struct job_spec *s)
{
    w->at = calloc(WORDS + 2 * (s->nsettings + s->nagreed), sizeof(*w->at));
    buf_fmt(&w->line, END_FOLDER_TRAP "%s", s->spare ? "" : s->command);
    if (!w->at || !buf_ok(&w->line))
        return -1;
    if (s->sandboxed) {
        static const char *const fixed[] = {
            "run",           "--watch-net", "--report=none",      "--session=fd:8",
            "--ask-session", "--keep-fd=9", "--leave-background", "--max-procs"};
        add_word(w, s->program);
        for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
            add_word(w, fixed[i]);
        snprintf(w->procs, sizeof(w->procs), "%u", s->max_procs);
        add_word(w, w->procs);
        add_word(w, "--cd");
        add_word(w, s->cwd);
        add_word(w, "--tmpdir");
        add_word(w, s->tmpdir);
        if (s->spare)
            add_word(w, "--spare=fd:7");
        if (s->here)
            add_word(w, "--here");
        if (s->world)
            add_word(w, "--session-world");
        if (s->grantable)
            add_word(w, "--grantable");
        for (size_t i = 0; i < s->nsettings; i++) {
            add_word(w, "--settings");
            add_word(w, s->settings[i]);
        }
        for (size_t i = 0; i < s->nagreed; i++) {
            add_word(w, "--allow-command");
            add_word(w, s->agreed[i]);
        }
        add_word(w, "--");
    }
    add_word(w, s->shell);
    add_word(w, "-c");
    add_word(w, w->line.s);
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
 * An unsandboxed command must not start in the sandbox's TMPDIR, where a sandboxed one could have
 * placed anything. Compare real paths, because a sandboxed command can change symlinks.
 */
static bool enter_cwd_outside(const struct job_spec *s)
{
    char here[PATH_MAX], shared[PATH_MAX];
    if (chdir(s->cwd) < 0 || !getcwd(here, sizeof(here)) || !realpath(s->tmpdir, shared))
        return false;
    size_t n = strlen(shared);
    return strncmp(here, shared, n) != 0 || (here[n] && here[n] != '/');
}

/* Runs in the child. Moves its descriptors up first: they may have the numbers that it needs. */
static void __attribute__((noreturn)) exec_job(const struct job_spec *s, const struct argv_list *w,
                                               pid_t owner, const int writing[JOB_PIPES], int order)
{
    int high[JOB_PIPES], null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int session = s->sandboxed ? fcntl(s->session, F_DUPFD_CLOEXEC, 20) : -1;
    int orders = s->spare ? fcntl(order, F_DUPFD_CLOEXEC, 20) : -1;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    process_end_with(owner, 125);
    setsid(); /* no terminal, and a process group that can be killed as a whole */
    for (int i = 0; i < JOB_PIPES; i++)
        high[i] = fcntl(writing[i], F_DUPFD_CLOEXEC, 20);
    put_at(null, 0);
    put_at(high[JOB_OUT], 1);
    put_at(high[JOB_ERR], 2);
    put_at(high[JOB_CWD], CWD_FD);
    if (session >= 0)
        put_at(session, SESSION_FD);
    if (orders >= 0)
        put_at(orders, ORDER_FD);
    const char *folder = s->sandboxed || !enter_cwd_outside(s) ? s->root : NULL;
    if (folder && chdir(folder) < 0) {
        dprintf(2, "buckle: cannot change to %s: %s\n", folder, strerror(errno));
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
        if (fd_pipe(ends) < 0)
            return -1;
        j->pipes[i] = ends[0];
        writing[i] = ends[1];
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
    }
    return 0;
}

int job_start(struct job *j, const struct job_spec *spec, struct bk_err *err)
{
    struct argv_list w = {.n = 0};
    int writing[JOB_PIPES] = {-1, -1, -1}, orders[2] = {-1, -1};
    *j = (struct job){.watch = -1,
                      .pipes = {-1, -1, -1},
                      .rest = {-1, -1},
                      .sandboxed = spec->sandboxed,
                      .order = -1};
    capture_init(&j->captured[JOB_OUT], spec->max_output);
    capture_init(&j->captured[JOB_ERR], spec->max_output);
    pid_t owner = getpid();
    bool paired = !spec->spare || fd_packet_pair(orders) == 0;
    OWN(fd) int theirs = orders[1];
    OWN(fd) int ours = orders[0];
    bool made = paired && build_command(&w, spec) == 0 && make_pipes(j, writing) == 0;
    j->pid = made ? fork() : -1;
    if (j->pid == 0)
        exec_job(spec, &w, owner, writing, theirs);
    if (j->pid < 0)
        err_sys(err, "cannot start another command");
    free(w.at);
    buf_free(&w.line);
    close_all(writing);
    if (j->pid < 0)
        return close_all(j->pipes), -1;
    j->watch = process_watch(j->pid);
    j->order = steal_fd(&ours);
    j->deadline_ms = spec->timeout_ms && !spec->spare ? now_ms() + spec->timeout_ms : 0;
    return 0;
}

/* ---- spares ---- */

bool job_is_ready(struct job *j)
{
    char what = 0;
    if (!j->ready && j->order >= 0 && fd_packet_receive(j->order, &what, 1, NULL, true) == 1)
        j->ready = what == ORDER_READY;
    return j->ready;
}

void job_announce(const struct job *j)
{
    const char soon = ORDER_SOON;
    if (j->ready)
        (void)!fd_packet_send(j->order, &soon, 1, -1, true);
}

bool job_has_ended(const struct job *j)
{
    struct pollfd ended = {j->watch, POLLIN, 0};
    return poll(&ended, 1, 0) == 1;
}

/* The spare answers before it starts anything, so a command never runs twice. */
int job_release(struct job *j, const struct job_spec *spec, bool asks)
{
    OWN(buf) struct buf line = {0};
    OWN(buf) struct buf bytes = {0};
    char what = 0, dash[] = "-c";
    buf_fmt(&line, END_FOLDER_TRAP "%s", spec->command);
    if (!job_is_ready(j) || !buf_ok(&line))
        return -1;
    char *argv[] = {(char *)spec->shell, dash, line.s, NULL};
    order_write(&(struct order){.start = spec->cwd, .text = "", .asks = asks, .argv = argv},
                &bytes);
    struct pollfd answer = {j->order, POLLIN, 0};
    if (!buf_ok(&bytes) || bytes.n > ORDER_MOST ||
        fd_packet_send(j->order, bytes.s, bytes.n, -1, true) < 0 ||
        poll(&answer, 1, RELEASE_MS) != 1 ||
        fd_packet_receive(j->order, &what, 1, NULL, true) != 1 || what != ORDER_TAKEN)
        return -1;
    capture_init(&j->captured[JOB_OUT], spec->max_output);
    capture_init(&j->captured[JOB_ERR], spec->max_output);
    j->deadline_ms = spec->timeout_ms ? now_ms() + spec->timeout_ms : 0;
    return 0;
}

enum { OTHERS = 256 };
static pid_t others[OTHERS];

/* It goes on with background processes, or is about to end. */
static void reap_later(pid_t pid)
{
    for (size_t i = 0; i < OTHERS; i++)
        if (!others[i]) {
            others[i] = pid;
            return;
        }
}

void job_reap_others(void)
{
    for (size_t i = 0; i < OTHERS; i++)
        if (others[i] && waitpid(others[i], NULL, WNOHANG) != 0)
            others[i] = 0;
}

/* A spare tells how its command ended, which may be long before it ends itself. */
static void read_status(struct job *j)
{
    int status;
    if (fd_packet_receive(j->order, &status, sizeof(status), NULL, true) != sizeof(status))
        return;
    j->exited = true;
    j->status = status;
    if (waitpid(j->pid, NULL, WNOHANG) == 0)
        reap_later(j->pid);
    close(steal_fd(&j->order));
}

/* ---- reading ---- */

static void take_bytes(struct job *j, enum job_pipe from, const char *s, size_t n)
{
    switch (from) {
    case JOB_OUT:
    case JOB_ERR:
        capture_add(&j->captured[from], s, n);
        break;
    case JOB_CWD:
        for (size_t i = 0; i < n; i++) /* keep the last line */
            if (s[i] == '\n')
                j->cwd[j->ncwd < sizeof(j->cwd) ? j->ncwd : 0] = '\0', j->ncwd = 0;
            else if (j->ncwd < sizeof(j->cwd) - 1)
                j->cwd[j->ncwd++] = s[i];
        break;
    default:
        break;
    }
}

/* Reads a bounded amount, so that other jobs get their turn. */
static void read_pipe(struct job *j, enum job_pipe from)
{
    enum { AT_ONCE = 16 };
    static char block[65536];
    for (int i = 0; i < AT_ONCE && j->pipes[from] >= 0; i++) {
        ssize_t n = read(j->pipes[from], block, sizeof(block));
        if (n > 0)
            take_bytes(j, from, block, (size_t)n);
        else if (n == 0 || (errno != EAGAIN && errno != EINTR))
            close(steal_fd(&j->pipes[from]));
        else
            return;
    }
}

/* Of a command in a sandbox, background processes may go on. */
static void keep_rest(struct job *j)
{
    for (int i = 0; i < 2 && j->sandboxed; i++) {
        struct pollfd p = {j->pipes[i], POLLIN, 0};
        if (j->pipes[i] >= 0 && poll(&p, 1, 0) == 0)
            j->rest[i] = steal_fd(&j->pipes[i]);
    }
    close_all(j->pipes);
}

int job_take_rest(struct job *j, int which)
{
    return steal_fd(&j->rest[which]);
}

void job_read(struct job *j)
{
    struct pollfd ended = {j->watch, POLLIN, 0};
    if (!j->exited && j->order >= 0)
        read_status(j);
    if (!j->exited && poll(&ended, 1, 0) == 1) {
        j->exited = waitpid(j->pid, &j->status, WNOHANG) == j->pid;
        if (j->exited && !j->sandboxed)
            kill(-j->pid, SIGKILL); /* kill what it left running; a sandbox does that itself */
    }
    for (int i = 0; i < JOB_PIPES; i++)
        read_pipe(j, (enum job_pipe)i);
    /* don't wait for others that hold the pipe open */
    if (j->exited && poll(&(struct pollfd){j->pipes[JOB_OUT], POLLIN, 0}, 1, 0) <= 0 &&
        poll(&(struct pollfd){j->pipes[JOB_ERR], POLLIN, 0}, 1, 0) <= 0)
        keep_rest(j);
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
        kill(j->pid, sig); /* buckle run forwards SIGTERM; SIGKILL ends the whole sandbox */
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
    for (int i = 0; i < 2; i++)
        if (j->rest[i] >= 0)
            close(steal_fd(&j->rest[i]));
    if (j->watch >= 0)
        close(j->watch);
    if (j->order >= 0)
        close(steal_fd(&j->order));
    capture_free(&j->captured[JOB_OUT]);
    capture_free(&j->captured[JOB_ERR]);
    j->pid = 0;
    j->watch = -1;
}
