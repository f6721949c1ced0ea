/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * What this Mac can enforce. A child process confines itself with a small profile and tries what it
 * forbids; `log` is asked for its version of events, and sw_vers for the system's.
 */

#include "run/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "macos/system-version.h"
#include "system/seatbelt.h"

/* ---- trying ---- */

/* In a child: 0 if writing is denied and reading is not. */
static int try_profile(void)
{
    static const char profile[] = "(version 1)\n(allow default)\n(deny file-write*)\n";
    char why[256];
    if (seatbelt_enter(profile, why, sizeof(why)) < 0)
        return 1;
    if (open("/dev/null", O_RDONLY) < 0)
        return 2;
    return open("/dev/null", O_WRONLY) >= 0 || errno != EPERM ? 3 : 0;
}

static bool seatbelt_works(void)
{
    int status = -1;
    if (!seatbelt_can_enter())
        return false;
    pid_t pid = fork();
    if (pid == 0)
        _exit(try_profile());
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

struct mac {
    struct system_version version;
    bool enters, sandbox_exec, log, full;
};

struct ability {
    const char *name, *words, *use, *remedy;
    size_t offset;
};

static const struct ability abilities[] = {
    {"seatbelt", "a process can confine itself", "enforces policies",
     "it cannot inside another sandbox that forbids it", offsetof(struct mac, enters)},
    {"sandbox_exec", "sandbox-exec", "enforces policies where that is missing",
     "it is part of macOS: /usr/bin/sandbox-exec", offsetof(struct mac, sandbox_exec)},
    {"log", "log stream", "reports denials", "it is part of macOS: /usr/bin/log",
     offsetof(struct mac, log)},
};
enum { ABILITIES = sizeof(abilities) / sizeof(abilities[0]) };

static bool has(const struct mac *m, const struct ability *a)
{
    return *(const bool *)((const char *)m + a->offset);
}

static void look(struct mac *m)
{
    system_version_find(&m->version);
    m->enters = seatbelt_works();
    m->sandbox_exec = access("/usr/bin/sandbox-exec", X_OK) == 0;
    m->log = access("/usr/bin/log", X_OK) == 0;
    m->full = m->enters || m->sandbox_exec;
}

bool doctor_can_run(void)
{
    return seatbelt_can_enter() || access("/usr/bin/sandbox-exec", X_OK) == 0;
}

/* ---- telling ---- */

static void write_sentence(const struct mac *m, struct buf *out)
{
    buf_str(out, m->full ? "`buckle run` enforces the default profile with Seatbelt, and hosts by "
                           "name with its proxies."
                         : "`buckle run` refuses to start: there is no Seatbelt here.");
    if (!m->log)
        buf_str(out, " Denials are not reported.");
}

static void write_text(const struct mac *m, struct buf *out)
{
    buf_fmt(out, "%s %s (%s), %s\n\n", m->version.name, m->version.number, m->version.build,
            geteuid() == 0 ? "as root" : "as an ordinary user");
    for (size_t i = 0; i < ABILITIES; i++) {
        const struct ability *a = &abilities[i];
        buf_fmt(out, "  %s %-46s %s\n", has(m, a) ? "✓" : "✗", a->words, a->use);
        if (!has(m, a))
            buf_fmt(out, "      %s\n", a->remedy);
    }
    buf_chr(out, '\n');
    write_sentence(m, out);
    buf_chr(out, '\n');
}

static void write_member(struct buf *out, const char *key, const char *value)
{
    buf_fmt(out, "\"%s\": ", key);
    buf_json(out, value, strlen(value));
}

static void write_json(const struct mac *m, struct buf *out)
{
    OWN(buf) struct buf sentence = {0};
    write_sentence(m, &sentence);
    buf_str(out, "{\n  ");
    write_member(out, "system", m->version.name);
    buf_str(out, ",\n  ");
    write_member(out, "version", m->version.number);
    buf_fmt(out, ",\n  \"full\": %s,\n  ", m->full ? "true" : "false");
    write_member(out, "summary", sentence.s ? sentence.s : "");
    buf_str(out, ",\n  \"abilities\": [");
    for (size_t i = 0; i < ABILITIES; i++) {
        const struct ability *a = &abilities[i];
        bool good = has(m, a);
        buf_str(out, i ? ",\n    {" : "\n    {");
        write_member(out, "name", a->name);
        buf_fmt(out, ", \"value\": %s, \"good\": %s, ", good ? "true" : "false",
                good ? "true" : "false");
        write_member(out, "words", a->words);
        buf_str(out, ", ");
        write_member(out, "use", a->use);
        if (!good) {
            buf_str(out, ", ");
            write_member(out, "remedy", a->remedy);
        }
        buf_chr(out, '}');
    }
    buf_str(out, "\n  ]\n}\n");
}

int doctor_report(bool json, bool *full, struct buf *out, struct bk_err *err)
{
    struct mac m = {0};
    (void)err;
    look(&m);
    *full = m.full;
    (json ? write_json : write_text)(&m, out);
    return 0;
}
