/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * bubblewrap: an empty tree, and mounts in the order of the options; a later mount hides what is at
 * its place. Mounts other than --dev-bind have no devices. Namespaces need no rules: Buckle's
 * commands have their own, and see no other processes. The network is the host's unless it is
 * unshared.
 */

#include <string.h>

#include "import/import-int.h"

enum {
    BIND = MAY_READ | MAY_WRITE | MAY_EXEC | MAY_SOCKET,
    RO_BIND = MAY_READ | MAY_EXEC | MAY_SOCKET,
};

/* Without devices, what is in /dev cannot be opened. */
static int close_devices(struct imp *im, const char *from, uint32_t line, struct bk_err *err)
{
    bool has =
        strcmp(from, "/") == 0 || strcmp(from, "/dev") == 0 || strncmp(from, "/dev/", 5) == 0;
    return has ? imp_rule(im, strcmp(from, "/") == 0 ? "/dev" : from, 0, MAY_ALL, line, err) : 0;
}

static int take_bind(struct imp *im, void *state, const struct imp_option *o,
                     const char *const *values, uint32_t line, struct bk_err *err)
{
    const char *from, *to;
    (void)state;
    if (imp_path(im, values[0], line, &from, err) < 0 ||
        imp_path(im, values[1], line, &to, err) < 0 ||
        imp_mount(im, from, to, (unsigned)o->arg, line, err) < 0)
        return -1;
    return o->arg & MAY_DEVICE ? 0 : close_devices(im, from, line, err);
}

static int take_empty(struct imp *im, void *state, const struct imp_option *o,
                      const char *const *values, uint32_t line, struct bk_err *err)
{
    const char *to;
    (void)state, (void)o;
    if (imp_path(im, values[0], line, &to, err) < 0)
        return -1;
    im->scratch = true;
    return imp_mount(im, NULL, to, 0, line, err);
}

static int take_dev(struct imp *im, void *state, const struct imp_option *o,
                    const char *const *values, uint32_t line, struct bk_err *err)
{
    const char *to;
    (void)state, (void)o;
    if (imp_path(im, values[0], line, &to, err) < 0 || imp_mount(im, NULL, to, 0, line, err) < 0)
        return -1;
    if (strcmp(to, "/dev") != 0)
        return imp_differs(im, line, to, "devices keep their paths in /dev: none are opened", err);
    if (imp_differs(im, line, "--dev", "there is no private /dev/shm: it is closed", err) < 0)
        return -1;
    return imp_devices(im, line, err);
}

/* Buckle mounts a /proc that shows the command's own processes. */
static int take_proc(struct imp *im, void *state, const struct imp_option *o,
                     const char *const *values, uint32_t line, struct bk_err *err)
{
    const char *to;
    (void)state, (void)o;
    if (imp_path(im, values[0], line, &to, err) < 0 || imp_mount(im, NULL, to, 0, line, err) < 0)
        return -1;
    if (strcmp(to, "/proc") != 0)
        return imp_differs(im, line, to, "processes are in /proc only: nothing is opened", err);
    return imp_rule(im, "/proc", MAY_READ, 0, line, err);
}

static int take_read_only(struct imp *im, void *state, const struct imp_option *o,
                          const char *const *values, uint32_t line, struct bk_err *err)
{
    const char *to;
    (void)state, (void)o;
    if (imp_path(im, values[0], line, &to, err) < 0)
        return -1;
    for (size_t i = im->nmounts; i-- > 0;) {
        const struct imp_mount *m = &im->mounts[i];
        if (!m->covered && strcmp(m->to, to) == 0 && m->from)
            return imp_rule(im, m->from, 0, MAY_WRITE, line, err);
    }
    return imp_rule(im, to, 0, MAY_WRITE, line, err);
}

static int take_net(struct imp *im, void *state, const struct imp_option *o,
                    const char *const *values, uint32_t line, struct bk_err *err)
{
    (void)state, (void)values, (void)line, (void)err;
    im->net = (enum imp_net)o->arg;
    return 0;
}

#define TAKE(name, n, function, arg)                                                               \
    {                                                                                              \
        name, n, IMP_TAKEN, NULL, function, arg                                                    \
    }
#define NOTHING(name, n)                                                                           \
    {                                                                                              \
        name, n, IMP_NOTHING, NULL, NULL, 0                                                        \
    }

static const char environment[] = "a profile leaves the environment alone: use env";
static const char descriptor[] = "what a descriptor contains is not known here";

static const struct imp_option options[] = {
    TAKE("--bind", 2, take_bind, BIND),
    TAKE("--bind-try", 2, take_bind, BIND),
    TAKE("--dev-bind", 2, take_bind, BIND | MAY_DEVICE),
    TAKE("--dev-bind-try", 2, take_bind, BIND | MAY_DEVICE),
    TAKE("--ro-bind", 2, take_bind, RO_BIND),
    TAKE("--ro-bind-try", 2, take_bind, RO_BIND),
    TAKE("--remount-ro", 1, take_read_only, 0),
    TAKE("--proc", 1, take_proc, 0),
    TAKE("--dev", 1, take_dev, 0),
    TAKE("--tmpfs", 1, take_empty, 0),
    TAKE("--mqueue", 1, take_empty, 0),
    TAKE("--unshare-net", 0, take_net, IMP_NET_NONE),
    TAKE("--unshare-all", 0, take_net, IMP_NET_NONE),
    TAKE("--share-net", 0, take_net, IMP_NET_ALL),
    NOTHING("--unshare-user", 0),
    NOTHING("--unshare-user-try", 0),
    NOTHING("--unshare-ipc", 0),
    NOTHING("--unshare-pid", 0),
    NOTHING("--unshare-uts", 0),
    NOTHING("--unshare-cgroup", 0),
    NOTHING("--unshare-cgroup-try", 0),
    NOTHING("--disable-userns", 0),
    NOTHING("--assert-userns-disabled", 0),
    NOTHING("--new-session", 0), /* input cannot be pushed into a terminal */
    NOTHING("--die-with-parent", 0),
    NOTHING("--as-pid-1", 0),
    NOTHING("--cap-drop", 1),
    {"--cap-add", 1, IMP_DIFFERS, "not given", NULL, 0},
    NOTHING("--uid", 1),
    NOTHING("--gid", 1),
    NOTHING("--hostname", 1),
    NOTHING("--chdir", 1),
    NOTHING("--argv0", 1),
    NOTHING("--setenv", 2),
    {"--unsetenv", 1, IMP_LOST, environment, NULL, 0},
    {"--clearenv", 0, IMP_LOST, environment, NULL, 0},
    NOTHING("--lock-file", 1),
    NOTHING("--sync-fd", 1),
    NOTHING("--block-fd", 1),
    NOTHING("--userns-block-fd", 1),
    NOTHING("--info-fd", 1),
    NOTHING("--json-status-fd", 1),
    NOTHING("--perms", 1),
    NOTHING("--size", 1),
    NOTHING("--chmod", 2),
    {"--dir", 1, IMP_DIFFERS, "no folder is made", NULL, 0},
    {"--symlink", 2, IMP_DIFFERS, "no link is made", NULL, 0},
    {"--file", 2, IMP_DIFFERS, "no file is made", NULL, 0},
    {"--bind-data", 2, IMP_DIFFERS, "no file is made", NULL, 0},
    {"--ro-bind-data", 2, IMP_DIFFERS, "no file is made", NULL, 0},
    {"--seccomp", 1, IMP_LOST, descriptor, NULL, 0},
    {"--add-seccomp-fd", 1, IMP_LOST, descriptor, NULL, 0},
    {"--exec-label", 1, IMP_LOST, "SELinux's labels are outside of a profile", NULL, 0},
    {"--file-label", 1, IMP_LOST, "SELinux's labels are outside of a profile", NULL, 0},
    {"--args", 1, IMP_REFUSED, "give the file that the descriptor reads, as FILE", NULL, 0},
    {"--userns", 1, IMP_REFUSED, descriptor, NULL, 0},
    {"--userns2", 1, IMP_REFUSED, descriptor, NULL, 0},
    {"--pidns", 1, IMP_REFUSED, descriptor, NULL, 0},
    {"--bind-fd", 2, IMP_REFUSED, descriptor, NULL, 0},
    {"--ro-bind-fd", 2, IMP_REFUSED, descriptor, NULL, 0},
    {NULL, 0, IMP_NOTHING, NULL, NULL, 0},
};

int imp_read_bwrap(struct imp *im, const struct imp_input *in, struct bk_err *err)
{
    const struct imp_word *words;
    size_t n, at = 0;
    if (imp_words(im, in, NULL, &words, &n, err) < 0)
        return -1;
    return imp_options(im, options, NULL, words, n, &at, err);
}
