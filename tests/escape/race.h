/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef ESCAPE_RACE_H
#define ESCAPE_RACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * What races have in common: threads that hammer at calls while others change what the calls mean,
 * until the time is over. What they met is counted, so that a test can see that both outcomes came
 * about.
 */

enum { RACE_THREADS = 8 };

/* IN and OUT, and the byte in which they differ. */
extern struct race_at {
    const char *inside, *outside;
    size_t differs_at;
    char choice[2];
} race_at;

extern atomic_bool race_over;

/* From an attacker's arguments: SECONDS IN OUT. */
void race_prepare(char **a);

/* Counts a call's result: passed, refused (EPERM, EACCES), or neither. */
void race_count(long result);
/* The same, and closes what was opened. */
void race_count_fd(int fd);

/* victim, sub, new, new2: every call that changes names, and every one that changes attributes. */
void race_names(char path[4][4096]);
void race_attributes(char path[4][4096]);
/* Their paths in folder/below/. */
void race_paths(char path[4][4096], const char *folder, const char *below);

/* Runs both for so long, or somewhat longer where one outcome is rare, and tells what was met; flip
 * may be NULL. */
int race_run(double seconds, void *(*flip)(void *), void *(*const *hammers)(void *), int n);

#endif
