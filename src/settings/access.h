/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SETTINGS_ACCESS_H
#define BK_SETTINGS_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

/*
 * What people say about policy, whichever front end they said it in (settings, presets, flags),
 * with all layers merged and every path absolute and canonical as far as it exists. One writer
 * turns it into SBPL; nothing downstream knows where it came from.
 */
enum place_kind {
    PLACE_SUBPATH, /* a path and everything below it */
    PLACE_LITERAL, /* that path alone */
    PLACE_GLOB,    /* what (glob …) matches; among denials, everything below that as well */
};

struct place {
    const char *path;
    const char *origin; /* for comments and reports: "user settings, line 12"; may be NULL */
    enum place_kind kind;
    bool keeps_metadata; /* a denied read that leaves file-read-metadata open (cage's deny) */
    bool final;          /* a denied read that nothing allowed inside re-opens */
    bool yields;         /* a denied write that a more specific allowed place inside re-opens, as
                            presets mean it; at the same place the denial wins */
};

struct places {
    struct place *at;
    size_t n;
};

struct words {
    const char **at;
    size_t n;
};

struct access {
    /* Reading: all, unless `reads_nothing`; then only allow_read (and writable places). A denied
     * place may have allowed ones inside, and those denied ones again: the more specific wins. */
    bool reads_nothing;
    struct places deny_read, allow_read;
    /* As the shipped profiles have it, on Linux: protected.sb in place of `protects_names`, and
     * secrets.sb, which allowed places inside re-open. */
    bool as_shipped;
    /* Writing: nothing but allow_write, less deny_write, which always wins unless it yields. */
    bool writes_everything; /* filesystem.disabled, cage's --allow-all */
    struct places allow_write, deny_write;
    bool protects_names;   /* .bashrc, .git/hooks and their like, at any depth (settings.md) */
    bool allow_git_config; /* … but .git/config */

    bool else_open; /* what is neither a file nor the network stays allowed, as cage has it */

    /* The network. */
    bool network_open; /* not restricted at all */
    struct words allowed_domains, denied_domains;
    struct words denied_reasons; /* one for each denied domain, NULL for none; or no words at all */
    struct words denied_addresses; /* where an allowed name may not lead; addresses and ranges */
    struct places unix_sockets;
    bool all_unix_sockets;
    bool local_binding;          /* host loopback, both ways */
    const uint16_t *local_ports; /* … or these ports of it */
    size_t nlocal_ports;
    uint16_t proxy_ports[2]; /* somebody else's proxies on it, which may be called; 0 for none */

    /* macOS's own; without a meaning on Linux. */
    bool pty, apple_events, weaker_trust;
    bool keychain;
    struct words mach_lookups;

    /* Links that what is allowed leads through (settings/links.h). */
    const char *links;
    size_t nlinks;

    const char *tag;    /* message of denials, so that a log line leads back to a command */
    const char *tmpdir; /* always writable */
};

/* Notes the links on the way to `target`, which is opened for writing or otherwise, by `from`. -1
 * without memory. */
int access_note(struct arena *a, struct access *p, bool writes, const struct places *links,
                const char *target, const char *from);

/* On macOS, names are filtered by proxies outside and the profile lets only their ports be reached;
 * on Linux the profile itself has (domain …). */
struct access_target {
    bool macos;
    uint16_t http_port, socks_port; /* macOS: 0 for none */
    bool flattened; /* macOS: the text goes through sbpl_flatten(), so that it can import shipped
                       profiles, and name hosts for the proxies */
};

/* The whole profile, commented and formatted, in the order people know: header, process, Mach,
 * POSIX IPC, IOKit, sysctl, devices, network, file read, file write, terminals. */
int access_sbpl(const struct access *p, const struct access_target *t, struct buf *out,
                struct bk_err *err);

/* Whether nothing is restricted, so that a profile would be for nothing: what settings keep of
 * themselves then is no more than they ask for. */
bool access_is_open(const struct access *p);

/* What holds whatever other rules say, for the end of a profile: denied writes and hosts, denied
 * reads that are final, and of the lists named here that nothing outside of them is allowed. */
enum { CEILING_WRITES = 1, CEILING_HOSTS = 2, CEILING_SOCKETS = 4 };
int access_caps_sbpl(const struct access *p, unsigned ceilings, struct buf *out,
                     struct bk_err *err);

#endif
