/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SBPL_PRECOMPILED_H
#define BK_SBPL_PRECOMPILED_H

#include "sbpl/machine.h"

/*
 * What importing a shipped text comes to, worked out when the program is built
 * (tools/precompile.c): its rules, and where it defines which name. Importing it so takes a tenth
 * of what reading and evaluating it takes, at every launch.
 *
 * The bytes are numbers in LEB128 and texts (length, bytes, NUL), without a pointer, so that the
 * loader has nothing to do for them:
 *
 *     text       definitions rules
 *     definition name offset
 *     rule       allow flags place operations modifiers condition
 *     place      offset, that of the top-level form, line, column, line of the form or 0
 *     modifier   id number string
 *     condition  items, operands before operators
 *     item       kind, then: of a test: filter, how, and a hole and text, or a number;
 *                else the number of operands
 *
 * Lists begin with their length. A number that may be negative has its sign in the lowest bit. A
 * string that may be absent has its length plus one in front. A hole is 0, or 1 and up for the
 * parameter whose value the text follows.
 */
struct precompiled_text {
    const char *name; /* "system.sb"; NULL ends the table */
    bool either;      /* the same for root and for others */
    bool ordinary;    /* with the parameter ORDINARY */
    const unsigned char *bytes;
};

extern const struct precompiled_text precompiled_texts[];

/* Parameters that such a text may ask for. All must be there, but for ORDINARY; of those before it
 * the values may be used, as the beginning of a string. */
enum { PRECOMPILED_HOME, PRECOMPILED_TMPDIR, PRECOMPILED_ORDINARY, PRECOMPILED_PARAMS };
extern const char *const precompiled_params[PRECOMPILED_PARAMS];

enum { PRECOMPILED_STACK = 256 }; /* operands that a condition may leave waiting */

/* Whether this program may import the text so: nothing that it has defined or was given makes a
 * difference. Then *out has it. */
bool precompiled_find(const struct machine *m, const char *name,
                      const struct precompiled_text **out);

/*
 * The names that protected.sb and secrets.sb close, each a kind, a path and a NUL; an empty one
 * ends them. Sorted by list, then by path, part by part ('/' comes before every other byte). A star
 * in a part stands for any text. A name may have several kinds.
 */
enum precompiled_kind {
    PRECOMPILED_SECRET = 's',      /* below HOME: what lies there is not read */
    PRECOMPILED_KEYS = 'k',        /* the same, but for what is public there */
    PRECOMPILED_TRACE = 't',       /* the same as the first, and nobody needs to be told */
    PRECOMPILED_WRITE = 'w',       /* below HOME: not written */
    PRECOMPILED_NO_ACCESS = 'e',   /* the same, with EACCES */
    PRECOMPILED_AT_HOME = 'h',     /* below HOME, as everywhere: not written */
    PRECOMPILED_ANYWHERE = 'a',    /* in any folder: not written */
    PRECOMPILED_SECRET_ROOT = 'r', /* below /: not read, by root */
    PRECOMPILED_SECRET_ALL = 'o',  /* the same, whoever it is */
};
enum {
    PRECOMPILED_IN_HOME,
    PRECOMPILED_IN_ANY,
    PRECOMPILED_IN_ROOT,
    PRECOMPILED_IN_ALL,
    PRECOMPILED_LISTS
};
static inline int precompiled_list(char kind)
{
    return kind == PRECOMPILED_ANYWHERE      ? PRECOMPILED_IN_ANY
           : kind == PRECOMPILED_SECRET_ROOT ? PRECOMPILED_IN_ROOT
           : kind == PRECOMPILED_SECRET_ALL  ? PRECOMPILED_IN_ALL
                                             : PRECOMPILED_IN_HOME;
}
extern const char precompiled_names[];

/* As if the text, which is src, had been evaluated. -1 after an error was reported. */
int precompiled_import(struct machine *m, const struct precompiled_text *t,
                       const struct source *src);

/* The value of a name that a text imported so defines: read and evaluated when first asked for.
 * NULL after an error was reported. */
struct val *precompiled_value(struct machine *m, struct symbol *name);

#endif
