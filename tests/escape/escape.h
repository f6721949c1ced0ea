/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef ESCAPE_H
#define ESCAPE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Attackers for the end-to-end tests: each tries one way out of a sandbox and prints the outcome,
 * one line per attempt. The test checks from outside whether something got out. An attacker can
 * only ever change files that the test made for it.
 */

struct attack {
    const char *name;
    int nargs;
    int (*run)(char **args); /* exit status */
};

extern const struct attack attacks_race[], attacks_race_socket[], attacks_swap[], attacks_like[],
    attacks_call[], attacks_object[], attacks_way[], attacks_wear[], attacks_machine[],
    attacks_program[], attacks_first[], attacks_like_creds[], attacks_like_wait[],
    attacks_wear_wait[], attacks_unasked[], attacks_like_folders[];

/* Returns "ok", or the name of errno, for a call's result. */
const char *outcome(long result);
/* Prints "what: outcome". */
void report(const char *what, long result);
/* The same for a descriptor, which it closes; returns whether it was valid. */
bool report_fd(const char *what, int fd);
/* Exits when something that the attacker itself needs does not work. */
void must(long result, const char *what);

/* Reads the file or lists the folder, because some can be opened but not read. A folder that we
 * have anyway is EEXIST. */
long read_of(const char *path);

double now(void);
/* Returns dir + "/" + name, in one of a few buffers used in turn. */
const char *in_folder(const char *dir, const char *name);

#endif
