/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_IMPORT_IMPORT_H
#define BK_IMPORT_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

/*
 * The restrictions of another sandbox as a profile:
 *
 *   command line or file ─▶ one reader per tool ─▶ struct imp ─▶ SBPL
 *
 * A reader states what the tool does, in the tool's order. What it restricts and a profile cannot
 * say is "lost": a comment in the profile, and a warning. What differs without allowing more is a
 * comment. An option that nobody knows is an error. Nothing of the input is trusted.
 */

enum {
    IMP_TEXT = 1 << 20, /* bytes of one input */
    IMP_WORDS = 16384,  /* of a command line */
    IMP_RULES = 16384,
    IMP_NOTES = 4096,
    IMP_PORTS = 1024,
    IMP_PATH = 4096,
    IMP_INCLUDES = 64, /* files that an input reads, all together */
};

/* ---- what a command may do with a path ---- */

enum {
    MAY_READ = 1,
    MAY_WRITE = 2,
    MAY_EXEC = 4,
    MAY_SOCKET = 8,  /* connect to sockets there, and bind them */
    MAY_DEVICE = 16, /* control devices there */
    MAY_ALL = 31,
};

enum imp_where { IMP_FOLDER, IMP_FILE, IMP_PATTERN }; /* a pattern is a regex */
/* What a path is below: nothing, or a folder that is known when the profile is used. */
enum imp_below { IMP_ROOT, IMP_CWD, IMP_TMPDIR };

/* Grants some and takes others away; the rest stays as the rules before say. */
struct imp_rule {
    enum imp_where where;
    enum imp_below below;
    const char *path; /* absolute; below a folder "" or "/…" */
    uint8_t grant, revoke;
    bool last;  /* no rule after it lifts it */
    bool gone;  /* something covers it */
    bool leads; /* the folders above it need a rule: found by imp_print() */
    uint32_t line;
};

/* ---- the network ---- */

enum imp_net { IMP_NET_ALL, IMP_NET_NONE, IMP_NET_SOME };
enum imp_peer { IMP_PEER_ANY, IMP_PEER_LOCALHOST, IMP_PEER_ADDRESS, IMP_PEER_DOMAIN };

/* One more host or port for IMP_NET_SOME; the last that matches decides. */
struct imp_port {
    bool bind; /* the command's own end */
    bool deny;
    enum imp_peer peer;
    const char *protocol; /* "tcp", "udp" or "ip" */
    const char *host;     /* checked: an address with an optional prefix length, or a name */
    uint16_t lo, hi;      /* 0 and 65535: any */
    uint32_t line;
};

/* ---- the description ---- */

struct imp_note {
    bool lost;
    const char *source; /* of another file than the first; or NULL */
    uint32_t line;
    const char *what, *why; /* what: words of the input */
};

struct imp_mount {
    const char *from, *to; /* from NULL: an empty folder */
    size_t rule;           /* that grants it; SIZE_MAX: none */
    bool covered;
};

/* What a reader may ask about this machine. `real` and `load` may be NULL. */
struct imp_env {
    const char *home, *cwd; /* absolute */
    unsigned uid;
    /* The path that links lead to, or NULL if there is nothing; valid until the next call. */
    const char *(*real)(void *ctx, const char *path);
    /* A file that an input names, in memory of the arena; ENOENT in err->sys if it is missing. */
    int (*load)(void *ctx, struct arena *a, const char *path, const char **text, size_t *n,
                struct bk_err *err);
    void *ctx;
};

struct imp {
    struct arena arena;
    const struct imp_env *env;
    const char *source; /* for messages: a file's name, or "arguments" */
    const char *first;  /* the source that was given */
    bool arguments;     /* lines are numbers of arguments */
    const char *tool;

    struct imp_rule *rules;
    size_t nrules;
    bool by_depth; /* deeper paths win, whatever the order */
    bool scratch;  /* the command has an empty folder to write to: its TMPDIR */
    bool maps;     /* libraries are loaded from wherever files can be read: found by imp_print() */
    bool secrets;  /* known secret stores stay closed */
    enum imp_net net;
    struct imp_port *ports;
    size_t nports;
    struct imp_note *notes;
    size_t nnotes, nlost;
    struct imp_mount *mounts;
    size_t nmounts;
    size_t included;
};

/* ---- inputs ---- */

struct imp_word {
    const char *s;
    uint32_t line;
};

struct imp_input {
    const char *name;
    const char *text; /* a file's, or NULL: */
    size_t n;
    const char *const *words; /* a command line */
    size_t nwords;
    const char *part; /* of a file with several: a service; or NULL */
};

struct imp_tool {
    const char *name, *brief;
    int (*read)(struct imp *im, const struct imp_input *in, struct bk_err *err);
};
extern const struct imp_tool imp_tools[]; /* ends with a name of NULL */
const struct imp_tool *imp_find(const char *name);

/* Reads an input. Free with imp_free() whatever happened. */
int imp_read(struct imp *im, const struct imp_tool *tool, const struct imp_env *env,
             const struct imp_input *in, struct bk_err *err);
void imp_free(struct imp *im);
#define OWN_imp imp_free

/* The profile. */
int imp_print(struct imp *im, struct buf *out, struct bk_err *err);
/* One line for each thing that is lost. */
void imp_warnings(const struct imp *im, struct buf *out);

#endif
