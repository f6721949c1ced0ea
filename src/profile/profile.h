/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_PROFILE_PROFILE_H
#define BK_PROFILE_PROFILE_H

#include "sbpl/sbpl.h"

/*
 * Profiles in whatever form they come: SBPL, or compiled. Which it is, is told from the bytes,
 * never from the name: both kinds of file end in .sb.
 */

/* FILE:NAME, a profile of a collection, as path and member; member is NULL, and path the whole,
 * when there is a file of the whole name or none of the first part. */
int profile_split(const char *name, char *path, size_t size, const char **member,
                  struct bk_err *err);

/* Adds a file, or a profile of a collection (FILE:NAME), to a program. A compiled profile becomes
 * the SBPL that it decompiles to, so that it can be part of a program like any other; when it was
 * compiled without regard to case, the program is read so from then on. */
int profile_add_file(struct sbpl_unit *u, const char *path, struct bk_err *err);

/* The graph of a program that may be a single compiled profile, which then is decoded: its
 * decisions name nodes of the file. ops (may be NULL) gets the operations that it has a say about:
 * those of its system, or all. */
int profile_compile(struct sbpl_unit *u, struct graph **out, bool ops[OP_COUNT],
                    struct bk_err *err);

#endif
