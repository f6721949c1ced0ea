/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A run that finds a spare in its session: it passes command, folder, variables and standard
 * streams to it, then forwards signals until it learns how the command ended. It reads no settings
 * and makes no policy. Whatever is unusual here makes it a run as usual.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/control-socket.h"
#include "base/own.h"
#include "cli/run/spare-words.h"
#include "system/descriptors.h"
#include "system/inherited.h"
#include "system/process.h"

/* ---- whether ---- */

struct spare_call spare_call_of_run(const struct cli_args *args)
{
    const char *text = args_value(args, "command-text");
    bool shell = args->npos == 3 && strcmp(args->pos[1], "-c") == 0;
    return (struct spare_call){.args = args,
                               .name = "run",
                               .argv = (char *const *)args->pos,
                               .text = text    ? text
                                       : shell ? args->pos[2]
                                               : ""};
}

static bool is_listed(const char *name, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(*list, name) == 0)
            return true;
    return false;
}

/* What a spare cannot do, and what means something else in another folder. */
static const char *const never[] = {"spare", "dry-run", "debug",     "control-fd", "keep-fd",
                                    "ask",   "record",  "updatable", "cap",        NULL};

/* Whether the command would inherit it: not a folder, a socket or a device (docs/linux.md). */
static bool is_passed_on(int fd)
{
    struct stat st;
    return !(fcntl(fd, F_GETFD) & FD_CLOEXEC) && fstat(fd, &st) == 0 &&
           (S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode) || S_ISLNK(st.st_mode));
}

/* Descriptors besides the standard streams that would be the command's, too. Since Linux 6.2 the
 * folder's size is their number. */
static bool has_others(const struct spare_call *c)
{
    struct stat st;
    off_t own = ORDER_STDIO + (c->session > 0);
    if (stat("/proc/self/fd", &st) == 0 && st.st_size == own)
        return false;
    DIR *d = opendir("/proc/self/fd");
    bool found = !d;
    for (struct dirent *e; d && !found && (e = readdir(d));) {
        int fd = e->d_name[0] == '.' ? -1 : (int)strtol(e->d_name, NULL, 10);
        found = fd > STDERR_FILENO && fd != dirfd(d) && is_passed_on(fd);
    }
    if (d)
        closedir(d);
    return found;
}

static bool has_terminal(void)
{
    OWN(fd) int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    return fd >= 0 || isatty(0) || isatty(1) || isatty(2);
}

/* A folder among them is not the command's. */
static bool has_streams(void)
{
    struct stat st;
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (fstat(fd, &st) < 0 || S_ISDIR(st.st_mode))
            return false;
    return true;
}

/* By the words alone. */
static bool is_usual(const struct spare_call *c)
{
    const char *where = args_value(c->args, "session"), *report = NULL;
    if (!where || strncmp(where, "fd:", 3) == 0 || getenv("SANDBOX_RUNTIME") ||
        getenv("BUCKLE_PRETEND"))
        return false;
    for (size_t i = 0; i < c->args->ngiven; i++) {
        const struct cli_given *g = &c->args->given[i];
        if (is_listed(g->option->name, never))
            return false;
        report = strcmp(g->option->name, "report") == 0 ? g->value : report;
    }
    bool shell =
        c->argv[0] && c->argv[1] && strcmp(c->argv[1], "-c") == 0 && c->argv[2] && !c->argv[3];
    return shell && (!report || strncmp(report, "fd:", 3) != 0);
}

/* ---- using it ---- */

static bool add_variables(struct buf *texts, char **out)
{
    size_t at[8], n = 0;
    for (const char *const *v = spare_volatile; *v; v++, n++) {
        const char *value = getenv(*v);
        at[n] = texts->n;
        buf_fmt(texts, "%s%s%s", *v, value ? "=" : "", value ? value : "");
        buf_add(texts, "", 1);
    }
    for (size_t i = 0; buf_ok(texts) && i < n; i++)
        out[i] = texts->s + at[i];
    return buf_ok(texts);
}

/* Sends the order and the streams before anybody reads them: what is sent waits in the socket. */
static bool send_order(const struct spare_call *c, int to)
{
    char folder[PATH_MAX];
    char *env[8] = {NULL};
    OWN(buf) struct buf texts = {0};
    OWN(buf) struct buf bytes = {0};
    if (!getcwd(folder, sizeof(folder)) || !add_variables(&texts, env))
        return false;
    struct order o = {.start = spare_is_anywhere(c) ? folder : "",
                      .text = c->text,
                      .stdio = true,
                      .argv = (char **)c->argv,
                      .env = env};
    order_write(&o, &bytes);
    if (!buf_ok(&bytes) || bytes.n > ORDER_MOST ||
        fd_packet_send(to, bytes.s, bytes.n, -1, true) < 0)
        return false;
    for (int fd = 0; fd < ORDER_STDIO; fd++)
        if (fd_packet_send(to, "", 1, fd, true) < 0)
            return false;
    return true;
}

static bool ask_session(const struct spare_call *c, int session, const char *key, int passed)
{
    char folder[PATH_MAX];
    OWN(buf) struct buf text = {0};
    OWN(buf) struct buf m = {0};
    buf_safe(&text, c->text, strnlen(c->text, 4000));
    if (!getcwd(folder, sizeof(folder)))
        return false;
    buf_fmt(&m, "{\"take\": \"%s\", \"command\": ", key);
    buf_json(&m, text.s ? text.s : "", text.n);
    buf_str(&m, ", \"cwd\": ");
    buf_json(&m, folder, strlen(folder));
    buf_chr(&m, '}');
    return buf_ok(&text) && buf_ok(&m) && fd_packet_send(session, m.s, m.n, passed, true) > 0;
}

static const int forwarded[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
static int to_spare;

static void on_signal(int sig)
{
    const char word[] = {ORDER_SIGNAL, (char)sig};
    int saved = errno;
    (void)!fd_packet_send(to_spare, word, sizeof(word), -1, true);
    errno = saved;
}

/* A signal that is ignored stays so. While they are handled, they are blocked at first. */
static void handle_signals(void (*handler)(int))
{
    struct sigaction was, now = {.sa_handler = handler, .sa_flags = SA_RESTART};
    for (size_t i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++)
        if (sigaction(forwarded[i], NULL, &was) == 0 && was.sa_handler != SIG_IGN)
            sigaction(forwarded[i], &now, NULL);
}

static uint64_t session_of(const struct cli_args *args)
{
    uint64_t pid;
    const char *where = args_value(args, "session");
    return where && args_number(where, INT_MAX, &pid) ? pid : 0;
}

/* Without the answer that it is taken the command has not started, and will not. */
static bool is_taken(int from)
{
    char what = 0;
    ssize_t n;
    while ((n = fd_packet_receive(from, &what, 1, NULL, false)) < 0 && errno == EINTR)
        ;
    return n == 1 && what == ORDER_TAKEN;
}

bool spare_reach(struct spare_call *c)
{
    struct bk_err err;
    uint64_t pid = session_of(c->args);
    if (!c->session && is_usual(c) && pid)
        c->session = control_socket_reach("session", (pid_t)pid, &err);
    return c->session > 0;
}

bool spare_take(struct spare_call *c, int *status)
{
    int ends[2];
    char key[SHA256_HEX + 1];
    struct bk_err err;
    process_remember_signals(); /* for the next spare */
    OWN(fd) int session = spare_reach(c) ? c->session : -1;
    c->possible = is_usual(c) && has_streams() && !has_terminal() && !has_others(c);
    c->session = 0;
    if (!c->possible || session < 0 ||
        control_socket_enter(session, "session", (pid_t)session_of(c->args), &err) < 0 ||
        !spare_key(c, key) || fd_packet_pair(ends) < 0)
        return false;
    OWN(fd) int theirs = ends[1];
    OWN(fd) int ours = ends[0];
    sigset_t held, before;
    sigfillset(&held);
    sigprocmask(SIG_SETMASK, &held, &before);
    bool taken = send_order(c, ours) && ask_session(c, session, key, theirs);
    close(steal_fd(&theirs));
    close(steal_fd(&session));
    to_spare = ours;
    handle_signals(on_signal); /* now, while there is time: those that come are held */
    taken = taken && is_taken(ours);
    if (!taken)
        handle_signals(SIG_DFL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (!taken)
        return false;
    ssize_t n;
    while ((n = fd_packet_receive(ours, status, sizeof(*status), NULL, false)) < 0 &&
           errno == EINTR)
        ;
    if (n != sizeof(*status)) {
        fprintf(stderr, "buckle: the sandbox ended unexpectedly; so did the command\n");
        *status = 125 << 8;
    }
    return true;
}
