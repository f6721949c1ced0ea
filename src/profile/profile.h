/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_PROFILE_PROFILE_H
#define BK_PROFILE_PROFILE_H

#include "format/format.h"
#include "sbpl/sbpl.h"

/*
 * Profiles by name and in every form: SBPL or compiled. The bytes decide which form it is, never
 * the name: files of both kinds end in .sb.
 */

/*
 * The rule for names, the same for every command and the library: a name with a slash or with one
 * of the suffixes in profile.c is a path, and so is "-", standard input. Anything else is a shipped
 * profile, even if there is a file of that name: a file called `default` that somebody left in a
 * folder must not become the policy. FILE:NAME is a profile of the collection in FILE.
 */
bool profile_is_path(const char *name);

/* The shipped profile of this name, without .sb; NULL when there is none. */
const struct sbpl_builtin *profile_find_shipped(const char *name);

/* Each adds one profile to a program. */
int profile_add_shipped(struct sbpl_unit *u, const char *name, struct bk_err *err);
/* A file, or a profile of a collection (FILE:NAME). A compiled profile becomes the SBPL that it
 * decompiles to, so that it can be part of a program like any other. If it was compiled without
 * regard to case, the whole program is read so from then on. */
int profile_add_file(struct sbpl_unit *u, const char *path, struct bk_err *err);
/* By the rule above, as it is: a compiled profile stays bytes, for profile_decode(). *member is the
 * NAME of FILE:NAME or NULL; it points into `name`. */
int profile_add_named(struct sbpl_unit *u, const char *name, const char **member,
                      struct bk_err *err);

/* Fails: the text that was added last is no collection with this member. */
int profile_refuse_member(const struct sbpl_unit *u, const char *member, struct bk_err *err);

/* The text that was added last, if it is a compiled profile; else NULL. */
const struct source *profile_compiled(const struct sbpl_unit *u);

/* How to read a compiled profile. */
struct profile_decoding {
    const char *member; /* of a collection, or NULL */
    enum blob_era era;  /* BLOB_NONE: found out from the bytes */
    enum vocab_os os;   /* whose names it uses; VOCAB_OS_ANY: found out as well */
    bool apart;         /* equal nodes stay apart, to be written again */
};

/* The graph of a compiled profile; decisions name its nodes. ops gets the operations that have a
 * name in it; names (may be NULL) says whose names these are. */
int profile_decode(const struct source *s, const struct profile_decoding *how, struct graph **out,
                   bool ops[OP_COUNT], struct buf *names, struct bk_err *err);

/* The graph of a program, which may be a single compiled profile. ops (may be NULL) gets the
 * operations that it decides about: those of its system, or all. */
int profile_compile(struct sbpl_unit *u, struct graph **out, bool ops[OP_COUNT],
                    struct bk_err *err);

#endif
