/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Access to a control socket: each measure against sandboxes works without the others. */

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/control-server.h"
#include "base/own.h"
#include "kernel/shared/roles.h"
#include "tap.h"

/* ---- clients ---- */

static void stay_as_i_am(void)
{
}

static void become_judge(void)
{
    role_take(ROLE_JUDGE);
}

static void go_below_filter(void)
{
    struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {1, &all};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

/* A child of a judge, with another name itself. */
static void descend_from_judge(void)
{
    become_judge();
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_NAME, "harmless", 0, 0, 0);
        return;
    }
    int status = 0;
    waitpid(pid, &status, 0);
    _exit(WEXITSTATUS(status));
}

/* The same, but its parent has exited and another judge adopts it. */
static void descend_as_orphan(void)
{
    become_judge();
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    pid_t between = fork();
    if (between == 0 && fork() > 0)
        _exit(0);
    if (between == 0) {
        prctl(PR_SET_NAME, "harmless", 0, 0, 0);
        while (getppid() == 1)
            usleep(1000);
        usleep(20000);
        return;
    }
    int status = 0, last = 0;
    while (wait(&status) > 0)
        last = status;
    _exit(WEXITSTATUS(last));
}

/* Sends a wrong key. */
static int connect_with_wrong_key(pid_t session)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    static const char key[32];
    int n = snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, "buckle-run-%u-%d", (unsigned)getuid(),
                     (int)session);
    int sock = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    return connect(sock, (struct sockaddr *)&a, len) == 0 && send(sock, key, 32, MSG_NOSIGNAL) == 32
               ? sock
               : -1;
}

static bool gets_answer(int sock)
{
    struct bk_err err;
    OWN(json) json_t *m = json_pack("{s:b}", "about", 1);
    OWN(json) json_t *got = sock >= 0 ? control_server_ask(sock, m, CONTROL_SOON_MS, &err) : NULL;
    return got != NULL;
}

/* ---- the server ---- */

static void answer(void *arg, int client, const json_t *message, struct buf *out)
{
    (void)arg;
    (void)client;
    if (message)
        control_server_answer(out, json_pack("{s:b}", "ok", 1));
}

/* Answers until the child exits. Returns its exit status. */
static int serve_until_exit(struct fd_watch *h, pid_t child)
{
    int status;
    while (waitpid(child, &status, WNOHANG) == 0) {
        struct pollfd p = {h->fd, POLLIN, 0};
        if (poll(&p, 1, 10) > 0)
            fd_watch_all(h);
    }
    return WEXITSTATUS(status);
}

static void try_as(struct fd_watch *h, void (*become)(void), bool raw, bool accepted,
                   const char *who)
{
    struct bk_err err;
    pid_t session = getpid(), child = fork();
    if (child == 0) {
        become();
        _exit(gets_answer(raw ? connect_with_wrong_key(session)
                              : control_socket_connect("run", session, &err)));
    }
    is_int(serve_until_exit(h, child), accepted, "%s is %s", who,
           accepted ? "accepted" : "rejected");
}

static void test_clients(void)
{
    struct bk_err err;
    struct fd_watch h;
    fd_watch_init(&h);
    struct control_server d = {.fds = &h, .fn = answer};
    ok(control_server_open(&d, "run", 0, &err) == 0, "the control socket opens");
    try_as(&h, stay_as_i_am, false, true, "the user");
    try_as(&h, become_judge, false, false, "a judge");
    try_as(&h, go_below_filter, false, false, "a process with one more filter");
    try_as(&h, stay_as_i_am, true, false, "a process without the key");
    /* Every command of ours starts behind a filter. Where everybody has one, as in a container,
     * whom it descends from decides. */
    go_below_filter();
    try_as(&h, stay_as_i_am, false, true, "the user behind a filter");
    try_as(&h, descend_from_judge, false, false, "a child of a judge");
    try_as(&h, descend_as_orphan, false, false, "an orphan that a judge adopted");
    is_int((long)d.nclients, 0, "no client stays connected");
    control_server_close(&d);
    fd_watch_end(&h);
}

/* ---- servers ---- */

/* Forks a process that turns into something and then serves a control socket. */
static pid_t start_server(void (*become)(void), int *ready)
{
    int ends[2];
    if (pipe(ends) < 0)
        return -1;
    pid_t child = fork();
    if (child == 0) {
        struct bk_err err;
        struct fd_watch h;
        fd_watch_init(&h);
        struct control_server d = {.fds = &h, .fn = answer};
        become();
        bool opened = control_server_open(&d, "run", getppid(), &err) == 0;
        close(ends[0]);
        if (!opened || write(ends[1], "", 1) != 1)
            _exit(1);
        for (struct pollfd p = {h.fd, POLLIN, 0}; poll(&p, 1, 10000) > 0;)
            fd_watch_all(&h);
        _exit(0);
    }
    close(ends[1]);
    *ready = ends[0];
    return child;
}

static void try_at(void (*become)(void), bool trusted, const char *who)
{
    struct bk_err err;
    int ready = -1, status;
    char byte;
    pid_t child = start_server(become, &ready);
    ok(read(ready, &byte, 1) == 1, "%s opens a control socket", who);
    OWN(fd) int sock = control_socket_connect("run", child, &err);
    is_int(gets_answer(sock), trusted, "and is %s", trusted ? "trusted" : "not trusted");
    is_int(control_socket_owner("run", getpid()), trusted ? child : 0,
           "as the owner of a claim, too");
    close(ready);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
}

static void test_servers(void)
{
    try_at(stay_as_i_am, true, "the user's own process");
    try_at(become_judge, false, "a judge");
    try_at(go_below_filter, false, "a process with one more filter");
}

static void test_names(void)
{
    static const struct {
        const char *name;
        bool sock;
    } rows[] = {
        {"buckle-run-0-1", true},
        {"buckle-run-", true},
        {"buckle-session-1000-12", true},
        {"buckle-session-for-1000-12", true},
        {"buckle-runner", false},
        {"buckle-run", false},
        {"buckle-trap-1", false},
        {"Buckle-run-1", false},
        {"", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        is_int(control_socket_is_name(rows[i].name, strlen(rows[i].name)), rows[i].sock, "%s",
               rows[i].name);
}

int main(void)
{
    test_clients();
    test_servers();
    test_names();
    return done_testing();
}
