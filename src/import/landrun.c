/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * landrun: Landlock's rules, which only add up; nothing takes a right away again. Landlock knows
 * TCP ports, but not UDP: name servers stay reachable, other UDP is closed. Loading a library is
 * reading to Landlock.
 */

#include <string.h>

#include "import/import-int.h"

/* Each value of a list separated by commas. */
static int take_paths(struct imp *im, void *state, const struct imp_option *o,
                      const char *const *values, uint32_t line, struct bk_err *err)
{
    const char *at = values[0], *piece, *path;
    bool failed = false;
    (void)state;
    while ((piece = imp_piece(im, &at, ",", &failed))) {
        if (failed)
            return err_nomem(err);
        if (imp_path(im, piece, line, &path, err) < 0 ||
            imp_rule(im, path, (unsigned)o->arg, 0, line, err) < 0)
            return -1;
    }
    return failed ? err_nomem(err) : 0;
}

static int take_ports(struct imp *im, void *state, const struct imp_option *o,
                      const char *const *values, uint32_t line, struct bk_err *err)
{
    const char *at = values[0], *piece;
    bool failed = false;
    (void)state;
    while ((piece = imp_piece(im, &at, ",", &failed))) {
        struct imp_port p = {.bind = o->arg, .protocol = "tcp", .line = line};
        if (failed)
            return err_nomem(err);
        if (imp_port_range(im, piece, line, &p.lo, &p.hi, err) < 0 || imp_port(im, p, err) < 0)
            return -1;
    }
    return failed ? err_nomem(err) : 0;
}

static int take_open(struct imp *im, void *state, const struct imp_option *o,
                     const char *const *values, uint32_t line, struct bk_err *err)
{
    bool *net = state;
    (void)values;
    if (!o->arg)
        return imp_rule(im, "/", MAY_ALL, 0, line, err);
    *net = true;
    return 0;
}

static const struct imp_option options[] = {
    {"--ro", 1, IMP_TAKEN, NULL, take_paths, MAY_READ},
    {"--rox", 1, IMP_TAKEN, NULL, take_paths, MAY_READ | MAY_EXEC},
    {"--rw", 1, IMP_TAKEN, NULL, take_paths, MAY_READ | MAY_WRITE | MAY_DEVICE},
    {"--rwx", 1, IMP_TAKEN, NULL, take_paths, MAY_READ | MAY_WRITE | MAY_EXEC | MAY_DEVICE},
    {"--unix", 1, IMP_TAKEN, NULL, take_paths, MAY_SOCKET},
    {"--bind-tcp", 1, IMP_TAKEN, NULL, take_ports, 1},
    {"--connect-tcp", 1, IMP_TAKEN, NULL, take_ports, 0},
    {"--unrestricted-network", 0, IMP_TAKEN, NULL, take_open, 1},
    {"--unrestricted-filesystem", 0, IMP_TAKEN, NULL, take_open, 0},
    {"--unrestricted-scoped", 0, IMP_DIFFERS,
     "processes outside cannot be signalled, and abstract sockets are private", NULL, 0},
    {"--add-exec", 0, IMP_DIFFERS, "add the program's own path with --rox", NULL, 0},
    {"--ldd", 0, IMP_DIFFERS, "add the folders of its libraries with --rox", NULL, 0},
    {"--env", 1, IMP_NOTHING, NULL, NULL, 0},
    {"--best-effort", 0, IMP_NOTHING, NULL, NULL, 0},
    {"--ignore-missing", 0, IMP_NOTHING, NULL, NULL, 0},
    {"--log-level", 1, IMP_NOTHING, NULL, NULL, 0},
    {"--log-disable-originating", 0, IMP_NOTHING, NULL, NULL, 0},
    {"--log-enable-subprocesses", 0, IMP_NOTHING, NULL, NULL, 0},
    {"--log-disable-subdomains", 0, IMP_NOTHING, NULL, NULL, 0},
    {NULL, 0, IMP_NOTHING, NULL, NULL, 0},
};

int imp_read_landrun(struct imp *im, const struct imp_input *in, struct bk_err *err)
{
    const struct imp_word *words;
    size_t n, at = 0;
    bool net = false;
    im->net = IMP_NET_SOME;
    if (imp_words(im, in, NULL, &words, &n, err) < 0 ||
        imp_options(im, options, &net, words, n, &at, err) < 0)
        return -1;
    bool connects = false;
    for (size_t i = 0; i < im->nports; i++)
        connects |= !im->ports[i].bind;
    struct imp_port names = {.protocol = "udp", .lo = 53, .hi = 53};
    if (net) {
        im->net = IMP_NET_ALL;
        im->nports = 0;
    } else if (connects && imp_port(im, names, err) < 0) {
        return -1;
    }
    if (!net && im->nports == 0)
        im->net = IMP_NET_NONE;
    return imp_differs(im, 0, "landrun", "starts with an empty environment: use env -i", err);
}
