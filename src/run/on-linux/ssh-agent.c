/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The command's TMPDIR gets a socket, and buckle-tls listens there (tls/ssh-serve.h). What it needs
 * to know of files is found here: keys of hosts by ssh-keygen, which reads known_hosts in all its
 * forms.
 */

#include "run/ssh-agent.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "system/helper-program.h"
#include "run/own-rules.h"
#include "run/run-int.h"
#include "run/run.h"
#include "settings/ssh-rule.h"
#include "system/descriptors.h"

static const char name[] = "ssh-agent";

size_t run_ssh_count(const struct run_spec *s)
{
    return s->nssh + (s->set_ssh ? s->set_ssh->n : 0);
}

/* ---- keys of hosts ---- */

/* Adds the keys that ssh-keygen prints for a host: lines with a name, a kind and base64. */
static void add_host_keys(FILE *f, struct buf *out)
{
    char line[16384];
    while (fgets(line, sizeof(line), f)) {
        char *rest = line, *word[3] = {0};
        for (size_t i = 0; i < 3 && rest; i++)
            word[i] = strsep(&rest, " \n");
        if (line[0] == '#' || line[0] == '@' || !word[2] || strncmp(word[2], "AAAA", 4) != 0)
            continue;
        buf_fmt(out, "%s%s", out->n && out->s[out->n - 1] != '\t' ? "," : "", word[2]);
    }
}

static int look_up(const char *host, const char *file, struct buf *out, struct bk_err *err)
{
    char *const argv[] = {(char[]){"ssh-keygen"}, (char[]){"-F"}, (char *)host,
                          (char[]){"-f"},         (char *)file,   NULL};
    int ends[2];
    pid_t pid;
    posix_spawn_file_actions_t to;
    if (access(file, R_OK) < 0)
        return 0;
    if (fd_pipe(ends) < 0)
        return err_sys(err, "ssh");
    posix_spawn_file_actions_init(&to);
    posix_spawn_file_actions_adddup2(&to, ends[1], STDOUT_FILENO);
    int failed = posix_spawnp(&pid, argv[0], &to, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&to);
    close(ends[1]);
    OWN(file) FILE *f = fdopen(ends[0], "re");
    if (failed || !f) {
        errno = failed ? failed : errno;
        return err_sys(err, "ssh: cannot start ssh-keygen");
    }
    add_host_keys(f, out);
    waitpid(pid, NULL, 0);
    return 0;
}

static int add_known(const char *host, struct buf *out, struct bk_err *err)
{
    char file[PATH_MAX];
    const char *home = getenv("HOME");
    size_t before = out->n;
    snprintf(file, sizeof(file), "%s/.ssh/known_hosts", home ? home : "");
    if (look_up(host, file, out, err) < 0 ||
        look_up(host, "/etc/ssh/ssh_known_hosts", out, err) < 0)
        return -1;
    if (out->n > before)
        return 0;
    err_set(err, BK_E_INPUT, "ssh: known_hosts has no key of %.200s", host);
    err_hint(err, "connect to it once outside the sandbox, and check its fingerprint");
    return -1;
}

/* ---- keys ---- */

/* A file's key in base64; other words stay. */
static int add_key(const char *key, struct buf *out, struct bk_err *err)
{
    char path[PATH_MAX], line[16384] = "", *rest = line;
    const char *home = getenv("HOME");
    size_t n = strlen(key);
    if (n < 4 || strcmp(key + n - 4, ".pub") != 0) {
        buf_str(out, key);
        return 0;
    }
    bool at_home = key[0] == '~' && key[1] == '/' && home;
    snprintf(path, sizeof(path), "%s%s", at_home ? home : "", key + at_home);
    OWN(file) FILE *f = fopen(path, "re");
    if (!f)
        return err_sys(err, "ssh: %s", path);
    if (!fgets(line, sizeof(line), f) || !strsep(&rest, " ") || !rest)
        return err_set(err, BK_E_INPUT, "ssh: %.200s is not a public key", path);
    buf_add(out, rest, strcspn(rest, " \n"));
    return 0;
}

static int add_rule(struct run *r, const char *text, struct bk_err *err)
{
    struct ssh_login l;
    if (ssh_rule_read(text, &r->arena, &l, err) < 0)
        return -1;
    for (size_t i = 0; i < l.n; i++) {
        OWN(buf) struct buf out = {0};
        if (r->nssh == RUN_SSH_MAX)
            return err_set(err, BK_E_INPUT, "ssh: there are too many hosts");
        if (add_key(l.key, &out, err) < 0)
            return -1;
        buf_fmt(&out, "\t%s\t", l.hosts[i].user ? l.hosts[i].user : "");
        if (add_known(l.hosts[i].host, &out, err) < 0)
            return -1;
        r->ssh[r->nssh] = buf_ok(&out) ? arena_strndup(&r->arena, out.s, out.n) : NULL;
        if (!r->ssh[r->nssh++])
            return err_nomem(err);
    }
    return 0;
}

int run_ssh_rules(struct run *r, struct bk_err *err)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof(path), "%s/%s", run_tmpdir(r), name);
    return own_rules_socket(path, &r->own_rules, err);
}

int run_ssh_prepare(struct run *r, const char **set, struct bk_err *err)
{
    const struct run_spec *s = r->spec;
    char text[PATH_MAX + 32];
    r->ssh_events = -1;
    if (!getenv("SSH_AUTH_SOCK"))
        return err_set(err, BK_E_INPUT, "ssh: there is no agent: SSH_AUTH_SOCK is not set");
    for (size_t i = 0; i < run_ssh_count(s); i++)
        if (add_rule(r, i < s->nssh ? s->ssh[i] : s->set_ssh->at[i - s->nssh], err) < 0)
            return -1;
    int n = snprintf(text, sizeof(text), "SSH_AUTH_SOCK=%s/%s", run_tmpdir(r), name);
    *set = arena_strndup(&r->arena, text, (size_t)n);
    return *set ? 0 : err_nomem(err);
}

/* ---- the agent inside ---- */

static int listen_at(const struct run *r, struct bk_err *err)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int n = snprintf(at.sun_path, sizeof(at.sun_path), "%s/%s", run_tmpdir(r), name);
    OWN(fd) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (n < 0 || (size_t)n >= sizeof(at.sun_path))
        return err_set(err, BK_E_INPUT, "ssh: the path of TMPDIR is too long for a socket");
    unlink(at.sun_path); /* of an earlier run in the same folder */
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ||
        chmod(at.sun_path, 0600) < 0 || listen(fd, 16) < 0)
        return err_sys(err, "ssh: %s", at.sun_path);
    return steal_fd(&fd);
}

int run_ssh_start(struct run *r, struct bk_err *err)
{
    char path[64],
        *argv[RUN_SSH_MAX + 4] = {(char[]){"buckle-tls"}, (char[]){"ssh"}, getenv("SSH_AUTH_SOCK")};
    char *const env[] = {NULL};
    OWN(fd) int program = r->nssh ? helper_program_open("buckle-tls") : -1;
    int ends[2], events[2];
    posix_spawn_file_actions_t to;
    if (!r->nssh)
        return 0;
    for (size_t i = 0; i < r->nssh; i++)
        argv[3 + i] = r->ssh[i];
    OWN(fd) int listener = listen_at(r, err);
    if (listener < 0)
        return -1;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", program);
    if (program < 0 || fd_pipe(ends) < 0)
        return err_set(err, BK_E_INPUT, "ssh: libexec/buckle/buckle-tls is missing");
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, events) < 0)
        return err_sys(err, "ssh");
    /* first out of each other's way */
    OWN(fd) int high = fcntl(listener, F_DUPFD_CLOEXEC, 10);
    OWN(fd) int until = fcntl(ends[0], F_DUPFD_CLOEXEC, 10);
    OWN(fd) int reports = fcntl(events[0], F_DUPFD_CLOEXEC, 10);
    close(ends[0]);
    close(events[0]);
    r->ssh_events = events[1];
    posix_spawn_file_actions_init(&to);
    posix_spawn_file_actions_adddup2(&to, high, 3);
    posix_spawn_file_actions_adddup2(&to, until, 4);
    posix_spawn_file_actions_adddup2(&to, reports, 5);
    int failed = posix_spawn(&r->ssh_pid, path, &to, NULL, argv, env);
    posix_spawn_file_actions_destroy(&to);
    r->ssh_until = ends[1];
    if (!failed)
        return 0;
    r->ssh_pid = 0;
    errno = failed;
    return err_sys(err, "ssh: buckle-tls");
}

void run_ssh_stop(struct run *r)
{
    if (!r->ssh_pid)
        return;
    close(r->ssh_until);
    close(r->ssh_events);
    r->ssh_events = -1;
    waitpid(r->ssh_pid, NULL, 0);
    r->ssh_pid = 0;
}
