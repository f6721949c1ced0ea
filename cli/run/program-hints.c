/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Programs that need what no sandbox gives: other users' rights, mounts, a daemon that acts
 * outside. Their own messages blame something else, and a flag for the first denial would only lead
 * to the next one. So the end of the run has one line that says why, and what to do.
 */

#include "base/bytes.h"
#include "cli/run/program-hints.h"

#include <stdio.h>
#include <string.h>

enum hint {
    HINT_NONE,
    HINT_USER,
    HINT_MOUNT,
    HINT_DAEMON,
    HINT_INSTALL,
    HINT_SPACE,
    HINT_ECHO,
    HINT_COUNTERS,
    HINT_COUNT
};

static const char *const words[HINT_COUNT] = {
    [HINT_USER] = "a program gains no rights inside, so it stays the user it is; run the command "
                  "without it, or start Buckle with it",
    [HINT_MOUNT] = "a sandbox cannot change what is mounted; do that outside, before the run",
    [HINT_DAEMON] =
        "its daemon acts outside the sandbox with rights of its own; run it outside, or "
        "open its socket with --allow-socket if the command may do anything",
    [HINT_INSTALL] = "it changes the whole system, which only its administrator should; install "
                     "outside, before the run",
    [HINT_ECHO] = "its packets need a right that no program gains inside, and only TCP and UDP "
                  "pass the network filter; test a host with a connection instead",
    [HINT_COUNTERS] = "the kernel's counters are closed; --allow-perf opens those of the command's "
                      "own processes, where the host does",
    [HINT_SPACE] =
        "it makes mounts of its own, and after those the same name would mean another "
        "file to it than to Buckle; start Buckle inside it, or another `buckle run` here",
};

static const struct {
    const char *name;
    enum hint hint;
} programs[] = {
    {"sudo", HINT_USER},       {"su", HINT_USER},          {"doas", HINT_USER},
    {"pkexec", HINT_USER},     {"runuser", HINT_USER},     {"mount", HINT_MOUNT},
    {"umount", HINT_MOUNT},    {"losetup", HINT_MOUNT},    {"docker", HINT_DAEMON},
    {"podman", HINT_DAEMON},   {"nerdctl", HINT_DAEMON},   {"apt", HINT_INSTALL},
    {"apt-get", HINT_INSTALL}, {"aptitude", HINT_INSTALL}, {"dpkg", HINT_INSTALL},
    {"dnf", HINT_INSTALL},     {"yum", HINT_INSTALL},      {"rpm", HINT_INSTALL},
    {"apk", HINT_INSTALL},     {"pacman", HINT_INSTALL},   {"zypper", HINT_INSTALL},
    {"snap", HINT_INSTALL},    {"ping", HINT_ECHO},        {"ping6", HINT_ECHO},
    {"traceroute", HINT_ECHO}, {"mtr", HINT_ECHO},         {"perf", HINT_COUNTERS},
};

/* What such a program cannot do; the others cannot work at all. */
static const char *const cannot[HINT_COUNT] = {
    [HINT_ECHO] = "reach other hosts from a sandbox",
    [HINT_COUNTERS] = "measure",
};

static bool add_hint(const char *word, size_t n, struct buf *out)
{
    const char *slash = bytes_find_last(word, '/', n);
    n -= slash ? (size_t)(slash + 1 - word) : 0;
    word = slash ? slash + 1 : word;
    for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
        if (strlen(programs[i].name) == n && memcmp(programs[i].name, word, n) == 0) {
            const char *what = cannot[programs[i].hint];
            buf_fmt(out, "buckle: %s cannot %s: %s\n", programs[i].name,
                    what ? what : "work in a sandbox", words[programs[i].hint]);
            return true;
        }
    return false;
}

static bool is_shell(const char *program)
{
    static const char *const shells[] = {"sh", "bash", "dash", "zsh", "ksh"};
    const char *slash = strrchr(program, '/'), *name = slash ? slash + 1 : program;
    for (size_t i = 0; i < sizeof(shells) / sizeof(*shells); i++)
        if (strcmp(name, shells[i]) == 0)
            return true;
    return false;
}

/* The first words of its commands. Quotes are not understood, which can only miss one. */
static bool search_line(const char *line, struct buf *out)
{
    bool first = true;
    while (*line) {
        size_t n = strcspn(line, " \t\n;|&()");
        if (n && first && add_hint(line, n, out))
            return true;
        /* VARIABLE=value, exec and env precede a command */
        bool before = memchr(line, '=', n) || (n == 4 && memcmp(line, "exec", 4) == 0) ||
                      (n == 3 && memcmp(line, "env", 3) == 0);
        first = n ? first && before : first;
        line += n;
        if (*line)
            first |= strchr("\n;|&(", *line++) != NULL;
    }
    return false;
}

void program_mounts_note(struct program_mounts *m, const struct event *e)
{
    const char *slash = strrchr(e->exe, '/');
    if (e->op != OP_SYSTEM_PRIVILEGE)
        return;
    m->flag_helps |= strcmp(e->path, EVENT_USER_NAMESPACE) == 0;
    if (!m->name[0] && strcmp(e->path, EVENT_MOUNT_NAMESPACE) == 0)
        snprintf(m->name, sizeof(m->name), "%.31s", slash ? slash + 1 : e->exe);
}

bool program_mounts_hint(const struct program_mounts *m, const char *who, struct buf *out)
{
    if (!m->name[0] || m->flag_helps)
        return false;
    buf_fmt(out, "%s: ", who);
    buf_safe(out, m->name, strlen(m->name));
    buf_fmt(out, " cannot work in a sandbox: %s\n", words[HINT_SPACE]);
    return true;
}

bool program_hint(char *const *argv, struct buf *out)
{
    if (!argv || !argv[0])
        return false;
    if (!is_shell(argv[0]))
        return add_hint(argv[0], strlen(argv[0]), out);
    for (size_t i = 1; argv[i]; i++)
        if (argv[i][0] == '-' && argv[i][1] != '-' && strchr(argv[i], 'c'))
            return argv[i + 1] && search_line(argv[i + 1], out);
    return false;
}
