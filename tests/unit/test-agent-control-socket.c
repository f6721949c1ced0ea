/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Who is let in at a door: each thing that keeps a sandbox out does so without the others. */

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

/* ---- those who knock ---- */

static void stay_as_i_am(void)
{
}

static void become_judge(void)
{
    role_take(ROLE_JUDGE);
}

static void go_behind_filter(void)
{
    struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {1, &all};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

/* A child of a process that acts for a command, which has another name itself. */
static void descend_from_worker(void)
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

/* The same, and its own parent has ended: whoever adopts it is named as well. */
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

/* Shows another key. */
static int knock_raw(pid_t session)
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

static bool speaks(int sock)
{
    struct bk_err err;
    OWN(json) json_t *m = json_pack("{s:b}", "about", 1);
    OWN(json) json_t *got = sock >= 0 ? control_server_ask(sock, m, DESK_SOON_MS, &err) : NULL;
    return got != NULL;
}

/* ---- the keeper ---- */

static void answer(void *arg, int guest, const json_t *message, struct buf *out)
{
    (void)arg;
    (void)guest;
    if (message)
        control_server_answer(out, json_pack("{s:b}", "ok", 1));
}

/* Answers until the child has ended; its exit status. */
static int attend(struct fd_watch *h, pid_t child)
{
    int status;
    while (waitpid(child, &status, WNOHANG) == 0) {
        struct pollfd p = {h->fd, POLLIN, 0};
        if (poll(&p, 1, 10) > 0)
            fd_watch_all(h);
    }
    return WEXITSTATUS(status);
}

static void try_as(struct fd_watch *h, void (*become)(void), bool raw, bool let_in, const char *who)
{
    struct bk_err err;
    pid_t session = getpid(), child = fork();
    if (child == 0) {
        become();
        _exit(speaks(raw ? knock_raw(session) : control_socket_connect("run", session, &err)));
    }
    is_int(attend(h, child), let_in, "%s is %s", who, let_in ? "let in" : "turned away");
}

static void test_knocking(void)
{
    struct bk_err err;
    struct fd_watch h;
    fd_watch_init(&h);
    struct control_server d = {.hearing = &h, .fn = answer};
    ok(control_server_open(&d, "run", 0, &err) == 0, "there is a door");
    try_as(&h, stay_as_i_am, false, true, "the person");
    try_as(&h, become_judge, false, false, "a judge");
    try_as(&h, descend_from_worker, false, false, "what a judge has started");
    try_as(&h, descend_as_orphan, false, false, "what it has adopted");
    try_as(&h, go_behind_filter, false, false, "who is behind one more filter");
    try_as(&h, stay_as_i_am, true, false, "who does not know the key");
    is_int((long)d.nguests, 0, "nobody stays");
    control_server_close(&d);
    fd_watch_end(&h);
}

/* ---- those who listen ---- */

/* A process that keeps a door of its own, as whom it has become. */
static pid_t keep_door(void (*become)(void), int *ready)
{
    int ends[2];
    if (pipe(ends) < 0)
        return -1;
    pid_t child = fork();
    if (child == 0) {
        struct bk_err err;
        struct fd_watch h;
        fd_watch_init(&h);
        struct control_server d = {.hearing = &h, .fn = answer};
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
    pid_t child = keep_door(become, &ready);
    ok(read(ready, &byte, 1) == 1, "%s keeps a door", who);
    OWN(fd) int door = control_socket_connect("run", child, &err);
    is_int(speaks(door), trusted, "and is %s", trusted ? "spoken to" : "not");
    is_int(control_socket_owner("run", getpid()), trusted ? child : 0,
           "nor taken at its word otherwise");
    close(ready);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
}

static void test_listening(void)
{
    try_at(stay_as_i_am, true, "the person's own process");
    try_at(become_judge, false, "a judge");
    try_at(go_behind_filter, false, "who is behind one more filter");
}

static void test_names(void)
{
    static const struct {
        const char *name;
        bool door;
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
        is_int(control_socket_is_name(rows[i].name, strlen(rows[i].name)), rows[i].door, "%s",
               rows[i].name);
}

int main(void)
{
    test_knocking();
    test_listening();
    test_names();
    return done_testing();
}
