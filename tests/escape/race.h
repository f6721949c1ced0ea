/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef ESCAPE_RACE_H
#define ESCAPE_RACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Shared by races: threads that hammer at calls while others change what the calls mean, until time
 * is up. Outcomes are counted, so that a test can check that both occurred.
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
/* The same, and closes the descriptor. */
void race_count_fd(int fd);

/* Makes every call that changes names or attributes, on victim, sub, new and new2. */
void race_names(char path[4][4096]);
void race_attributes(char path[4][4096]);
/* Their paths in folder/below/. */
void race_paths(char path[4][4096], const char *folder, const char *below);

/* Runs both for this long, or somewhat longer if one outcome is rare, and prints the counts. flip
 * may be NULL. */
int race_run(double seconds, void *(*flip)(void *), void *(*const *hammers)(void *), int n);

#endif
