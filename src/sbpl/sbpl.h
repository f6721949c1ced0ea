/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SBPL_SBPL_H
#define BK_SBPL_SBPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/err.h"
#include "base/source.h"
#include "graph/graph.h"

/*
 * SBPL text → policy graph. A unit is one program: its texts, its findings and its memory. Add one
 * or more texts (they form one program, in order), then compile. The graph does not need the unit,
 * but its findings do.
 */

struct sbpl_param {
    const char *key, *value;
};

/* A text that follows a shipped one wherever a program imports that, as if it were its end. */
struct sbpl_sequel {
    const char *after; /* "protected.sb" */
    const char *text;
    size_t n;
};

/* A text in place of a file of that name. */
struct sbpl_given {
    const char
        *name; /* as the import finds it: the folder of the importing text and its argument */
    const char *text;
    size_t n;
};

struct sbpl_options {
    const struct sbpl_param *params; /* -D k=v */
    size_t nparams;
    const char *const *import_dirs; /* -I; searched before the importing file's folder */
    size_t nimport_dirs;
    bool shipped_only;              /* (import …) finds shipped profiles and opens no file */
    const struct sbpl_given *given; /* with shipped_only: what else it finds */
    size_t ngiven;
    const char *entitlements;      /* what has them (entitlements/entitlements.h), or NULL */
    const char *entitlements_json; /* what was read from there; NULL: it is read when needed */
    const struct sbpl_sequel *sequels;
    size_t nsequels;
    enum vocab_os os; /* VOCAB_OS_ANY: every known name */
    bool fold_case;
    bool no_inferred;  /* no inferred rules: graph_options */
    bool evaluate_all; /* evaluate precompiled texts too: for tests */
    bool of_command;   /* the profile of a command, which has none for others */
    bool terse;        /* rules have no text until sbpl_add_rule_texts() */
    size_t reserve;    /* estimate of the memory it will take; unused memory costs nothing */
    /* budgets; 0 means the default in parentheses */
    uint64_t max_steps; /* evaluation steps (20,000,000) */
    uint32_t max_depth; /* pending calls and nested lists (100,000) */
    size_t max_bytes;   /* memory for data and rules (128 MiB) */
};

struct sbpl_unit {
    struct arena arena; /* texts and data */
    struct source_map map;
    struct diags diags;
    struct sbpl_options opt;
    struct sbpl_text *first, *last; /* what was loaded, in order */
    bool traces; /* compiled: the first text itself says (trace …), not one that it imports */
};

/* opt is copied shallowly: what it points to must outlive the unit. */
void sbpl_unit_init(struct sbpl_unit *u, const struct sbpl_options *opt);
void sbpl_unit_free(struct sbpl_unit *u);
#define OWN_sbpl_unit sbpl_unit_free

/* Adds a text. Fails only if the text cannot be read; errors in it are found later. */
int sbpl_add_file(struct sbpl_unit *u, const char *path, struct bk_err *err); /* "-": stdin */
int sbpl_add_text(struct sbpl_unit *u, const char *name, const char *text, size_t n,
                  struct bk_err *err);
/* Adds a text that runs after all others, including %finalize. In it, names mean what they mean in
 * an empty program, whatever the others define. */
int sbpl_add_apart(struct sbpl_unit *u, const char *name, const char *text, size_t n,
                   struct bk_err *err);
/* A shipped profile by name: "system.sb", "bsd.sb"… */
int sbpl_add_builtin(struct sbpl_unit *u, const char *name, struct bk_err *err);

/* Says who wrote the text that was added last; it is SOURCE_PROFILE by default. */
void sbpl_mark_last(struct sbpl_unit *u, enum rule_source from);

/* Replaces the text that was added last. */
int sbpl_replace_last(struct sbpl_unit *u, const char *name, const char *text, size_t n,
                      struct bk_err *err);

/* Returns the nth text that was added, or NULL. */
const struct source *sbpl_text_at(const struct sbpl_unit *u, size_t n);

/* Appends everything that the graph depends on, besides this program. Returns false if it depends
 * on files. */
bool sbpl_put_inputs(const struct sbpl_unit *u, struct buf *out);

/* Reads, evaluates and lowers. Reports as many errors as possible in u->diags; on failure *err
 * repeats the first, with its position. On success *out is the graph. */
int sbpl_compile(struct sbpl_unit *u, struct graph **out, struct bk_err *err);

/* Adds the text of each rule to a graph that this unit compiled tersely. */
/* Adds what terse rules lack, and the comments of generated ones (graph_origin.raw). */
int sbpl_add_rule_texts(struct sbpl_unit *u, struct graph *g, struct bk_err *err);

struct sbpl_flatten_options {
    const char *message; /* replaces the message of every reported denial; or NULL */
};

/* Writes only the program's rules, as a text that loads on macOS: see flatten.c. */
int sbpl_flatten(struct sbpl_unit *u, const struct sbpl_flatten_options *o, struct buf *out,
                 struct bk_err *err);

/* Shipped profiles, compiled into the program. */
struct sbpl_builtin {
    const char *name, *text;
    size_t len;
};
extern const struct sbpl_builtin sbpl_builtins[]; /* ends with a NULL name */

#endif
