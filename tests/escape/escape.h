/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef ESCAPE_H
#define ESCAPE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Attackers for the end-to-end tests: each tries one way out of a sandbox and tells what it met, a
 * line for each attempt. Whether something got out is for the test to see, from outside. All that
 * an attacker could ever change is files that the test made for it.
 */

struct attack {
    const char *name;
    int nargs;
    int (*run)(char **args); /* exit status */
};

extern const struct attack attacks_race[], attacks_race_socket[], attacks_swap[], attacks_like[],
    attacks_call[], attacks_object[], attacks_way[], attacks_wear[], attacks_machine[],
    attacks_program[], attacks_first[], attacks_like_person[], attacks_like_wait[],
    attacks_wear_wait[], attacks_unasked[];

/* "ok", or the name of errno, for a call's result. */
const char *outcome(long result);
/* Prints "what: outcome". */
void tell(const char *what, long result);
/* The same of a descriptor, which is closed; whether it was one. */
bool tell_fd(const char *what, int fd);
/* Ends the attacker when something that it needs for itself does not work. */
void must(long result, const char *what);

/* Reads the file or lists the folder, since some can be opened by anybody and refuse to be read.
 * A folder that we have anyway is EEXIST. */
long read_of(const char *path);

double now(void);
/* dir + "/" + name, in one of a few buffers that are used in turn. */
const char *in_folder(const char *dir, const char *name);

#endif
