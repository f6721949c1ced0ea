/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SBPL_PRECOMPILED_H
#define BK_SBPL_PRECOMPILED_H

#include "sbpl/machine.h"

/*
 * The result of importing a shipped text, computed when the program is built (tools/precompile.c):
 * its rules, and the position of each definition. Importing it takes a tenth of the time that
 * reading and evaluating the text takes, at every launch.
 *
 * The bytes are numbers in LEB128 and texts (length, bytes, NUL), without pointers, so that the
 * loader relocates nothing:
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
 * Lists begin with their length. Numbers that may be negative have their sign in the lowest bit. An
 * optional string is preceded by its length plus one. A hole is 0, or the number (from 1) of the
 * parameter whose value precedes the text.
 */
struct precompiled_text {
    const char *name; /* "system.sb"; NULL ends the table */
    bool either;      /* the same for root and other users */
    bool ordinary;    /* with the parameter ORDINARY */
    const unsigned char *bytes;
};

extern const struct precompiled_text precompiled_texts[];

/* Parameters that such a text may use. All must be set, except ORDINARY. The values of those before
 * it may begin a string. */
enum { PRECOMPILED_HOME, PRECOMPILED_TMPDIR, PRECOMPILED_ORDINARY, PRECOMPILED_PARAMS };
extern const char *const precompiled_params[PRECOMPILED_PARAMS];

enum { PRECOMPILED_STACK = 256 }; /* maximum number of pending operands */

/* Whether this program may use the precompiled import: nothing it has defined or was given makes a
 * difference. If so, stores it in *out. */
bool precompiled_find(const struct machine *m, const char *name,
                      const struct precompiled_text **out);

/*
 * The names that protected.sb and secrets.sb close, each a kind, a class (PRECOMPILED_CLASS plus
 * its number in vocab/protected-classes.h), a path and a NUL; an empty one ends the list. Sorted by
 * list, then by path, component by component ('/' sorts before every other byte). A star in a
 * component matches any text. A name may have several kinds.
 */
enum precompiled_kind {
    PRECOMPILED_SECRET = 's',      /* below HOME: cannot be read */
    PRECOMPILED_KEYS = 'k',        /* the same, except what is public there */
    PRECOMPILED_TRACE = 't',       /* like SECRET, but not reported */
    PRECOMPILED_WRITE = 'w',       /* below HOME: cannot be written */
    PRECOMPILED_NO_ACCESS = 'e',   /* the same, with EACCES */
    PRECOMPILED_AT_HOME = 'h',     /* below HOME, like everywhere: cannot be written */
    PRECOMPILED_ANYWHERE = 'a',    /* in any folder: cannot be written */
    PRECOMPILED_SECRET_ROOT = 'r', /* below /: root cannot read it */
    PRECOMPILED_SECRET_ALL = 'o',  /* the same for every user */
};
enum { PRECOMPILED_CLASS = 'A' };
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

/* As if the text, src, had been evaluated. Returns -1 after reporting an error. */
int precompiled_import(struct machine *m, const struct precompiled_text *t,
                       const struct source *src);

/* Returns the value of a name that a precompiled text defines, evaluated on first use. NULL after
 * reporting an error. */
struct val *precompiled_value(struct machine *m, struct symbol *name);

#endif
