/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The inner side of a sandbox inside a sandbox: hands the request over, then does what a controller
 * does for its callers. It passes signals on, reports events, stops and ends with the command. The
 * outer side ends the command when this process ends.
 */

#include "kernel/launch/nest.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/shared/fd-pass.h"

static const int passed_on[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

/* One at a time in a process, as with launches. */
static struct {
    int channel; /* 0: none */
    const struct launch *l;
    bool joined; /* the command is in our process group: signals from the terminal reach it */
    bool done;
    bool started;
    int early_stop;    /* a signal that came before that; 0: none */
    int32_t continues; /* sent so far */
    struct nest_end end;
    struct event event;
    unsigned char packet[sizeof(struct nest_message) + sizeof(struct event)];
} asker;

int nest_call(void)
{
    int fd = prctl(NEST_CALL, 0, 0, 0, 0);
    return fd < 0 ? -errno : fd;
}

static int send_to_outer(enum nest_kind kind, int value)
{
    return nest_send(asker.channel, kind, value);
}

static int signal_inner(int sig)
{
    return send_to_outer(NEST_SIGNAL, sig);
}

static void cancel_inner(bool at_once)
{
    send_to_outer(NEST_CANCEL, at_once);
}

static const struct launch_elsewhere inner = {signal_inner, cancel_inner};

static void release_stdio(void)
{
    OWN(fd) int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd <= 1 && null >= 0; fd++)
        dup2(null, fd);
}

/* As a controller stops with its command, so that the caller's shell notices. The message is old if
 * it left before our last SIGCONT arrived there, or if we have yet to send one. */
static void stop(int32_t continues)
{
    sigset_t pending;
    sigpending(&pending);
    if (asker.l->no_job_control || continues != asker.continues ||
        sigismember(&pending, SIGCONT) == 1)
        return;
    raise(SIGSTOP);
}

/* A signal that stops us. If the command gets it too, we stop when it has: a shell that already
 * thinks the job is stopped would share the terminal's input with it. */
static void stop_by(int sig, bool from_terminal)
{
    if (!from_terminal || !asker.joined)
        raise(SIGSTOP);
    else if (asker.early_stop)
        send_to_outer(NEST_SIGNAL, sig);
    asker.early_stop = 0;
}

static void handle_packet(size_t n)
{
    struct nest_message m;
    const unsigned char *rest = asker.packet + sizeof(m);
    memcpy(&m, asker.packet, sizeof(m));
    switch (m.kind) {
    case NEST_STARTED:
        asker.joined = m.value != 0;
        asker.started = true;
        if (asker.early_stop) /* the command was there, or it was not */
            stop_by(asker.early_stop, true);
        if (asker.l->give_stdio)
            release_stdio();
        break;
    case NEST_STOPPED:
        stop(m.value);
        break;
    case NEST_EVENT:
        if (event_from_wire(rest, n - sizeof(m), &asker.event) == 0 && asker.l->on_event)
            asker.l->on_event(asker.l->arg, &asker.event);
        break;
    case NEST_END:
        asker.done = n == sizeof(asker.end);
        if (asker.done)
            memcpy(&asker.end, asker.packet, n);
        break;
    default:
        break;
    }
}

/* Returns false at the end. */
static bool receive(void)
{
    ssize_t n = recv(asker.channel, asker.packet, sizeof(asker.packet), MSG_DONTWAIT);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return true;
    if (n >= (ssize_t)sizeof(struct nest_message))
        handle_packet((size_t)n);
    return n > 0 && !asker.done;
}

static bool is_stop(int sig)
{
    return sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;
}

static void pass_signal(int signals)
{
    struct signalfd_siginfo si;
    if (read(signals, &si, sizeof(si)) != sizeof(si))
        return;
    if (is_stop((int)si.ssi_signo)) {
        if (asker.started || si.ssi_code <= 0)
            stop_by((int)si.ssi_signo, si.ssi_code > 0);
        else
            asker.early_stop = (int)si.ssi_signo;
        return;
    }
    /* the process that continues us may not reach the command */
    bool continues = si.ssi_signo == SIGCONT;
    if (si.ssi_code <= 0 || !asker.joined || continues)
        asker.continues += send_to_outer(NEST_SIGNAL, (int)si.ssi_signo) == 0 && continues;
}

static void serve(int signals)
{
    const struct launch *l = asker.l;
    struct pollfd fds[] = {{asker.channel, POLLIN, 0},
                           {signals, POLLIN, 0},
                           {l->on_input ? l->input_fd : -1, POLLIN, 0}};
    for (bool more = true; more;) {
        if (poll(fds, 3, -1) < 0 && errno != EINTR)
            return;
        if (fds[1].revents)
            pass_signal(signals);
        if (fds[0].revents)
            more = receive();
        if (fds[2].revents & POLLIN)
            l->on_input(l->arg);
        else if (fds[2].revents)
            fds[2].fd = -1;
    }
}

/* Waits until the outer side has gone: while one of its processes is in our group, a shell may not
 * take the terminal back from us. */
static void wait_for_parting(void)
{
    enum { PARTING_MS = 200 };
    struct pollfd p = {asker.channel, POLLIN, 0};
    char rest;
    while (asker.done && poll(&p, 1, PARTING_MS) > 0 &&
           recv(asker.channel, &rest, 1, MSG_DONTWAIT) > 0)
        ;
}

static int read_end(struct launch_end *end, struct bk_err *err)
{
    if (!asker.done)
        return err_set(err, BK_E_SYSTEM, "the sandbox around this one ended the command");
    *end = asker.end.end;
    if (asker.end.head.value == 0)
        return 0;
    *err = asker.end.err;
    err->file[sizeof(err->file) - 1] = err->msg[sizeof(err->msg) - 1] =
        err->hint[sizeof(err->hint) - 1] = '\0';
    if (err->remedy >= REMEDY_COUNT)
        err->remedy = REMEDY_NONE;
    return -1;
}

static uint64_t bits_of(const sigset_t *set)
{
    uint64_t bits = 0;
    for (int sig = 1; sig < 64; sig++)
        bits |= (uint64_t)(sigismember(set, sig) == 1) << (sig - 1);
    return bits;
}

static uint64_t ignored_signals(void)
{
    uint64_t bits = 0;
    struct sigaction act;
    for (int sig = 1; sig < 64; sig++)
        if (sigaction(sig, NULL, &act) == 0 && act.sa_handler == SIG_IGN)
            bits |= (uint64_t)1 << (sig - 1);
    return bits;
}

static int send_request(struct nest_request *q, int memory)
{
    int fds[1 + NEST_FDS];
    fds[0] = memory;
    for (uint32_t i = 0; i < q->nfds; i++)
        fds[1 + i] = q->fds[i];
    q->head.kind = NEST_REQUEST;
    q->version = NEST_VERSION;
    q->size = sizeof(*q);
    return fd_pass_send_many(asker.channel, q, sizeof(*q), fds, 1 + q->nfds);
}

int nest_describe(struct nest_request *q, int channel, int memory, char **out, size_t *n,
                  struct bk_err *err)
{
    struct launch_end end;
    struct nest_message m = {0};
    OWN(fd) int ours = channel;
    OWN(fd) int sealed = memory;
    OWN(fd) int told = -1;
    asker.channel = ours;
    asker.done = false;
    int sent = send_request(q, sealed);
    asker.channel = 0;
    errno = -sent;
    if (sent < 0)
        return err_sys(err, "cannot ask the sandbox around this one");
    ssize_t got = fd_pass_receive(ours, &asker.end, sizeof(asker.end), &told);
    if (got >= (ssize_t)sizeof(m))
        m = asker.end.head;
    if (m.kind == NEST_ANSWER && (*out = nest_memory_copy(told, n)))
        return 0;
    asker.done = m.kind == NEST_END && got == sizeof(asker.end) && m.value != 0;
    return read_end(&end, err);
}

int nest_run(const struct launch *l, struct nest_request *q, int channel, int memory,
             struct launch_end *end, struct bk_err *err)
{
    sigset_t received, before;
    OWN(fd) int ours = channel;
    OWN(fd) int sealed = memory;
    memset(end, 0, sizeof(*end));
    sigemptyset(&received);
    for (size_t i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++)
        sigaddset(&received, passed_on[i]);
    sigaddset(&received, SIGCONT);
    for (int sig = 1; sig < NSIG && !l->no_job_control; sig++)
        if (is_stop(sig))
            sigaddset(&received, sig);
    OWN(fd) int signals = signalfd(-1, &received, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0)
        return err_sys(err, "signalfd");
    sigprocmask(SIG_BLOCK, &received, &before);
    q->blocked = bits_of(&before);
    q->ignored = ignored_signals();
    asker.channel = ours;
    asker.l = l;
    asker.joined = asker.done = asker.started = false;
    asker.continues = asker.early_stop = 0;
    launch_replace(&inner);
    int sent = send_request(q, sealed);
    if (sent == 0)
        serve(signals);
    if (asker.joined)
        wait_for_parting();
    launch_replace(NULL);
    asker.channel = 0;
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = -sent;
    return sent < 0 ? err_sys(err, "cannot ask the sandbox around this one") : read_end(end, err);
}
