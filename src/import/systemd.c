/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * systemd: everything is open, and directives take away. systemd sorts mounts by their paths, so a
 * deeper path wins, whatever the order in the unit; an inaccessible folder stays so inside. An
 * empty value resets a list. Services run as root, but a profile has no user: what only root could
 * do stays with the kernel.
 */

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "import/systemd-int.h"

static bool truth(const char *value)
{
    static const char *const words[] = {"yes", "true", "on", "1", "y", "t"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(value, words[i]) == 0)
            return true;
    return false;
}

static bool falsity(const char *value)
{
    static const char *const words[] = {"no", "false", "off", "0", "n", "f", ""};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(value, words[i]) == 0)
            return true;
    return false;
}

/* Calls `take` for each word; quotes are refused, because paths with blanks need them. */
struct each {
    struct imp *im;
    void *state;
    const struct imp_option *o;
    uint32_t line;
    struct bk_err *err;
};

static int each(const struct each *e, const char *value,
                int (*take)(const struct each *e, const char *word))
{
    const char *at = value, *word;
    bool failed = false;
    if (strpbrk(value, "\"'\\"))
        return imp_fail(e->im, e->line, e->err, "%s: quotation marks are not understood here",
                        e->o->name);
    while ((word = imp_piece(e->im, &at, " \t", &failed))) {
        if (failed)
            return err_nomem(e->err);
        if (*word && take(e, word) < 0)
            return -1;
    }
    return failed ? err_nomem(e->err) : 0;
}

static int clean_path(const struct each *e, const char *word, const char **out)
{
    while (*word == '-' || *word == '+')
        word++;
    if (strcmp(word, "%h") == 0 || strncmp(word, "%h/", 3) == 0) {
        if (imp_join(e->im, "~", word + 2, &word, e->err) < 0)
            return -1;
    }
    if (strchr(word, '%'))
        return imp_fail(e->im, e->line, e->err, "%.100s: write the specifier's value", word);
    if (word[0] != '/' && word[0] != '~')
        return imp_fail(e->im, e->line, e->err, "%.100s is not an absolute path", word);
    return imp_path(e->im, word, e->line, out, e->err);
}

/* ---- paths ---- */

static int one_path(const struct each *e, const char *word)
{
    unsigned grant = (unsigned)e->o->arg & 255, revoke = (unsigned)e->o->arg >> 8;
    const char *path;
    size_t first = e->im->nrules;
    if (clean_path(e, word, &path) < 0 || imp_rule(e->im, path, grant, revoke, e->line, e->err) < 0)
        return -1;
    for (; first < e->im->nrules && revoke == MAY_ALL; first++)
        e->im->rules[first].last = true;
    return 0;
}

TAKER(imp_systemd_paths)
{
    struct each e = {im, state, o, line, err};
    if (!*values[0]) { /* a reset: of this directive's paths */
        for (size_t i = 0; i < im->nrules; i++)
            if (im->rules[i].line && im->rules[i].grant == (o->arg & 255) &&
                im->rules[i].revoke == o->arg >> 8 && im->rules[i].where == IMP_FOLDER)
                im->rules[i].gone = (o->arg & 255) != 0;
        return 0;
    }
    return each(&e, values[0], one_path);
}

static int one_place(const struct each *e, const char *word)
{
    static const char *const roots[] = {"/var/lib/", "/var/cache/", "/var/log/", "/run/", "/etc/"};
    const char *path, *name;
    bool failed = false;
    const char *at = word;
    name = imp_piece(e->im, &at, ":", &failed);
    if (failed)
        return err_nomem(e->err);
    if (name[0] == '/' || strchr(name, '%'))
        return imp_fail(e->im, e->line, e->err, "%.100s is not a name", name);
    if (imp_join(e->im, roots[e->o->arg], name, &path, e->err) < 0 ||
        imp_path(e->im, path, e->line, &path, e->err) < 0)
        return -1;
    return imp_rule(e->im, path, MAY_WRITE, 0, e->line, e->err);
}

TAKER(imp_systemd_places)
{
    struct each e = {im, state, o, line, err};
    return each(&e, values[0], one_place);
}

/* SOURCE[:DESTINATION[:OPTIONS]] */
static int one_bind(const struct each *e, const char *word)
{
    const char *at = word, *from, *to;
    bool failed = false;
    from = imp_piece(e->im, &at, ":", &failed);
    to = imp_piece(e->im, &at, ":", &failed);
    if (failed)
        return err_nomem(e->err);
    if (!to || !*to)
        to = from + strspn(from, "-+");
    if (clean_path(e, from, &from) < 0 || clean_path(e, to, &to) < 0)
        return -1;
    return imp_mount(e->im, from, to, (unsigned)e->o->arg, e->line, e->err);
}

TAKER(imp_systemd_bind)
{
    struct each e = {im, state, o, line, err};
    return each(&e, values[0], one_bind);
}

static int one_empty(const struct each *e, const char *word)
{
    const char *at = word, *path;
    bool failed = false;
    path = imp_piece(e->im, &at, ":", &failed);
    if (failed)
        return err_nomem(e->err);
    e->im->scratch = true;
    return clean_path(e, path, &path) < 0 ? -1 : imp_rule(e->im, path, 0, MAY_ALL, e->line, e->err);
}

TAKER(imp_systemd_empty)
{
    struct each e = {im, state, o, line, err};
    return each(&e, values[0], one_empty);
}

TAKER(imp_systemd_system)
{
    static const char *const some[] = {"/usr", "/boot", "/efi", NULL};
    static const char *const etc[] = {"/etc", NULL};
    static const char *const open[] = {"/dev", "/proc", "/sys", NULL};
    bool full = strcmp(values[0], "full") == 0, strict = strcmp(values[0], "strict") == 0;
    (void)state, (void)o;
    if (strict)
        return imp_rule(im, "/", 0, MAY_WRITE, line, err) < 0
                   ? -1
                   : imp_each(im, open, MAY_WRITE, 0, line, err);
    if (!full && !truth(values[0]))
        return falsity(values[0]) ? 0 : imp_fail(im, line, err, "ProtectSystem=%.100s", values[0]);
    if (imp_each(im, some, 0, MAY_WRITE, line, err) < 0)
        return -1;
    return full ? imp_each(im, etc, 0, MAY_WRITE, line, err) : 0;
}

TAKER(imp_systemd_home)
{
    static const char *const homes[] = {"/home", "/root", "/run/user", NULL};
    bool read = strcmp(values[0], "read-only") == 0, empty = strcmp(values[0], "tmpfs") == 0;
    size_t first = im->nrules;
    (void)state, (void)o;
    if (!read && !empty && !truth(values[0]))
        return falsity(values[0]) ? 0 : imp_fail(im, line, err, "ProtectHome=%.100s", values[0]);
    if (imp_each(im, homes, 0, read ? MAY_WRITE : MAY_ALL, line, err) < 0)
        return -1;
    for (; first < im->nrules; first++)
        im->rules[first].last = !read && !empty;
    return 0;
}

/* ---- switches ---- */

static int private_devices(struct imp *im, uint32_t line, struct bk_err *err)
{
    if (imp_rule(im, "/dev", 0, MAY_READ | MAY_WRITE | MAY_EXEC | MAY_DEVICE, line, err) < 0 ||
        imp_rule(im, "/dev/shm", MAY_READ | MAY_WRITE, 0, line, err) < 0)
        return -1;
    return imp_devices(im, line, err);
}

TAKER(imp_systemd_switch)
{
    static const char *const tmp[] = {"/tmp", "/var/tmp", NULL};
    static const char *const tunables[] = {
        "/proc/sys",         "/sys",     "/proc/sysrq-trigger", "/proc/latency_stats", "/proc/acpi",
        "/proc/timer_stats", "/proc/fs", "/proc/irq",           "/proc/mtrr",          NULL};
    static const char *const secret[] = {"/proc/kallsyms", "/proc/kcore", NULL};
    static const char *const modules[] = {"/usr/lib/modules", "/lib/modules", NULL};
    static const char *const logs[] = {"/proc/kmsg", "/dev/kmsg", NULL};
    static const char *const groups[] = {"/sys/fs/cgroup", NULL};
    static const char *const clock[] = {"/dev/rtc*", NULL};
    struct systemd *s = state;
    if (!truth(values[0]) && !(o->arg == SWITCH_TMP && strcmp(values[0], "disconnected") == 0) &&
        !(o->arg == SWITCH_CGROUPS && strcmp(values[0], "strict") == 0))
        return falsity(values[0]) ? 0 : imp_fail(im, line, err, "%s=%.100s", o->name, values[0]);
    switch ((enum systemd_switch)o->arg) {
    case SWITCH_TMP:
        im->scratch = true;
        return imp_each(im, tmp, 0, MAY_ALL, line, err);
    case SWITCH_DEVICES:
        return private_devices(im, line, err);
    case SWITCH_NETWORK:
        s->no_net = true;
        return 0;
    case SWITCH_TUNABLES:
        return imp_each(im, tunables, 0, MAY_WRITE, line, err) < 0
                   ? -1
                   : imp_each(im, secret, 0, MAY_ALL, line, err);
    case SWITCH_MODULES:
        return imp_each(im, modules, 0, MAY_ALL, line, err);
    case SWITCH_LOGS:
        return imp_each(im, logs, 0, MAY_ALL, line, err);
    case SWITCH_CGROUPS:
        return imp_each(im, groups, 0, MAY_WRITE, line, err);
    case SWITCH_CLOCK:
        return imp_each(im, clock, 0, MAY_WRITE | MAY_DEVICE, line, err);
    }
    return 0;
}

TAKER(imp_systemd_proc)
{
    struct imp_rule r = {.where = IMP_PATTERN, .path = "^/proc/[^0-9]", .revoke = MAY_ALL};
    struct imp_rule self = {.where = IMP_PATTERN,
                            .path = "^/proc/(self|thread-self|mounts|net)(/|$)",
                            .grant = MAY_READ};
    (void)state, (void)o;
    r.line = self.line = line;
    if (strcmp(values[0], "all") == 0)
        return 0;
    if (strcmp(values[0], "pid") != 0)
        return imp_fail(im, line, err, "ProcSubset=%.100s", values[0]);
    return imp_add(im, r, err) < 0 ? -1 : imp_add(im, self, err);
}

TAKER(imp_systemd_device)
{
    const char *at = values[0];
    bool failed = false;
    const char *path = imp_piece(im, &at, " \t", &failed), *right;
    const char *how = at ? at : "rw";
    unsigned may = (strchr(how, 'r') ? MAY_READ : 0) | (strchr(how, 'w') ? MAY_WRITE : 0);
    (void)state, (void)o;
    if (failed)
        return err_nomem(err);
    if (!*path)
        return 0;
    if (strncmp(path, "/dev/", 5) != 0)
        return imp_differs(im, line, path, "a class of devices: not opened", err);
    return imp_path(im, path, line, &right, err) < 0
               ? -1
               : imp_rule(im, right, may | MAY_DEVICE, 0, line, err);
}

/* ---- the network ---- */

static int push(struct systemd *s, struct imp_port p, struct bk_err *err)
{
    if (s->nports == IMP_PORTS)
        return err_set(err, BK_E_LIMIT, "more than %d hosts and ports", IMP_PORTS);
    s->ports[s->nports++] = p;
    return 0;
}

/* ADDRESS[/LENGTH], checked, so that it can be only that. */
static bool is_address(const char *text)
{
    char host[64], *end;
    unsigned char bytes[16];
    const char *slash = strchr(text, '/');
    size_t n = slash ? (size_t)(slash - text) : strlen(text);
    if (n >= sizeof(host))
        return false;
    memcpy(host, text, n);
    host[n] = '\0';
    bool four = inet_pton(AF_INET, host, bytes) == 1, six = inet_pton(AF_INET6, host, bytes) == 1;
    if (!slash)
        return four || six;
    unsigned long bits = strtoul(slash + 1, &end, 10);
    return slash[1] >= '0' && slash[1] <= '9' && !*end && bits <= (four ? 32U : 128U) &&
           (four || six);
}

static int one_address(const struct each *e, const char *word)
{
    static const struct {
        const char *word, *hosts[2];
    } names[] = {{"link-local", {"169.254.0.0/16", "fe80::/64"}},
                 {"multicast", {"224.0.0.0/4", "ff00::/8"}}};
    struct systemd *s = e->state;
    struct imp_port p = {.protocol = "ip", .hi = 65535, .deny = e->o->arg, .line = e->line};
    if (p.deny && strcmp(word, "any") == 0)
        s->deny_ip = true;
    if (strcmp(word, "any") == 0)
        return push(s, p, e->err);
    if (strcmp(word, "localhost") == 0) {
        p.peer = IMP_PEER_LOCALHOST;
        return push(s, p, e->err);
    }
    p.peer = IMP_PEER_ADDRESS;
    for (size_t i = 0; i < 2; i++) {
        if (strcmp(word, names[i].word) != 0)
            continue;
        p.host = names[i].hosts[0];
        if (push(s, p, e->err) < 0)
            return -1;
        p.host = names[i].hosts[1];
        return push(s, p, e->err);
    }
    if (!is_address(word))
        return imp_fail(e->im, e->line, e->err, "%.100s is not an address", word);
    p.host = word;
    return push(s, p, e->err);
}

TAKER(imp_systemd_address)
{
    struct each e = {im, state, o, line, err};
    return each(&e, values[0], one_address);
}

/* [FAMILY:][PROTOCOL:]PORT[-PORT] or any. */
static int one_bound(const struct each *e, const char *word)
{
    struct systemd *s = e->state;
    struct imp_port p = {.protocol = "ip", .hi = 65535, .deny = e->o->arg, .line = e->line};
    const char *port = strrchr(word, ':');
    p.bind = true;
    if (strncmp(word, "tcp:", 4) == 0 || strstr(word, ":tcp:"))
        p.protocol = "tcp";
    if (strncmp(word, "udp:", 4) == 0 || strstr(word, ":udp:"))
        p.protocol = "udp";
    port = port ? port + 1 : word;
    bool narrow = port != word; /* one family or protocol: denied for all of them */
    if (p.deny && narrow)
        p.protocol = "ip";
    s->bind_deny = s->bind_deny || p.deny;
    if (strcmp(port, "any") != 0 && strcmp(port, "tcp") != 0 && strcmp(port, "udp") != 0 &&
        strcmp(port, "ipv4") != 0 && strcmp(port, "ipv6") != 0 &&
        imp_port_range(e->im, port, e->line, &p.lo, &p.hi, e->err) < 0)
        return -1;
    return push(s, p, e->err);
}

TAKER(imp_systemd_port)
{
    struct each e = {im, state, o, line, err};
    return each(&e, values[0], one_bound);
}

static int one_family(const struct each *e, const char *word)
{
    struct systemd *s = e->state;
    s->allows_ip = s->allows_ip || strcmp(word, "AF_INET") == 0 || strcmp(word, "AF_INET6") == 0;
    return 0;
}

TAKER(imp_systemd_family)
{
    struct each e = {im, state, o, line, err};
    struct systemd *s = state;
    const char *value = values[0];
    bool inverted = *value == '~';
    if (!*value)
        return 0;
    if (inverted) {
        bool both =
            strstr(value, "AF_INET6") && (strstr(value, "AF_INET ") || strstr(value, "~AF_INET"));
        s->no_net = s->no_net || both;
    } else {
        s->families = true;
        if (strcmp(value, "none") != 0 && each(&e, value, one_family) < 0)
            return -1;
    }
    return imp_lost(im, line, "RestrictAddressFamilies",
                    "families other than IP and Unix have no rules", err);
}

/* Denied addresses are so in both directions, but a rule about listening does not see the other
 * end: with "any", only those of this machine can call. */
static int listening(struct imp *im, const struct systemd *s, struct bk_err *err)
{
    for (size_t i = 0; i < s->nports; i++) {
        struct imp_port p = s->ports[i];
        if (p.bind)
            continue;
        if (!s->deny_ip && p.deny &&
            imp_lost(im, p.line, "IPAddressDeny", "for calls from there", err) < 0)
            return -1;
        if (!s->deny_ip || p.deny)
            continue;
        p.bind = true;
        if (p.peer == IMP_PEER_ADDRESS
                ? imp_differs(im, p.line, p.host, "may be called, but cannot call", err) < 0
                : imp_port(im, p, err) < 0)
            return -1;
    }
    return 0;
}

/* Deny lists first: systemd checks what is allowed before what is denied. */
static int finish(struct imp *im, struct systemd *s, struct bk_err *err)
{
    im->net = s->no_net || (s->families && !s->allows_ip) ? IMP_NET_NONE
              : s->deny_ip                                ? IMP_NET_SOME
                                                          : IMP_NET_ALL;
    if (im->net == IMP_NET_NONE)
        return 0;
    for (int allowed = 0; allowed < 2; allowed++)
        for (size_t i = 0; i < s->nports; i++) {
            const struct imp_port *p = &s->ports[i];
            bool known = s->deny_ip && (p->deny ? p->peer == IMP_PEER_ANY : p->bind);
            if (p->deny == !allowed && !known && imp_port(im, *p, err) < 0)
                return -1;
        }
    return listening(im, s, err);
}

/* ---- units ---- */

static int take_key(struct imp *im, struct systemd *s, const char *text, uint32_t line,
                    struct bk_err *err)
{
    const char *equal = strchr(text, '='), *at = text, *value;
    bool failed = false;
    if (!equal)
        return imp_fail(im, line, err, "%.100s is not KEY=VALUE", text);
    const char *key = imp_piece(im, &at, "=", &failed);
    value = equal + 1 + strspn(equal + 1, " \t");
    if (failed)
        return err_nomem(err);
    const struct imp_option *o = imp_option_find(imp_systemd_keys, key, strlen(key));
    if (!o)
        return imp_fail(im, line, err, "unknown key %.100s of systemd", key);
    return imp_option_do(im, o, s, &value, text, line, err);
}

static int read_unit(struct imp *im, struct systemd *s, const struct imp_input *in,
                     struct bk_err *err)
{
    struct imp_lines lines = {.s = in->text, .end = in->text + in->n, .joined = true};
    const char *text;
    uint32_t line;
    bool service = false;
    int more;
    while ((more = imp_line(im, &lines, &text, &line, err)) > 0) {
        if (!*text || *text == '#' || *text == ';')
            continue;
        if (*text == '[')
            service = strcmp(text, "[Service]") == 0;
        else if (service && take_key(im, s, text, line, err) < 0)
            return -1;
    }
    return more;
}

static int take_property(struct imp *im, void *state, const struct imp_option *o,
                         const char *const *values, uint32_t line, struct bk_err *err)
{
    (void)o;
    return take_key(im, state, values[0], line, err);
}

static const struct imp_option options[] = {
    {"--property", 1, IMP_TAKEN, NULL, take_property, 0},
    {"-p", 1, IMP_TAKEN, NULL, take_property, 0},
    {"--user", 0, IMP_NOTHING, NULL, NULL, 0},
    {"--system", 0, IMP_NOTHING, NULL, NULL, 0},
    {"--unit", 1, IMP_NOTHING, NULL, NULL, 0},
    {"-u", 1, IMP_NOTHING, NULL, NULL, 0},
    {"--description", 1, IMP_NOTHING, NULL, NULL, 0},
    {"--service-type", 1, IMP_NOTHING, NULL, NULL, 0},
    {"--uid", 1, IMP_NOTHING, NULL, NULL, 0},
    {"--gid", 1, IMP_NOTHING, NULL, NULL, 0},
    {"--setenv", 1, IMP_NOTHING, NULL, NULL, 0},
    {"-E", 1, IMP_NOTHING, NULL, NULL, 0},
    {"--working-directory", 1, IMP_NOTHING, NULL, NULL, 0},
    {"--same-dir", 0, IMP_NOTHING, NULL, NULL, 0},
    {"-d", 0, IMP_NOTHING, NULL, NULL, 0},
    {"--pty", 0, IMP_NOTHING, NULL, NULL, 0},
    {"-t", 0, IMP_NOTHING, NULL, NULL, 0},
    {"--pipe", 0, IMP_NOTHING, NULL, NULL, 0},
    {"-P", 0, IMP_NOTHING, NULL, NULL, 0},
    {"--wait", 0, IMP_NOTHING, NULL, NULL, 0},
    {"--collect", 0, IMP_NOTHING, NULL, NULL, 0},
    {"-G", 0, IMP_NOTHING, NULL, NULL, 0},
    {"--quiet", 0, IMP_NOTHING, NULL, NULL, 0},
    {"-q", 0, IMP_NOTHING, NULL, NULL, 0},
    {"--nice", 1, IMP_NOTHING, NULL, NULL, 0},
    {"--slice", 1, IMP_LOST, "a profile has no limits", NULL, 0},
    {NULL, 0, IMP_NOTHING, NULL, NULL, 0},
};

int imp_read_systemd(struct imp *im, const struct imp_input *in, struct bk_err *err)
{
    struct systemd *s = arena_alloc(&im->arena, sizeof(*s));
    const struct imp_word *words;
    size_t n, at = 0;
    if (!s)
        return err_nomem(err);
    im->by_depth = true;
    im->tool = "systemd-run";
    if (imp_rule(im, "/", MAY_ALL, 0, 0, err) < 0)
        return -1;
    if (in->text) {
        if (read_unit(im, s, in, err) < 0)
            return -1;
    } else if (imp_words(im, in, NULL, &words, &n, err) < 0 ||
               imp_options(im, options, s, words, n, &at, err) < 0) {
        return -1;
    }
    im->tool = "systemd";
    return finish(im, s, err);
}
