/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * firejail: profiles of one directive a line, which can include others, and a command line of the
 * same words (--blacklist=/x is "blacklist /x"). Files that it includes are read where that is
 * possible; a missing .local file is none. firejail-files.c makes the rules about files.
 */

#include <errno.h>
#include <string.h>

#include "import/firejail-int.h"
#include "import/keys.h"

static int read_text(struct imp *im, struct firejail *f, const char *text, size_t n,
                     struct bk_err *err);

#define TAKER(name)                                                                                \
    static int name(struct imp *im, void *state, const struct imp_option *o,                       \
                    const char *const *values, uint32_t line, struct bk_err *err)

static int add(struct imp *im, struct firejail *f, struct firejail_path p, struct bk_err *err)
{
    if (f->npaths == FIREJAIL_LISTS)
        return err_set(err, BK_E_LIMIT, "%s: more than %d paths", im->source, FIREJAIL_LISTS);
    if (f->depth)
        p.line = 0; /* of another file */
    f->paths[f->npaths++] = p;
    return 0;
}

/* ---- directives ---- */

enum { BLACKLIST, READ_ONLY, READ_WRITE, NOEXEC, TMPFS };

TAKER(take_path)
{
    static const struct {
        unsigned grant, revoke;
    } ways[] = {[BLACKLIST] = {0, MAY_ALL},
                [READ_ONLY] = {0, MAY_WRITE},
                [READ_WRITE] = {MAY_WRITE, 0},
                [NOEXEC] = {0, MAY_EXEC | MAY_DEVICE},
                [TMPFS] = {0, MAY_ALL}};
    struct firejail *f = state;
    struct firejail_path p = {.text = values[0], .line = line, .phase = PHASE_OTHERS};
    const char *paths[FIREJAIL_EXPANDED];
    size_t n;
    p.grant = (uint8_t)ways[o->arg].grant;
    p.revoke = (uint8_t)ways[o->arg].revoke;
    im->scratch = im->scratch || o->arg == TMPFS;
    if (o->arg == BLACKLIST) { /* what was kept before this line */
        if (imp_firejail_expand(im, values[0], line, paths, &n, err) < 0)
            return -1;
        for (size_t i = 0; i < n; i++) {
            bool kept = false;
            for (size_t k = 0; k < f->nkept; k++)
                kept |= strcmp(f->kept[k], paths[i]) == 0;
            p.text = paths[i];
            if (!kept && add(im, f, p, err) < 0)
                return -1;
        }
        return 0;
    }
    return add(im, f, p, err);
}

TAKER(take_whitelist)
{
    struct firejail_path p = {.text = values[0], .line = line, .phase = PHASE_WHITELIST};
    p.grant = MAY_READ | MAY_EXEC | MAY_SOCKET | (o->arg ? 0 : MAY_WRITE);
    return add(im, state, p, err);
}

TAKER(take_private)
{
    struct firejail_path p = {.text = values[0], .line = line, .phase = PHASE_PRIVATE};
    p.kind = o->arg;
    return add(im, state, p, err);
}

TAKER(take_kept)
{
    struct firejail *f = state;
    const char *paths[FIREJAIL_EXPANDED];
    size_t n;
    (void)o;
    if (imp_firejail_expand(im, values[0], line, paths, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (f->nkept == FIREJAIL_LISTS)
            return err_set(err, BK_E_LIMIT, "%s: too many noblacklist", im->source);
        f->kept[f->nkept++] = paths[i];
    }
    return 0;
}

/* Devices and sockets by what they are for. */
enum {
    SOUND,
    VIDEO,
    GRAPHICS,
    DVD,
    TV,
    U2F,
    INPUT,
    MNT,
    X11,
    MACHINE_ID,
    USER_BUS,
    SYSTEM_BUS,
    BUSES,
    PRINTERS
};

TAKER(take_named)
{
    static const char *const lists[][5] = {
        [SOUND] = {"/dev/snd", "/dev/dsp*", "~/.config/pulse", "${RUNUSER}/pulse"},
        [VIDEO] = {"/dev/video*"},
        [GRAPHICS] = {"/dev/dri", "/dev/nvidia*"},
        [DVD] = {"/dev/sr*", "/dev/cdrom*", "/dev/dvd*"},
        [TV] = {"/dev/dvb"},
        [U2F] = {"/dev/hidraw*", "/dev/usb"},
        [INPUT] = {"/dev/input"},
        [MNT] = {"/mnt", "/media", "/run/mount", "/run/media"},
        [X11] = {"/tmp/.X11-unix", "~/.Xauthority"},
        [MACHINE_ID] = {"/etc/machine-id", "/var/lib/dbus/machine-id"},
        [USER_BUS] = {"${RUNUSER}/bus", "${RUNUSER}/dbus-1"},
        [SYSTEM_BUS] = {"/run/dbus", "/var/run/dbus"},
        [BUSES] = {"${RUNUSER}/bus", "${RUNUSER}/dbus-1", "/run/dbus", "/var/run/dbus"},
        [PRINTERS] = {"/dev/lp*", "/run/cups", "/var/run/cups"},
    };
    const char *value = values[0];
    bool bus = o->arg == USER_BUS || o->arg == SYSTEM_BUS;
    if (o->arg == X11 && strcmp(value, "none") != 0)
        return imp_differs(im, line, "x11", "no other X server is started", err);
    if (bus && *value && strcmp(value, "none") != 0 &&
        imp_differs(im, line, o->name, "there is no filter: the bus is closed", err) < 0)
        return -1;
    for (size_t i = 0; i < 5 && lists[o->arg][i]; i++) {
        struct firejail_path p = {.text = lists[o->arg][i], .line = line, .phase = PHASE_OTHERS};
        p.revoke = MAY_ALL;
        if (p.text[0] == '~' && !im->env->home)
            continue;
        if (add(im, state, p, err) < 0)
            return -1;
    }
    return 0;
}

TAKER(take_net)
{
    (void)state, (void)o;
    if (strcmp(values[0], "none") == 0) {
        im->net = IMP_NET_NONE;
        return 0;
    }
    return imp_differs(im, line, values[0], "the command keeps the host's network", err);
}

TAKER(take_protocol)
{
    (void)state, (void)o;
    if (!strstr(values[0], "inet"))
        im->net = IMP_NET_NONE;
    return imp_lost(im, line, "protocol", "protocols other than IP and Unix have no rules", err);
}

enum { ALL_USERS, WRITABLE_ETC, WRITABLE_VAR };

TAKER(take_switch)
{
    struct firejail *f = state;
    (void)im, (void)values, (void)line, (void)err;
    *(o->arg == ALL_USERS      ? &f->allusers
      : o->arg == WRITABLE_ETC ? &f->writable_etc
                               : &f->writable_var) = true;
    return 0;
}

TAKER(take_ignore)
{
    struct firejail *f = state;
    (void)o, (void)line;
    if (f->nignored == sizeof(f->ignored) / sizeof(f->ignored[0]))
        return err_set(err, BK_E_LIMIT, "%s: too many ignore", im->source);
    f->ignored[f->nignored++] = values[0];
    return 0;
}

/* ---- includes ---- */

static bool is_local(const char *name)
{
    size_t n = strlen(name);
    return n > 6 && strcmp(name + n - 6, ".local") == 0;
}

/* A name alone is in the user's folder or in the system's. */
static int load(struct imp *im, const char *name, uint32_t line, const char **text, size_t *n,
                struct bk_err *err)
{
    static const char *const folders[] = {"~/.config/firejail/", "/etc/firejail/",
                                          "/usr/local/etc/firejail/"};
    const char *paths[FIREJAIL_EXPANDED], *path = name;
    size_t count;
    bool whole = name[0] == '/' || name[0] == '~' || name[0] == '$';
    for (size_t i = 0; i < (whole ? 1 : 3); i++) {
        if (!whole && imp_join(im, folders[i], name, &path, err) < 0)
            return -1;
        if (path[0] == '~' && !im->env->home)
            continue;
        if (imp_firejail_expand(im, path, line, paths, &count, err) < 0)
            return -1;
        if (im->env->load(im->env->ctx, &im->arena, paths[0], text, n, err) == 0)
            return 1;
        if (err && err->sys != ENOENT)
            return -1;
    }
    return 0;
}

TAKER(take_include)
{
    struct firejail *f = state;
    const char *text;
    size_t n;
    (void)o;
    int found = im->env->load ? load(im, values[0], line, &text, &n, err) : 0;
    if (found < 0)
        return -1;
    if (!found)
        return is_local(values[0])
                   ? 0
                   : imp_lost(im, line, values[0], "the included file cannot be read", err);
    if (++im->included > IMP_INCLUDES || f->depth == 16)
        return err_set(err, BK_E_LIMIT, "%s: too many included files", im->source);
    const char *source = im->source;
    im->source = values[0];
    f->depth++;
    int failed = read_text(im, f, text, n, err);
    f->depth--;
    im->source = source;
    return failed;
}

/* ---- the table ---- */

static const char calls[] = "a profile has no list of system calls; Buckle has a filter of its own";
static const char limits[] = "a profile has no limits";
static const char bus[] = "there is no filter: the bus is closed";
static const char network[] = "the command keeps the host's network";
static const char rule[] = "a profile has no rule for this";
static const char root[] = "another root has other files";

static const struct imp_option directives[] = {
    TAKE("blacklist", take_path, BLACKLIST),
    TAKE("blacklist-nolog", take_path, BLACKLIST),
    TAKE("deny", take_path, BLACKLIST),
    TAKE("read-only", take_path, READ_ONLY),
    TAKE("read-write", take_path, READ_WRITE),
    TAKE("noexec", take_path, NOEXEC),
    TAKE("tmpfs", take_path, TMPFS),
    TAKE("whitelist", take_whitelist, 0),
    TAKE("allow", take_whitelist, 0),
    TAKE("whitelist-ro", take_whitelist, 1),
    TAKE("noblacklist", take_kept, 0),
    TAKE("nodeny", take_kept, 0),
    DIFFERS("nowhitelist", "later whitelists stay as they are"),
    TAKE("private", take_private, PRIVATE_HOME),
    TAKE("private-tmp", take_private, PRIVATE_TMP),
    TAKE("private-dev", take_private, PRIVATE_DEV),
    TAKE("private-cache", take_private, PRIVATE_CACHE),
    TAKE("private-etc", take_private, PRIVATE_ETC),
    TAKE("private-opt", take_private, PRIVATE_OPT),
    TAKE("private-srv", take_private, PRIVATE_SRV),
    TAKE("private-bin", take_private, PRIVATE_BIN),
    TAKE("private-home", take_private, PRIVATE_IN_HOME),
    LOST("private-lib", "libraries stay readable"),
    NOTHING("private-cwd"),
    TAKE("nosound", take_named, SOUND),
    TAKE("novideo", take_named, VIDEO),
    TAKE("no3d", take_named, GRAPHICS),
    TAKE("nodvd", take_named, DVD),
    TAKE("notv", take_named, TV),
    TAKE("nou2f", take_named, U2F),
    TAKE("noinput", take_named, INPUT),
    TAKE("noprinters", take_named, PRINTERS),
    TAKE("disable-mnt", take_named, MNT),
    TAKE("x11", take_named, X11),
    TAKE("machine-id", take_named, MACHINE_ID),
    TAKE("dbus-user", take_named, USER_BUS),
    TAKE("dbus-system", take_named, SYSTEM_BUS),
    TAKE("nodbus", take_named, BUSES),
    DIFFERS("dbus-user.talk", bus),
    DIFFERS("dbus-user.own", bus),
    DIFFERS("dbus-user.see", bus),
    DIFFERS("dbus-user.call", bus),
    DIFFERS("dbus-user.broadcast", bus),
    DIFFERS("dbus-system.talk", bus),
    DIFFERS("dbus-system.own", bus),
    DIFFERS("dbus-system.see", bus),
    DIFFERS("dbus-system.call", bus),
    DIFFERS("dbus-system.broadcast", bus),
    TAKE("net", take_net, 0),
    TAKE("protocol", take_protocol, 0),
    LOST("netfilter", network),
    LOST("netfilter6", network),
    LOST("netlock", network),
    LOST("netns", network),
    NOTHING("ip"),
    NOTHING("ip6"),
    NOTHING("iprange"),
    NOTHING("mac"),
    NOTHING("mtu"),
    NOTHING("netmask"),
    NOTHING("defaultgw"),
    NOTHING("veth-name"),
    NOTHING("interface"),
    DIFFERS("dns", network),
    DIFFERS("hosts-file", network),
    TAKE("include", take_include, 0),
    TAKE("profile", take_include, 0),
    TAKE("ignore", take_ignore, 0),
    TAKE("allusers", take_switch, ALL_USERS),
    TAKE("writable-etc", take_switch, WRITABLE_ETC),
    TAKE("writable-var", take_switch, WRITABLE_VAR),
    DIFFERS("writable-var-log", "stays closed"),
    DIFFERS("writable-run-user", "stays as it is"),
    REFUSED("bind", root),
    REFUSED("chroot", root),
    REFUSED("overlay", root),
    REFUSED("overlay-named", root),
    REFUSED("overlay-tmpfs", root),
    REFUSED("join", root),
    REFUSED("join-filesystem", root),
    REFUSED("join-network", root),
    LOST("seccomp", calls),
    LOST("seccomp.drop", calls),
    LOST("seccomp.keep", calls),
    LOST("seccomp.32", calls),
    LOST("seccomp.32.drop", calls),
    LOST("seccomp.32.keep", calls),
    NOTHING("seccomp.block-secondary"),
    NOTHING("seccomp-error-action"),
    LOST("memory-deny-write-execute", rule),
    LOST("apparmor", rule),
    LOST("apparmor-replace", rule),
    LOST("apparmor-stack", rule),
    LOST("nogroups", "the command keeps the user's groups"),
    LOST("rmenv", "a profile leaves the environment alone: use env"),
    LOST("cpu", limits),
    LOST("rlimit-as", limits),
    LOST("rlimit-cpu", limits),
    LOST("rlimit-fsize", limits),
    LOST("rlimit-nofile", limits),
    LOST("rlimit-nproc", limits),
    LOST("rlimit-sigpending", limits),
    LOST("timeout", limits),
    NOTHING("nice"),
    NOTHING("caps"),
    NOTHING("caps.drop"),
    NOTHING("caps.keep"),
    NOTHING("nonewprivs"),
    NOTHING("noroot"),
    NOTHING("restrict-namespaces"),
    NOTHING("ipc-namespace"),
    NOTHING("keep-config-pulse"),
    NOTHING("keep-dev-shm"),
    NOTHING("keep-var-tmp"),
    NOTHING("keep-fd"),
    NOTHING("noautopulse"),
    NOTHING("mkdir"),
    NOTHING("mkfile"),
    NOTHING("tracelog"),
    NOTHING("trace"),
    NOTHING("quiet"),
    NOTHING("tab"),
    NOTHING("name"),
    NOTHING("hostname"),
    NOTHING("env"),
    NOTHING("shell"),
    NOTHING("allow-debuggers"),
    NOTHING("join-or-start"),
    NOTHING("deterministic-exit-code"),
    NOTHING("deterministic-shutdown"),
    NOTHING("xephyr-screen"),
    NOTHING("noprofile"),
    NOTHING("debug"),
    NOTHING("build"),
    NOTHING("appimage"),
    {NULL, 0, IMP_NOTHING, NULL, NULL, 0},
};

/* ---- lines ---- */

static bool is_ignored(const struct firejail *f, const char *text)
{
    for (size_t i = 0; i < f->nignored; i++) {
        size_t n = strlen(f->ignored[i]);
        if (n && strncmp(text, f->ignored[i], n) == 0 && (!text[n] || text[n] == ' '))
            return true;
    }
    return false;
}

/* "name value" */
static int take_line(struct imp *im, struct firejail *f, const char *text, uint32_t line,
                     struct bk_err *err)
{
    static const char u2f[] = "?BROWSER_DISABLE_U2F:"; /* true unless the administrator says no */
    if (strncmp(text, u2f, sizeof(u2f) - 1) == 0)
        text += sizeof(u2f) - 1 + strspn(text + sizeof(u2f) - 1, " \t");
    size_t n = strcspn(text, " \t");
    const char *value = text + n + strspn(text + n, " \t");
    if (text[0] == '?')
        return imp_lost(im, line, text, "a condition: the line was left out", err);
    if (is_ignored(f, text))
        return 0;
    const struct imp_option *o = imp_option_find(directives, text, n);
    if (!o)
        return imp_fail(im, line, err, "unknown directive %.*s of firejail",
                        (int)(n < 100 ? n : 100), text);
    return imp_option_do(im, o, f, &value, text, line, err);
}

static int read_text(struct imp *im, struct firejail *f, const char *text, size_t n,
                     struct bk_err *err)
{
    struct imp_lines lines = {.s = text, .end = text + n};
    const char *s;
    uint32_t line;
    int more;
    while ((more = imp_line(im, &lines, &s, &line, err)) > 0) {
        char *comment = strchr(s, '#');
        if (comment && (comment == s || comment[-1] == ' ' || comment[-1] == '\t')) {
            size_t keep = (size_t)(comment - s);
            while (keep && strchr(" \t", s[keep - 1]))
                keep--;
            if (!(s = arena_strndup(&im->arena, s, keep)))
                return err_nomem(err);
        }
        if (*s && take_line(im, f, s, line, err) < 0)
            return -1;
    }
    return more;
}

static int read_words(struct imp *im, struct firejail *f, const struct imp_input *in,
                      struct bk_err *err)
{
    const struct imp_word *words;
    size_t n;
    if (imp_words(im, in, NULL, &words, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        const char *s = words[i].s, *text;
        if (strncmp(s, "--", 2) != 0 || !s[2])
            return 0;
        size_t name = strcspn(s, "=");
        char *line = arena_strndup(&im->arena, s + 2, strlen(s + 2));
        if (!line)
            return err_nomem(err);
        if (s[name])
            line[name - 2] = ' ';
        text = line;
        if (take_line(im, f, text, words[i].line, err) < 0)
            return -1;
    }
    return 0;
}

int imp_read_firejail(struct imp *im, const struct imp_input *in, struct bk_err *err)
{
    struct firejail *f = arena_alloc(&im->arena, sizeof(*f));
    if (!f)
        return err_nomem(err);
    if (in->text ? read_text(im, f, in->text, in->n, err) < 0 : read_words(im, f, in, err) < 0)
        return -1;
    return imp_firejail_files(im, f, err);
}
