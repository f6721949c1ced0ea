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
 * Access as settings, presets and flags describe it, with all layers merged and every path absolute
 * and canonical as far as it exists. One writer turns it into SBPL; nothing downstream knows which
 * front end it came from.
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
    bool final;          /* a denied read that no allowed place inside re-opens */
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

/* A rule about commands by program and arguments. It only takes away. */
struct command_rule {
    struct words match; /* patterns (graph/command.h) */
    const char *origin; /* as of a place */
    const char *reason; /* or NULL */
    bool ask, deny;     /* not started, unless the user agrees */
    bool machine;       /* of the machine's policy: no setting is consent */
    /* What the command and all that it starts are denied from then on. */
    bool deny_network;
    bool caps_writes; /* of what is writable, only allow_write and TMPDIR */
    struct places deny_read, deny_write, allow_write;
    /* … or what another profile does not allow: a shipped one, or the text of a file. */
    const char *profile; /* its name or path; NULL: none */
    const char *text;    /* NULL: shipped */
    uint32_t profile_at; /* where its file of settings names it */
    size_t ntext;
};
enum { COMMAND_PATTERNS = 32 }; /* in all rules together */
bool command_rule_narrows(const struct command_rule *r);

struct masks;

struct access {
    /* Reading: all, unless `reads_nothing`; then only allow_read (and writable places). A denied
     * place may have allowed ones inside, and those denied ones again: the more specific wins. */
    bool reads_nothing;
    struct places deny_read, allow_read;
    /* As in srt: what is both denied and allowed can be read, and so can writable places inside a
     * denied one. */
    bool allowed_reads_win;
    /* As in the shipped profiles, on Linux: protected.sb instead of `protects_names`, and
     * secrets.sb, which allowed places inside re-open. */
    bool as_shipped;
    /* Writing: nothing but allow_write, less deny_write, which always wins unless it yields. */
    bool writes_everything; /* filesystem.disabled, cage's --allow-all */
    struct places allow_write, deny_write;
    /* Caches: readable, and writable in a private layer that is kept for the next run here. */
    struct places layered;
    bool share_caches;     /* presets add no such caches, but ordinary permissions */
    bool shared_tmp;       /* as shipped: no private layer over /tmp */
    bool opens_cwd;        /* the working directory is among them, so its repository is, too */
    bool protects_names;   /* .bashrc, .git/hooks and similar names, at any depth (settings.md) */
    bool allow_git_config; /* … except .git/config */
    unsigned allow_protected; /* … except these classes (vocab/protected-classes.h) */

    bool else_open; /* everything except files and the network stays allowed, as in cage */

    /* The network. */
    bool network_open; /* not restricted at all */
    struct words allowed_domains, denied_domains;
    bool requests_only; /* allowed hosts take nothing but requests that can be read */
    struct words allowed_requests, denied_requests; /* as in request-rule.h */
    struct words credentials;                       /* as in credential-rule.h */
    struct words ssh;                               /* as in ssh-rule.h */
    const struct masks *masks;                      /* srt's (masks.h), or NULL */
    struct words denied_reasons;   /* one for each denied domain, NULL for none; or an empty list */
    struct words denied_origins;   /* the same: where it was written */
    struct words denied_addresses; /* addresses and ranges that an allowed name must not lead to */
    struct places unix_sockets;
    bool all_unix_sockets;
    bool local_binding;          /* host loopback, both ways */
    const uint16_t *local_ports; /* … or these ports of it */
    size_t nlocal_ports;
    uint16_t proxy_ports[2]; /* external proxies there, which may be called; 0 for none */

    /* For macOS only. */
    bool pty, apple_events, weaker_trust;
    bool keychain;
    struct words mach_lookups;

    /* Symlinks that allowed paths lead through (settings/links.h). */
    const char *links;
    size_t nlinks;

    struct command_rule *commands;
    size_t ncommands;
    struct words agreed; /* patterns that nobody is asked about in this session */
    struct words always; /* … and by the user's settings */

    const char *tag;    /* message of denials, which identifies the command in a log */
    const char *tmpdir; /* always writable */
};

/* Notes the links on the way to `target`, which `from` allows to write or read. Returns -1 when out
 * of memory. */
int access_note(struct arena *a, struct access *p, bool writes, const struct places *links,
                const char *target, const char *from);

/* On macOS proxies outside filter names, and the profile allows only their ports. On Linux the
 * profile itself has (domain …). */
struct access_target {
    bool macos;
    uint16_t http_port, socks_port; /* macOS: 0 for none */
    bool flattened; /* macOS: sbpl_flatten() follows, so the text can import shipped profiles, and
                       name hosts for the proxies */
};

/* Writes the whole profile, commented and formatted, in the usual order: header, process, Mach,
 * POSIX IPC, IOKit, sysctl, devices, network, file read, file write, terminals. */
int access_sbpl(const struct access *p, const struct access_target *t, struct buf *out,
                struct bk_err *err);

/* Whether nothing is restricted, so that no profile is needed. */
bool access_is_open(const struct access *p);

/* Writes rules for the end of a profile, which win over all others: denied writes and hosts, and
 * final denied reads. Of the lists named by `ceilings`, they deny everything outside. */
enum { CEILING_WRITES = 1, CEILING_HOSTS = 2, CEILING_SOCKETS = 4, CEILING_PROTECTED = 8 };
int access_ceilings_sbpl(const struct access *p, unsigned ceilings, struct buf *out,
                         struct bk_err *err);

#endif
