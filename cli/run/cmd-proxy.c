/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle proxy`: the gate as a proxy for programs that Buckle does not run. */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "cli/args.h"
#include "cli/cmd.h"
#include "proxy/decider-hello.h"
#include "proxy/proxy-serve.h"

/* clang-format off */
static const struct cli_option options[] = {
    {"policy", 'p', "USER=FILE|NAME", "a user, and its policy: settings (FILE.json) or a profile; may repeat", "file"},
    {"settings", 's', "FILE", "the policy of the user buckle: settings", "file"},
    {"profile", 0, "FILE|NAME", "the policy of the user buckle: a profile", "file"},
    {"listen", 'l', "ADDRESS:PORT|unix:PATH", "where to listen (default 127.0.0.1:0, any port); may repeat", NULL},
    {"listen-fd", 0, "N", "listen at this open socket", NULL},
    {"listen-any-interface", 0, NULL, "allow addresses that other machines reach", NULL},
    {"passwords", 0, "FILE", "lines USER:PASSWORD; other users get one that is made", "file"},
    {"no-login", 0, NULL, "one policy, for everybody who reaches the listeners", NULL},
    {"ca-file", 0, "FILE", "write the certificates that clients have to trust to FILE", "file"},
    {"ca-fd", 0, "N", "read the authority's certificate and key (PEM) from this descriptor", NULL},
    {"decider", 0, "SOCKET", "a program that decides about every request, behind a Unix socket", "file"},
    {"decider-timeout", 0, "MS", "how long to wait for it before denying (default 5000)", NULL},
    {"decider-fd", 0, "N", "the same over a socket that is open already, in srt's frames", NULL},
    {"decider-in", 0, "N", "… or over two descriptors: from the decider", NULL},
    {"decider-out", 0, "N", "… and to it", NULL},
    {"strip-response-header", 0, "NAME", "remove this field from answers; may repeat", NULL},
    {"plaintext-header-set", 0, NULL, "the decider may set fields of requests that are not encrypted", NULL},
    {"lifeline-fd", 0, "N", "end when this descriptor reaches its end", NULL},
    {"quiet", 'q', NULL, "print no denials", NULL},
    {"debug", 'd', NULL, "accepted for srt's sake", NULL},
    {"json", 'j', NULL, "print addresses and logins as JSON", NULL},
    {0},
};
/* clang-format on */

enum { PEM_MAX = 64 << 10, PASSWORDS_MAX = 64 << 10 };

struct proxy_call {
    struct proxy_options o;
    struct proxy_policy policies[PROXY_POLICIES];
    char cwd[PATH_MAX];
    char *names[PROXY_POLICIES];
    const char **strip;
    struct buf pem, settings;
};

/* ---- numbers ---- */

/* Returns -1 if the option is not given, -2 if it is wrong. */
static int number_of(const struct cli_args *args, const char *name, int most, struct bk_err *err)
{
    const char *text = args_value(args, name);
    char *end;
    if (!text)
        return -1;
    errno = 0;
    long n = strtol(text, &end, 10);
    if (errno || end == text || *end || n < 0 || n > most) {
        err_set(err, BK_E_INPUT, "--%s must be between 0 and %d", name, most);
        return -2;
    }
    return (int)n;
}

/* A descriptor that is open, and that nothing we start inherits. */
static int descriptor_of(const struct cli_args *args, const char *name, struct bk_err *err)
{
    int fd = number_of(args, name, 1 << 20, err);
    if (fd >= 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) < 0) {
        err_sys(err, "--%s: %d", name, fd);
        return -2;
    }
    return fd;
}

/* ---- policies ---- */

static bool is_user(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!((s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') ||
              (s[i] >= '0' && s[i] <= '9') || s[i] == '-' || s[i] == '_' || s[i] == '.'))
            return false;
    return n > 0 && n < 64;
}

static int add_policy(struct proxy_call *p, const char *user, const char *from, struct bk_err *err)
{
    if (p->o.npolicies >= PROXY_POLICIES)
        return err_set(err, BK_E_LIMIT, "at most %d policies", PROXY_POLICIES);
    for (size_t i = 0; i < p->o.npolicies; i++)
        if (strcmp(p->policies[i].user, user) == 0)
            return err_set(err, BK_E_INPUT, "--policy: two policies for the user %.60s", user);
    p->policies[p->o.npolicies++] = (struct proxy_policy){.user = user, .from = from};
    return 0;
}

static int add_policies(struct proxy_call *p, const struct cli_args *args, struct bk_err *err)
{
    const char *text;
    for (size_t i = 0; (text = args_nth(args, "policy", i)); i++) {
        const char *equals = strchr(text, '=');
        if (!equals || !is_user(text, (size_t)(equals - text)) || !equals[1])
            return err_set(err, BK_E_INPUT, "--policy: write USER=FILE, not %.80s", text);
        if (i >= PROXY_POLICIES)
            return err_set(err, BK_E_LIMIT, "at most %d policies", PROXY_POLICIES);
        p->names[i] = strndup(text, (size_t)(equals - text));
        if (!p->names[i] || add_policy(p, p->names[i], equals + 1, err) < 0)
            return p->names[i] ? -1 : err_nomem(err);
    }
    const char *settings = args_value(args, "settings"), *profile = args_value(args, "profile");
    if (settings && profile)
        return err_set(err, BK_E_INPUT, "give --settings or --profile, not both");
    if (settings || profile)
        return add_policy(p, "buckle", settings ? settings : profile, err);
    return 0;
}

static int read_passwords(struct proxy_call *p, const char *path, struct bk_err *err)
{
    char line[512];
    OWN(file) FILE *f = fopen(path, "re");
    if (!f)
        return err_sys(err, "cannot read %s", path);
    for (unsigned number = 1; fgets(line, sizeof(line), f); number++) {
        line[strcspn(line, "\r\n")] = '\0';
        char *colon = strchr(line, ':');
        bool found = false;
        if (!line[0])
            continue;
        for (size_t i = 0; colon && i < p->o.npolicies; i++) {
            struct proxy_policy *q = &p->policies[i];
            if (strlen(q->user) != (size_t)(colon - line) ||
                strncmp(q->user, line, strlen(q->user)) != 0)
                continue;
            found = true;
            if (strlen(colon + 1) < 8 || strlen(colon + 1) >= sizeof(q->password) ||
                strspn(colon + 1, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "-._~") != strlen(colon + 1))
                return err_set(err, BK_E_INPUT,
                               "%.200s:%u: a password has 8 to %d letters, digits or -._~", path,
                               number, PROXY_PASSWORD - 1);
            strcpy(q->password, colon + 1);
        }
        if (!found)
            return err_set(err, BK_E_INPUT, "%.200s:%u: no policy is for this user", path, number);
    }
    return 0;
}

/* ---- the decider and the authority ---- */

static int read_authority(struct proxy_call *p, const struct cli_args *args, struct bk_err *err)
{
    char part[4096];
    ssize_t n = 0;
    int fd = descriptor_of(args, "ca-fd", err);
    if (fd == -1)
        return 0;
    if (fd < 0)
        return -1;
    while ((n = read(fd, part, sizeof(part))) > 0 && p->pem.n < PEM_MAX)
        buf_add(&p->pem, part, (size_t)n);
    close(fd);
    buf_chr(&p->pem, '\0');
    p->o.authority = p->pem.s;
    return n < 0 ? err_sys(err, "--ca-fd") : buf_ok(&p->pem) ? 0 : err_nomem(err);
}

/* The hosts are the decider's, unless there is a policy. */
static int meet_decider(struct proxy_call *p, const struct cli_args *args, struct bk_err *err)
{
    int both = descriptor_of(args, "decider-fd", err);
    int in = descriptor_of(args, "decider-in", err), out = descriptor_of(args, "decider-out", err);
    p->o.decider = args_value(args, "decider");
    if (both == -2 || in == -2 || out == -2)
        return -1;
    if ((in >= 0) != (out >= 0) || (both >= 0 && in >= 0) ||
        (p->o.decider && (both >= 0 || in >= 0)))
        return err_set(err, BK_E_INPUT,
                       "give --decider, --decider-fd, or --decider-in and --decider-out");
    if (both < 0 && in < 0)
        return 0;
    p->o.decider_in = both >= 0 ? both : in;
    p->o.decider_out = both >= 0 ? fcntl(both, F_DUPFD_CLOEXEC, 3) : out;
    if (p->o.npolicies)
        return err_set(err, BK_E_INPUT,
                       "a decider at a descriptor names the hosts: give no policy");
    if (decider_hello(p->o.decider_in, p->o.decider_out, &p->settings, err) < 0)
        return -1;
    p->policies[0] = (struct proxy_policy){
        .user = "decider", .from = "<decider>", .text = p->settings.s, .ntext = p->settings.n};
    p->o.npolicies = 1;
    p->o.no_login = true;
    return 0;
}

static int read_flags(struct proxy_call *p, const struct cli_args *args, struct bk_err *err)
{
    struct proxy_options *o = &p->o;
    const char *text;
    for (size_t i = 0; (text = args_nth(args, "listen", i)); i++) {
        if (i >= PROXY_LISTENERS)
            return err_set(err, BK_E_LIMIT, "at most %d addresses", PROXY_LISTENERS);
        o->listen[o->nlisten++] = text;
    }
    int ms = number_of(args, "decider-timeout", 600000, err);
    o->listen_fd = descriptor_of(args, "listen-fd", err);
    o->lifeline = descriptor_of(args, "lifeline-fd", err);
    if (ms == -2 || o->listen_fd == -2 || o->lifeline == -2)
        return -1;
    o->decide_ms = ms > 0 ? (uint32_t)ms : 0;
    o->any_interface = args_has(args, "listen-any-interface");
    o->ca_file = args_value(args, "ca-file");
    o->no_login = args_has(args, "no-login");
    o->plain_headers = args_has(args, "plaintext-header-set");
    o->quiet = args_has(args, "quiet");
    o->json = args_has(args, "json");
    o->nstrip = args_count(args, "strip-response-header");
    o->strip = p->strip = args_all(args, "strip-response-header");
    return p->strip ? 0 : err_nomem(err);
}

static int prepare(struct proxy_call *p, const struct cli_args *args, struct bk_err *err)
{
    const char *passwords = args_value(args, "passwords");
    p->o.policies = p->policies;
    p->o.decider_in = p->o.decider_out = -1;
    p->o.cwd = p->cwd;
    if (!getcwd(p->cwd, sizeof(p->cwd)))
        return err_sys(err, "cannot find the working directory");
    if (read_flags(p, args, err) < 0 || add_policies(p, args, err) < 0 ||
        meet_decider(p, args, err) < 0 || read_authority(p, args, err) < 0)
        return -1;
    if (!p->o.npolicies) {
        err_set(err, BK_E_INPUT, "which policy?");
        err_hint(err, "give --settings FILE, --profile NAME, or --policy USER=FILE for each user");
        return -1;
    }
    if (p->o.no_login && p->o.npolicies > 1)
        return err_set(err, BK_E_INPUT, "--no-login is for one policy");
    return passwords ? read_passwords(p, passwords, err) : 0;
}

static int cmd_proxy_run(struct cli_args *args)
{
    struct proxy_call p = {0};
    struct bk_err err;
    if (args->npos)
        return cli_usage(args, "proxy takes no arguments");
    int result = prepare(&p, args, &err);
    if (result == 0)
        result = proxy_serve(&p.o, &err);
    for (size_t i = 0; i < PROXY_POLICIES; i++)
        free(p.names[i]);
    free(p.strip);
    buf_free(&p.pem);
    buf_free(&p.settings);
    return result < 0 ? cli_fail(&err) : CLI_OK;
}

const struct cli_command cmd_proxy = {
    .name = "proxy",
    .usage = "[OPTION…]",
    .brief = "filter the connections of other sandboxes and containers",
    .about =
        "Serves HTTP, HTTPS (CONNECT) and SOCKS 5 at one address, with the same gate that filters\n"
        "sandboxed commands. Each user has a policy of its own and logs in with a password. "
        "Prints\n"
        "the addresses when it is ready, and denials to standard error. Ends on SIGTERM.",
    .options = options,
    .run = cmd_proxy_run,
};
