/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_LEARN_LEARNED_H
#define BK_LEARN_LEARNED_H

#include "learn/trace.h"
#include "sbpl/sbpl.h"

/*
 * From a trace to rules that a person would write, and what proves that they are right:
 *
 *   trace ─▶ generalise ─▶ rules ─▶ text ─▶ prove: allows every use, needs every rule,
 *                                             allows nothing that the base denies
 */

enum learn_how {
    LEARN_TIGHT,
    LEARN_USUAL,
    LEARN_LOOSE,
    LEARN_EXACT, /* the operations themselves, so that rules win over those of another profile */
};

enum learned_kind {
    LEARNED_LITERAL,
    LEARNED_SUBPATH,
    LEARNED_REGEX,   /* text continues the anchor's path */
    LEARNED_DOMAIN,  /* "name:port" */
    LEARNED_ADDRESS, /* "localhost:port" or "address:port" */
};

enum { LEARNED_PROGRAMS = 1024 };

struct learned_rule {
    enum learned_kind kind;
    enum anchor in;
    const char *text; /* below the anchor; NUL-terminated */
    uint32_t len;
    uint32_t ops;    /* that were used, as in struct use */
    bool reads;      /* what it lets be written may be read, too */
    bool layer;      /* the base allows it in a private layer only */
    bool own_socket; /* only to sockets that the command made */
    bool dropped;    /* it is not needed */
    bool narrow;     /* its uses one by one, because the base denies something inside */
    uint32_t node;   /* of a literal or a subpath; UINT32_MAX otherwise */
    uint32_t line;   /* where its form begins in the text */
    uint32_t files;
    uint64_t count;
    uint32_t witness, program; /* a node (UINT32_MAX: none), and who used it */
    uint64_t programs[LEARNED_PROGRAMS / 64];
    const char *needed; /* a use that fails without it, as "operation path"; or NULL */
    uint64_t beyond;    /* files there that were not used; UINT64_MAX: more than were counted */
};

struct learned {
    struct arena arena;
    struct learned_rule *rules;
    size_t n, cap;
    enum learn_how how;
    struct buf closed; /* denials of what the fixed start allows, and the base does not */
    size_t nclosed;
};

struct learn_request {
    const struct trace *trace;
    const struct anchors *anchors;
    enum learn_how how;
    /* Whether a folder contains something that no rule may open as part of it. */
    bool (*closed)(void *arg, enum use_class c, const char *folder);
    void *arg;
};

/* Zeroed *out. Free with learned_free() whatever happened. */
int learn_generalise(const struct learn_request *q, struct learned *out, struct bk_err *err);
void learned_free(struct learned *l);
#define OWN_learned learned_free
/* How many programs a rule's uses came from. */
size_t learned_programs(const struct learned_rule *r);
/* Adds a rule for one path that another rule, by its number, was for. */
int learned_add_path(struct learned *l, const struct learn_request *q, uint32_t node, uint32_t ops,
                     size_t instead_of, struct bk_err *err);

/* ---- name-pattern.c: names that differ from run to run ---- */

enum name_kind {
    NAME_PLAIN,
    NAME_NUMBERED, /* hexadecimal or decimal numbers in it */
    NAME_RANDOM,   /* as mkstemp() makes them */
};
struct name_facts {
    bool temporary; /* it was created and removed, or is where temporary files go */
    bool number;    /* a number alone counts: of processes */
    bool strict;    /* nothing else counts */
};
/* Appends a regex for the name: quoted, with its changing parts as classes. */
enum name_kind name_pattern(const char *name, size_t n, const struct name_facts *facts,
                            struct buf *out);

/* ---- learned-text.c ---- */

struct learned_words {
    const char *command; /* for the heading */
    const char *base;    /* its name */
    const char *include; /* rules after the base's denials, or "" */
    bool no_denials;     /* only what was learned, for the proof */
    bool addition;       /* rules alone, to be added to another profile */
    const char *notes;   /* comments after the heading, or NULL */
};
/* Writes the profile, and sets the line of each rule. */
void learned_text(struct learned *l, const struct trace *t, const struct learned_words *w,
                  struct buf *out);
/* One rule, without comments. */
void learned_rule_text(const struct learned_rule *r, enum learn_how how, struct buf *out);

/* ---- prove.c ---- */

struct proof {
    uint64_t replayed; /* uses */
    uint64_t failed;   /* of these, what the result denies: none, unless something is wrong */
    char failure[512]; /* the first */
    size_t dropped;    /* rules that were not needed */
    size_t narrowed;   /* rules that would have been wider than the base */
    size_t wider;      /* operations that still are */
    size_t undecided;  /* operations where that could not be proved */
    char witness[512]; /* what the result allows and the base does not */
};
struct prove_request {
    struct learn_request learn;
    struct learned_words words;
    const struct sbpl_options *options; /* of the run: parameters, sequels */
    const struct buf *own;              /* rules that end every policy, or NULL */
    const struct graph *base;
};
/* Marks the uses that every learned profile allows. Call it before generalising. */
int learn_cover(const struct prove_request *q, struct trace *t, struct bk_err *err);
/* Marks the uses that a policy allows, and forgets its hosts; an addition needs no rules for them.
 * *left: how many other uses there are. */
int learn_cover_by(const struct graph *g, struct trace *t, size_t *left, struct bk_err *err);
/* Drops rules that are not needed, and narrows those that are wider than the base. */
int learn_prove(const struct prove_request *q, struct learned *l, struct proof *out,
                struct bk_err *err);
/* Compiles a text as the run would. */
int learn_compile(const struct prove_request *q, const struct buf *text, struct graph **out,
                  struct bk_err *err);

/* ---- beyond.c: what rules allow that was not used ---- */

/* Sets `beyond` of every rule by a bounded walk of the file system. */
void learn_look_beyond(struct learned *l, const struct learn_request *q);

#endif
